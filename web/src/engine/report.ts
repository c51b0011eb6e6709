import type { Place } from "../tensor/place.js";

/** The GPU time of one kernel of a call. */
export interface KernelTime {
  /** Name of the kernel. */
  readonly kernel: string;
  /** Time on the GPU, in milliseconds. */
  readonly milliseconds: number;
}

/** The GPU adapter that an instance uses. */
export interface AdapterReport {
  /**
   * Name of the vendor, as WebGPU reports it; "" if it does not. The next three properties are from the same source.
   */
  readonly vendor: string;
  readonly architecture: string;
  readonly device: string;
  readonly description: string;
  /** true if the adapter computes on the CPU. */
  readonly fallback: boolean;
  /** The WebGPU features that are in use. */
  readonly features: readonly string[];
  /** The limits of the device, by WebGPU's names. */
  readonly limits: Readonly<Record<string, number>>;
}

/** An engine that computes. */
export type EngineName = Place;

/** The speed of an engine, as `backend: "auto"` predicts calls with it. */
export interface EngineSpeed {
  /** Time of a call before anything is computed, in milliseconds. */
  readonly startMilliseconds: number;
  /** Bytes that move between JavaScript and the engine in a second. */
  readonly bytesPerSecond: number;
  /** Multiply-adds in a second. */
  readonly operationsPerSecond: number;
  /** Where the numbers come from: from assumptions, from a race in this process, or from one of an earlier visit. */
  readonly basis: "assumed" | "measured" | "kept";
  /** Number of calls whose times have refined them since. */
  readonly calls: number;
}

/** One shape of the race, and how long each contender took. */
export interface RaceResult {
  readonly heads: number;
  readonly queries: number;
  readonly keys: number;
  readonly headDim: number;
  /** The names of tilings of the WebGPU kernels, or `"wasm"`, with their times in milliseconds. */
  readonly milliseconds: Readonly<Record<string, number>>;
}

/** A check of one kernel variant against wasm. */
export interface CheckResult {
  /** The kind of calls that was checked. */
  readonly kind: string;
  /** The tiling of the kernels. */
  readonly tiling: string;
  /** Why it failed; absent if it passed. */
  readonly failure?: string;
}

/** What `backend: "auto"` has measured. */
export interface CalibrationReport {
  /**
   * `"off"`: `calibrate: false`, or a backend that was chosen. `"waiting"`: no call was large enough to gain from a GPU.
   * `"running"`: the GPU is being opened, checked or timed. `"ready"`: calls go to the engine that is predicted to be
   * faster. `"without"`: there is no GPU to use; `reasons.webgpu` says why.
   */
  readonly state: "off" | "waiting" | "running" | "ready" | "without";
  /** When the race was run, in milliseconds since 1970; absent before. */
  readonly measuredAt?: number;
  /** Whether the race was run in this process, or on an earlier visit. */
  readonly source?: "fresh" | "storage";
  /** The speed of each engine that may be used. */
  readonly engines: { readonly wasm?: EngineSpeed; readonly webgpu?: EngineSpeed };
  /** The tiling of the WebGPU kernels that won the race. */
  readonly tiling?: string;
  readonly race: readonly RaceResult[];
  readonly checks: readonly CheckResult[];
  /** Calls that `"auto"` has given to each engine. */
  readonly calls: { readonly wasm: number; readonly webgpu: number };
  /** Calls that WebGPU could not compute and wasm did, and the reason of the latest. */
  readonly fallbacks: { readonly count: number; readonly latest?: string };
}

/** What createAttention chose, and why. The report changes as instances measure. */
export interface Report {
  /** Version of the package. */
  readonly version: string;
  /**
   * The engine in use. For `backend: "auto"` it is `"wasm"`: WebGPU is used in addition, for calls that it computes faster.
   */
  readonly backend: EngineName;
  /**
   * The instruction set in use: `"relaxed"` if the JavaScript engine has relaxed SIMD, otherwise `"simd"`. It is
   * `"wgsl"` if WebGPU is the only engine.
   */
  readonly variant: "simd" | "relaxed" | "wgsl";
  /** Number of CPU threads that compute; 0 if WebGPU is the only engine. */
  readonly threads: number;
  /** Most bytes that the memory of wasm may grow to; absent if WebGPU is the only engine. */
  readonly maximumMemory?: number;
  /**
   * How many rows times vectors of columns wasm's matrix product computes at a time: `"2x4"`, `"6x2"`, `"4x4"` or `"6x4"`.
   * Races of 1 ms before a few of the first calls find the fastest for the processor and the JavaScript engine. All give
   * the same bits. Absent if WebGPU is the only engine.
   */
  readonly productBlock?: string;
  /** The GPU adapter in use, its features and limits. */
  readonly adapter?: AdapterReport;
  /**
   * Why a better choice was not possible. The keys name the choice: `threads`, `variant`, `webgpu`, `profile`, `worker`,
   * `maximumMemory`.
   */
  readonly reasons: Readonly<Record<string, string>>;
  /** What `backend: "auto"` has measured about this device. */
  readonly calibration: CalibrationReport;
}

/** The part of a report that changes. */
export interface LiveReport extends Pick<Report, "adapter" | "calibration" | "productBlock"> {
  /** Why WebGPU computes no calls whose tensors lie in JavaScript; undefined if it does. */
  readonly webgpuReason: string | undefined;
}

/** The calibration of an instance that measures nothing. */
export const NO_CALIBRATION: CalibrationReport = {
  state: "off",
  engines: {},
  race: [],
  checks: [],
  calls: { wasm: 0, webgpu: 0 },
  fallbacks: { count: 0 },
};
