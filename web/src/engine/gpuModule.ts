import type { Engine, Opened } from "./engine.js";
import type { GpuOptions } from "./gpuOptions.js";
import type { AdapterReport } from "./report.js";

/** The file that contains the WebGPU engine. Entries with another engine load it when a call first needs it. */
export interface GpuModule {
  readonly version: string;
  /** Opens a GPU in addition to another engine. */
  openWebgpu(operation: string, options: GpuOptions): Promise<GpuEngine>;
  /** Opens a GPU as the only engine. */
  openGpuAlone(operation: string, options: GpuOptions & { readonly signal: AbortSignal | undefined }): Promise<Opened>;
}

/** An engine on the GPU, which can record its calls. */
export interface GpuEngine extends Engine {
  readonly device: object;
  prepare: NonNullable<Engine["prepare"]>;
  record: NonNullable<Engine["record"]>;
  finish: NonNullable<Engine["finish"]>;
  upload: NonNullable<Engine["upload"]>;
  uploadWeight: NonNullable<Engine["uploadWeight"]>;
  download: NonNullable<Engine["download"]>;
  readonly adapter: AdapterReport;
  /**
   * Seconds of the kernels of `work`, which must be calls of this engine alone, one at a time. Resolves to undefined if the
   * device has no timestamp-query.
   */
  kernelSeconds(work: () => Promise<unknown>): Promise<number | undefined>;
  /** The tilings of the attention kernels that this device can run, the default first. */
  readonly tilings: readonly string[];
  /** The tiling that calls use from now on. Each tiling has pipelines of its own. */
  tiling: string;
}
