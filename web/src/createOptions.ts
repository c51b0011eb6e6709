import { CallArguments } from "./callArguments.js";
import { tagOf } from "./describe.js";
import { OptionError } from "./errors.js";
import { readGpu } from "./gpuOptions.js";
import { namesOf, readOptions, type OptionReader } from "./options.js";
import { INITIAL_MEMORY, type LoadProgress, type WasmSource } from "./wasm/host.js";
import { VARIANT_NAMES, type Variant } from "./wasm/variants.js";

/** Options of `createAttention`. */
export interface CreateOptions {
  /**
   * `"auto"`, the default: wasm, and WebGPU for calls whose tensors are on the GPU or are to stay there. No real GPU has
   * been measured yet, so that nothing else goes there unasked; the report says so.
   */
  readonly backend?: "auto" | "wasm" | "webgpu";
  /**
   * Threads that compute, the caller's included. `"auto"`, the default: the machine's, at most 8. A page has more than
   * one only if it is cross-origin isolated; the report says why if not. Results are the same bits for every number.
   */
  readonly threads?: "auto" | number;
  /** Instruction set. `"auto"`, the default: relaxed SIMD where the engine has it, else plain SIMD. */
  readonly variant?: "auto" | Variant;
  /** Bytes that the engine's memory may grow to; default 1 GiB, at least 16 MiB, at most 4 GiB. */
  readonly maximumMemory?: number;
  /** A GPUDevice of the caller's, for WebGPU; used and never destroyed. */
  readonly device?: object;
  /** A GPU object, for WebGPU where there is no navigator.gpu: in Node that of the npm package webgpu. */
  readonly gpu?: object;
  /** Where the engine's files are, instead of beside this package. */
  readonly wasm?: WasmSource;
  /** Aborts loading. */
  readonly signal?: AbortSignal;
  /** Hears how many bytes have arrived. */
  readonly onProgress?: (progress: LoadProgress) => void;
  /** Measures GPU kernels, see `kernelTimes`; without effect on wasm, which the report says. */
  readonly profile?: boolean;
}

export const OPERATION = "createAttention";
const NAMES = namesOf<CreateOptions>({
  backend: true,
  threads: true,
  variant: true,
  maximumMemory: true,
  device: true,
  gpu: true,
  wasm: true,
  signal: true,
  onProgress: true,
  profile: true,
});

const MOST_THREADS = 256;
const MOST_MEMORY = 4 * 2 ** 30;
const DEFAULT_MEMORY = 2 ** 30;

/** The options of createAttention, checked. */
export function readCreateOptions(given: unknown) {
  const options = readOptions(new CallArguments(OPERATION), given, NAMES);
  const backend = options.oneOf("backend", ["auto", "wasm", "webgpu"], "auto");
  for (const name of ["device", "gpu"])
    if (options.has(name) && backend === "wasm")
      throw new OptionError(`${OPERATION}: ${name} must be absent with backend "wasm"`);
  const onProgress = options.value("onProgress");
  if (onProgress !== undefined && typeof onProgress !== "function") throw options.refuse("onProgress", "be a function");
  return {
    ...readGpu(options),
    backend,
    threads: readThreads(options),
    variant: options.oneOf("variant", VARIANT_NAMES, "auto"),
    maximumMemory: options.integer("maximumMemory", { min: INITIAL_MEMORY, max: MOST_MEMORY }) ?? DEFAULT_MEMORY,
    source: readSource(options),
    signal: options.signal(),
    onProgress: onProgress as CreateOptions["onProgress"],
  };
}

export type CheckedOptions = ReturnType<typeof readCreateOptions>;

function readThreads(options: OptionReader): "auto" | number {
  if (options.value("threads") === "auto") return "auto";
  return options.integer("threads", { min: 1, max: MOST_THREADS }) ?? "auto";
}

/** What each source may be, by `tagOf`. */
const SOURCES: Readonly<Record<keyof WasmSource, { readonly kinds: readonly string[]; readonly rule: string }>> = {
  url: { kinds: ["String", "URL"], rule: "be an address" },
  glueUrl: { kinds: ["String", "URL"], rule: "be an address" },
  binary: { kinds: ["ArrayBuffer", "Uint8Array"], rule: "be an ArrayBuffer or a Uint8Array" },
  module: { kinds: ["WebAssembly.Module"], rule: "be a WebAssembly.Module" },
};

function readSource(options: OptionReader): WasmSource {
  const source = options.object("wasm", Object.keys(SOURCES));
  const given = Object.entries(SOURCES).filter(([name]) => source?.has(name));
  return Object.fromEntries(
    given.map(([name, { kinds, rule }]) => {
      const value = source!.value(name);
      if (!kinds.includes(tagOf(value))) throw source!.refuse(name, rule);
      return [name, tagOf(value) === "URL" ? (value as URL).href : value];
    }),
  );
}
