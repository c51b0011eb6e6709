import type { Engine, Opened } from "./engine.js";
import type { GpuOptions } from "./gpuOptions.js";

/** The file that contains the WebGPU engine. Entries with another engine load it when a call first needs it. */
export interface GpuModule {
  readonly version: string;
  /** Opens a GPU in addition to another engine. */
  openWebgpu(operation: string, options: GpuOptions): Promise<GpuEngine>;
  /** Opens a GPU as the only engine. */
  openGpuAlone(operation: string, options: GpuOptions & { readonly signal: AbortSignal | undefined }): Promise<Opened>;
}

/** An engine on the GPU, which can record its calls. */
export type GpuEngine = Engine &
  Required<Pick<Engine, "prepare" | "record" | "finish" | "upload" | "download" | "device">>;
