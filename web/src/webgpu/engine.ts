import { BufferPool } from "./buffers.js";
import type { KernelTime } from "../backend.js";
import type { Device } from "./device.js";

/** A device and its buffers: what every operation of the backend works with. */
export interface Engine {
  readonly device: Device;
  readonly pool: BufferPool;
  readonly onTimes: ((times: KernelTime[]) => void) | undefined;
}

export function makeEngine(device: Device, onTimes?: Engine["onTimes"]): Engine {
  return { device, pool: new BufferPool(device.gpuDevice), onTimes };
}
