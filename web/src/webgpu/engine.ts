import { BufferPool } from "./buffers.js";
import type { KernelTime } from "../backend.js";
import type { Device } from "./device.js";

/** A device and its buffers: what every operation of the backend works with. */
export interface Engine {
  readonly device: Device;
  readonly pool: BufferPool;
  /** A few bytes to bind where an input is absent, and one to write where an output is. */
  readonly onTimes: ((times: KernelTime[]) => void) | undefined;
  readonly spare: { readonly read: GPUBuffer; readonly write: readonly [GPUBuffer, GPUBuffer] };
}

const SPARE_BYTES = 256;

export function makeEngine(device: Device, onTimes?: Engine["onTimes"]): Engine {
  const pool = new BufferPool(device.gpuDevice);
  const spare = () => pool.take("storage", SPARE_BYTES);
  return { device, pool, onTimes, spare: { read: spare(), write: [spare(), spare()] } };
}
