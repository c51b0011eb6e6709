/** The GPU time of one kernel of a call. */
export interface KernelTime {
  readonly kernel: string;
  readonly milliseconds: number;
}

/** The GPU adapter that an instance uses. */
export interface AdapterReport {
  readonly vendor: string;
  readonly architecture: string;
  readonly device: string;
  readonly description: string;
  /** true if the adapter computes on the CPU. */
  readonly fallback: boolean;
  /** The WebGPU features that are in use. */
  readonly features: readonly string[];
  readonly limits: Readonly<Record<string, number>>;
}

/** What createAttention chose, and why. */
export interface Report {
  /** Version of the package. */
  readonly version: string;
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
  /** Why a better choice was not possible. The keys name the choice: `threads`, `variant`, `webgpu`. */
  readonly reasons: Readonly<Record<string, string>>;
}
