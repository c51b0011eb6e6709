import { isObject } from "../base/describe.js";
import { OptionError } from "../base/errors.js";
import { arrayKind } from "../base/typedArray.js";
import { readGpu, type Tiling } from "../engine/gpuOptions.js";
import { INITIAL_MEMORY, type CheckedSource, type LoadProgress, type WasmSource } from "../load/host.js";
import { VARIANT_NAMES, type Variant } from "../load/variants.js";
import { CallArguments } from "../read/callArguments.js";
import { namesOf, readOptions, type OptionReader } from "../read/options.js";
import type { OtherName } from "../read/otherNames.js";
import { DEFAULT_MEMORY } from "./usableMemory.js";

/** Options of `createAttention`. */
export interface CreateOptions {
  /**
   * Which engine computes. `"auto"`, the default: wasm at once. If calls are large enough to gain from a GPU, WebGPU is
   * checked and measured in the background, and later each call goes to the engine that is predicted to be faster. Calls
   * whose tensors are on the GPU, or whose results stay there, always go to WebGPU. The two engines differ in the last
   * bits of their results.
   */
  readonly backend?: "auto" | "wasm" | "webgpu" | undefined;
  /**
   * Number of threads that compute, the calling thread included, at most 256. `"auto"`, the default: the number of CPU
   * cores, at most 8. A page has more than one thread only if it is cross-origin isolated; the report says why if it
   * has not, and also that backend `"webgpu"` computes without them. Results have the same bits for every number of
   * threads.
   */
  readonly threads?: "auto" | number | undefined;
  /**
   * Instruction set. `"auto"`, the default: relaxed SIMD if the JavaScript engine has it, otherwise plain SIMD. Backend
   * `"webgpu"` takes no other value.
   */
  readonly variant?: "auto" | Variant | undefined;
  /**
   * Most bytes that the engine's memory may grow to. Default 1 GiB; at least 16 MiB and 512 KiB for each thread; at
   * most 4 GiB. It does not limit WebGPU's memory; with backend `"webgpu"` the report says so.
   */
  readonly maximumMemory?: number | undefined;
  /** Your own GPUDevice, for WebGPU. headwise uses it and never destroys it. */
  readonly device?: object | undefined;
  /** A GPU object, for environments without navigator.gpu. In Node the npm package webgpu has one. */
  readonly gpu?: object | undefined;
  /**
   * Whether backend `"auto"` measures, as described there. Default true. `{ keep: false }`: what was measured is not kept
   * for the next visit. false: only calls with tensors on the GPU go to WebGPU. A backend that was chosen measures
   * nothing. See `report.calibration`.
   */
  readonly calibrate?: boolean | { readonly keep?: boolean | undefined } | undefined;
  /** Where the engine's files are. Default: in the folders of this package. Backend `"webgpu"` takes only `baseUrl`. */
  readonly wasm?: WasmSource | undefined;
  /** Aborts loading. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Called with the number of bytes that have arrived. If it throws, loading ends and `createAttention` rejects with
   * that error.
   */
  readonly onProgress?: ((progress: LoadProgress) => void) | undefined;
  /**
   * Whether calls let the event loop turn when that is due, about every 12 ms. Default true: a loop of awaited calls then
   * lets clicks, messages and timers in, and sees when a signal aborts. false: such a loop runs without a pause.
   */
  readonly yield?: boolean | undefined;
  /**
   * Measures the GPU time of kernels; see `hw.gpu.times`. Default false. It has no effect on wasm; the report says so.
   */
  readonly profile?: boolean | undefined;
  /**
   * The tiling of WebGPU's attention kernel. `"auto"`, the default, is `"narrow"`: many invocations with few
   * registers. `"wide"` has large register tiles, `"general"` needs the least workgroup memory. (With backend `"auto"` the
   * faster of the first two is measured.) Set it to measure them, or to keep the last bits of
   * results the same on a device. Backend `"wasm"` takes no other value than `"auto"`.
   */
  readonly tiling?: "auto" | Tiling | undefined;
}

export const OPERATION = "createAttention";
const NAMES = namesOf<CreateOptions>({
  backend: true,
  threads: true,
  variant: true,
  maximumMemory: true,
  device: true,
  gpu: true,
  calibrate: true,
  wasm: true,
  signal: true,
  onProgress: true,
  yield: true,
  profile: true,
  tiling: true,
});

/** Names that other packages have for these options. */
export const CREATE_OTHERS: readonly OtherName[] = [
  ["num_threads", "threads"],
  ["executionProviders", "backend"],
  ["wasmPaths", "wasm"],
];

const MOST_THREADS = 256;
const MOST_MEMORY = 4 * 2 ** 30;

/**
 * Reads and checks the options of createAttention.
 *
 * @param absent - Options that this entry of the package does not have, each with the reason.
 */
export function readCreateOptions(given: unknown, absent: { readonly [Name in keyof CreateOptions]?: string } = {}) {
  const options = readOptions(new CallArguments(OPERATION), given, NAMES, "", "option", CREATE_OTHERS);
  for (const [name, reason] of Object.entries(absent))
    if (options.has(name)) throw new OptionError(`${OPERATION}: ${name} must be absent: ${reason}`);
  const backend = options.oneOf("backend", ["auto", "wasm", "webgpu"], "auto");
  for (const name of OF_THE_OTHER[backend])
    if (options.has(name) && options.value(name) !== "auto") throw foreign(options, name, backend);
  const onProgress = options.callback("onProgress");
  return {
    ...readGpu(options),
    backend,
    threads: readThreads(options),
    variant: options.oneOf("variant", VARIANT_NAMES, "auto"),
    maximumMemory: options.integer("maximumMemory", { min: INITIAL_MEMORY, max: MOST_MEMORY }) ?? DEFAULT_MEMORY,
    calibrate: readCalibrate(options),
    source: readSource(options, backend),
    signal: options.signal(),
    onProgress: onProgress as CreateOptions["onProgress"],
    yields: options.flag("yield", true),
  };
}

export type CheckedOptions = ReturnType<typeof readCreateOptions>;

type Backend = NonNullable<CreateOptions["backend"]>;

/** Options that only the other engine takes. `"auto"` asks for nothing. */
const OF_THE_OTHER: Readonly<Record<Backend, readonly (keyof CreateOptions)[]>> = {
  auto: [],
  wasm: ["device", "gpu", "tiling"],
  webgpu: ["variant"],
};

function foreign(options: OptionReader, name: string, backend: Backend): OptionError {
  const other = backend === "wasm" ? "webgpu" : "wasm";
  return new OptionError(`${options.at(name)} must be absent with backend "${backend}"`, {
    hint: `Backends "${other}" and "auto" take it.`,
  });
}

function readThreads(options: OptionReader): "auto" | number {
  if (options.value("threads") === "auto") return "auto";
  return options.integer("threads", { min: 1, max: MOST_THREADS }) ?? "auto";
}

/** Whether to calibrate, and whether to keep what was measured. */
function readCalibrate(options: OptionReader): { readonly on: boolean; readonly keep: boolean } {
  const value = options.value("calibrate");
  if (value === undefined || typeof value === "boolean") return { on: value ?? true, keep: true };
  if (!isObject(value)) throw options.refuse("calibrate", "be true, false or { keep: false }");
  const calibrate = options.object("calibrate", ["keep"]);
  return { on: true, keep: calibrate?.flag("keep", true) ?? true };
}

const ADDRESS = "be an address";
const BYTES = "be an ArrayBuffer or a Uint8Array, not detached";
const MODULE = "be a WebAssembly.Module";

/**
 * For each source: its rule for messages, and a function that returns the checked value, or undefined if it breaks the
 * rule.
 */
const SOURCES: { readonly [Name in keyof WasmSource]-?: readonly [rule: string, read: (value: unknown) => unknown] } = {
  baseUrl: [ADDRESS, readAddress],
  url: [ADDRESS, readAddress],
  glueUrl: [ADDRESS, readAddress],
  binary: [BYTES, readBytes],
  module: [MODULE, readModule],
  lateUrl: [ADDRESS, readAddress],
  lateBinary: [BYTES, readBytes],
  lateModule: [MODULE, readModule],
};

/** Sources of one file. Which of them counts is for the caller to say. */
const OF_ONE_FILE: readonly (readonly (keyof WasmSource)[])[] = [
  ["module", "binary", "url"],
  ["lateModule", "lateBinary", "lateUrl"],
];

/** The files of WebGPU lie in `baseUrl` too. */
function readSource(options: OptionReader, backend: Backend): CheckedSource {
  const source = options.object("wasm", Object.keys(SOURCES));
  if (backend === "webgpu")
    for (const name of Object.keys(SOURCES))
      if (name !== "baseUrl" && source?.has(name)) throw foreign(source, name, backend);
  for (const names of OF_ONE_FILE) {
    const [first, second] = names.filter((name) => source?.has(name));
    if (second) throw new OptionError(`${OPERATION}: wasm.${second} must be absent beside wasm.${first}`);
  }
  const given = Object.entries(SOURCES).filter(([name]) => source?.has(name));
  return Object.fromEntries(
    given.map(([name, [rule, read]]) => {
      const value = source!.call.guarded(source!.name(name), () => read(source!.value(name)));
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

/** Copies the bytes of a buffer or array of any realm. They are compiled later, perhaps in a worker. */
function readBytes(value: unknown): Uint8Array<ArrayBuffer> | undefined {
  try {
    if (arrayKind(value) === "Uint8Array") return new Uint8Array(value as Uint8Array);
    byteLengthOf.get!.call(value); // throws if it is not an ArrayBuffer
    return new Uint8Array(value as ArrayBuffer).slice();
  } catch {
    return undefined;
  }
}

/** Returns a WebAssembly.Module of any realm. */
function readModule(value: unknown): WebAssembly.Module | undefined {
  try {
    WebAssembly.Module.customSections(value as WebAssembly.Module, "");
    return value as WebAssembly.Module;
  } catch {
    return undefined;
  }
}
