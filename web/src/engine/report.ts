/** GPU time of one kernel of a call. */
export interface KernelTime {
  readonly kernel: string;
  readonly milliseconds: number;
}

/** The adapter behind an instance. */
export interface AdapterReport {
  readonly vendor: string;
  readonly architecture: string;
  readonly device: string;
  readonly description: string;
  /** Whether the adapter computes on the CPU. */
  readonly fallback: boolean;
  /** Features in use. */
  readonly features: readonly string[];
  readonly limits: Readonly<Record<string, number>>;
}

/** What createAttention found, and why. */
export interface Report {
  /** Version of the package. */
  readonly version: string;
  readonly backend: "wasm" | "webgpu";
  /** The instruction set in use: relaxed SIMD where the engine has it; `"wgsl"` if WebGPU is the only engine. */
  readonly variant: "simd" | "relaxed" | "wgsl";
  /** Threads of the CPU that compute; 0 if WebGPU is the only engine. */
  readonly threads: number;
  /** The GPU adapter in use, its features and limits. */
  readonly adapter?: AdapterReport;
  /** Why a better choice was not taken, by what was to be chosen: `threads`, `variant`, `webgpu`. */
  readonly reasons: Readonly<Record<string, string>>;
}
