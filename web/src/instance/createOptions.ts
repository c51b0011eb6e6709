import { CallArguments } from "../call/callArguments.js";
import { namesOf, readOptions, type OptionReader } from "../call/options.js";
import { readGpu } from "../engine/gpuOptions.js";
import { OptionError } from "../errors/errors.js";
import { arrayKind } from "../foreign/typedArray.js";
import { INITIAL_MEMORY, type CheckedSource, type LoadProgress, type WasmSource } from "../wasm/host.js";
import { VARIANT_NAMES, type Variant } from "../wasm/variants.js";

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
  /** Bytes that the engine's memory may grow to; default 1 GiB, at least 16 MiB and 512 KiB a thread, at most 4 GiB. */
  readonly maximumMemory?: number;
  /** A GPUDevice of the caller's, for WebGPU; used and never destroyed. */
  readonly device?: object;
  /** A GPU object, for WebGPU where there is no navigator.gpu: in Node that of the npm package webgpu. */
  readonly gpu?: object;
  /** Where the engine's files are, instead of beside this package. */
  readonly wasm?: WasmSource;
  /** Aborts loading. */
  readonly signal?: AbortSignal;
  /** Hears how many bytes have arrived. What it throws ends loading: `createAttention` rejects with that. */
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

/**
 * The options of createAttention, checked.
 *
 * @param absent - Options that the entry of the package would have to ignore, and why.
 */
export function readCreateOptions(given: unknown, absent: { readonly [Name in keyof CreateOptions]?: string } = {}) {
  const options = readOptions(new CallArguments(OPERATION), given, NAMES);
  for (const [name, reason] of Object.entries(absent))
    if (options.has(name)) throw new OptionError(`${OPERATION}: ${name} must be absent: ${reason}`);
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

const ADDRESS = "be an address";

/** What a source may be: its value if it is that, else undefined. */
const SOURCES: { readonly [Name in keyof WasmSource]-?: readonly [rule: string, read: (value: unknown) => unknown] } = {
  baseUrl: [ADDRESS, readAddress],
  url: [ADDRESS, readAddress],
  glueUrl: [ADDRESS, readAddress],
  binary: ["be an ArrayBuffer or a Uint8Array, not detached", readBytes],
  module: ["be a WebAssembly.Module", readModule],
};

function readSource(options: OptionReader): CheckedSource {
  const source = options.object("wasm", Object.keys(SOURCES));
  const given = Object.entries(SOURCES).filter(([name]) => source?.has(name));
  return Object.fromEntries(
    given.map(([name, [rule, read]]) => {
      const value = read(source!.value(name));
      if (value === undefined) throw source!.refuse(name, rule);
      return [name, value];
    }),
  );
}

function readAddress(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  const { href } = (value ?? {}) as { readonly href?: unknown };
  return typeof href === "string" ? href : undefined;
}

const byteLengthOf = Object.getOwnPropertyDescriptor(ArrayBuffer.prototype, "byteLength")!;

/** A copy of bytes of any realm: they are compiled later, perhaps in a worker. */
function readBytes(value: unknown): Uint8Array<ArrayBuffer> | undefined {
  try {
    if (arrayKind(value) === "Uint8Array") return new Uint8Array(value as Uint8Array);
    byteLengthOf.get!.call(value); // throws if it is no ArrayBuffer
    return new Uint8Array(value as ArrayBuffer).slice();
  } catch {
    return undefined;
  }
}

/** A module of any realm. */
function readModule(value: unknown): WebAssembly.Module | undefined {
  try {
    WebAssembly.Module.customSections(value as WebAssembly.Module, "");
    return value as WebAssembly.Module;
  } catch {
    return undefined;
  }
}
