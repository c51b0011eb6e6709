import type { Engine, Opened } from "./engine.js";
import type { GpuOptions } from "./gpuOptions.js";

/** The WebGPU engine as a file of its own. Entries that have another engine load it only when it is needed. */
export interface GpuModule {
  readonly version: string;
  /** Opens the GPU beside another engine. */
  openWebgpu(operation: string, options: GpuOptions): Promise<GpuEngine>;
  /** Opens the GPU as the only engine. */
  openGpuAlone(operation: string, options: GpuOptions & { readonly signal: AbortSignal | undefined }): Promise<Opened>;
}

/** An engine on the GPU: it can record its calls. */
export type GpuEngine = Engine & Required<Pick<Engine, "encode">>;
