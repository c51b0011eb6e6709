import { Attention } from "./attention.js";
import { AutoBackend, openUsefulGpu } from "./autoBackend.js";
import type { Report } from "./backend.js";
import { OptionError } from "./errors.js";
import { OptionReader } from "./options.js";
import { version } from "./version.js";
import { WasmBackend } from "./wasm/backend.js";
import type { Host, LoadProgress } from "./wasm/host.js";
import { INITIAL_MEMORY, loadEngine, mayBlock, type WasmSource } from "./wasm/loader.js";
import { chooseVariant, VARIANT_NAMES, type Variant } from "./wasm/variants.js";
import { createOnGpu, readGpu } from "./webgpu/create.js";

/** Options of `createAttention`. */
export interface CreateOptions {
  /**
   * `"auto"`, the default: WebGPU for calls large enough to gain by it, wasm for the others, for what WebGPU does not
   * offer and where there is no GPU; the report says which and why.
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

const OPERATION = "createAttention";
const NAMES = [
  "backend",
  "threads",
  "variant",
  "maximumMemory",
  "device",
  "gpu",
  "wasm",
  "signal",
  "onProgress",
  "profile",
];

const MOST_THREADS = 256;
const MOST_MEMORY = 4 * 2 ** 30;
const DEFAULT_MEMORY = 2 ** 30;

/** createAttention for a host: every entry of the package binds its own. */
export async function createOn(host: Host, given: CreateOptions | undefined): Promise<Attention> {
  const options = new OptionReader(OPERATION, "", given, NAMES);
  const wanted = readOptions(options);
  wanted.signal?.throwIfAborted();
  if (wanted.backend === "webgpu") return createOnGpu(OPERATION, wanted);
  const gpu = wanted.backend === "auto" ? await openUsefulGpu(OPERATION, wanted) : undefined;
  const { variant, reason } = await chooseVariant(OPERATION, wanted.variant);
  const { threads, reason: threadsReason } = chooseThreads(host, wanted.threads);
  const engine = await loadEngine(host, { ...wanted, variant, threads });
  const wasm = new WasmBackend(engine);
  const reasons: Record<string, string> = {
    ...(gpu && { backend: gpu.reason }),
    ...(reason && { variant: reason }),
    ...(threadsReason && { threads: threadsReason }),
    ...(wanted.profile && !gpu?.backend?.isTimed && { profile: "only WebGPU with timestamp-query times its kernels" }),
  };
  const cpu = { version, variant, threads: engine.native.threads, reasons };
  if (!gpu?.backend) return new Attention(wasm, { ...cpu, backend: "wasm" });
  const report: Report = { ...cpu, backend: "webgpu", adapter: gpu.backend.adapter };
  return new Attention(new AutoBackend(gpu.backend, wasm), report);
}

function readOptions(options: OptionReader) {
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

function readThreads(options: OptionReader): "auto" | number {
  if (options.value("threads") === "auto") return "auto";
  return options.integer("threads", { min: 1, max: MOST_THREADS }) ?? "auto";
}

function chooseThreads(host: Host, wanted: "auto" | number): { readonly threads: number; readonly reason?: string } {
  const { most, good, reason } = host.threads();
  const threads = Math.min(wanted === "auto" ? good : wanted, most);
  const limited = threads < (wanted === "auto" ? Infinity : wanted) ? reason : undefined;
  const blocks =
    threads === 1 && !mayBlock() ? "calls block the page while they compute: headwise/worker does not" : undefined;
  const reasons = [limited, blocks].filter((text) => text !== undefined);
  return reasons.length ? { threads, reason: reasons.join("; ") } : { threads };
}

function readSource(options: OptionReader): WasmSource {
  const source = options.object("wasm", ["url", "glueUrl", "binary", "module"]);
  if (!source) return {};
  const address = (name: "url" | "glueUrl") => {
    const value = source.value(name);
    if (value === undefined) return {};
    if (typeof value === "string") return { [name]: value };
    if (tagOf(value) === "URL") return { [name]: (value as URL).href };
    throw source.refuse(name, "be an address");
  };
  return { ...address("url"), ...address("glueUrl"), ...binary(source), ...compiled(source) };
}

function binary(source: OptionReader): Pick<WasmSource, "binary"> {
  const value = source.value("binary");
  if (value === undefined) return {};
  const kind = tagOf(value);
  if (kind !== "ArrayBuffer" && kind !== "Uint8Array")
    throw source.refuse("binary", "be an ArrayBuffer or a Uint8Array");
  return { binary: value as Uint8Array };
}

function compiled(source: OptionReader): Pick<WasmSource, "module"> {
  const value = source.value("module");
  if (value === undefined) return {};
  if (tagOf(value) !== "WebAssembly.Module") throw source.refuse("module", "be a WebAssembly.Module");
  return { module: value as WebAssembly.Module };
}

/** "ArrayBuffer", "URL" and so on, for objects of any realm. */
function tagOf(value: unknown): string {
  return Object.prototype.toString.call(value).slice("[object ".length, -1);
}
