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

/** What createAttention chose, and why. */
export interface Report {
  /** Version of the package. */
  readonly version: string;
  /** The engine in use: for `backend: "auto"` it is `"wasm"`. */
  readonly backend: "wasm" | "webgpu";
  /**
   * The instruction set in use: `"relaxed"` if the JavaScript engine has relaxed SIMD, otherwise `"simd"`. It is
   * `"wgsl"` if WebGPU is the only engine.
   */
  readonly variant: "simd" | "relaxed" | "wgsl";
  /** Number of CPU threads that compute; 0 if WebGPU is the only engine. */
  readonly threads: number;
  /** The GPU adapter in use, its features and limits. */
  readonly adapter?: AdapterReport;
  /**
   * Why a better choice was not possible. The keys name the choice: `threads`, `variant`, `webgpu`, `profile`, `worker`.
   */
  readonly reasons: Readonly<Record<string, string>>;
}
