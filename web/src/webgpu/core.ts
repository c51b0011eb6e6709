import type { KernelTime } from "../engine/report.js";
import { Buffers } from "./buffers.js";
import type { Device } from "./device.js";

/** The core of the WebGPU engine: its device and its buffers. Every operation works with it. */
export interface GpuCore {
  readonly device: Device;
  readonly buffers: Buffers;
  /** Gets the kernel times of each call, if kernels are timed. */
  readonly onTimes: ((times: KernelTime[]) => void) | undefined;
  /** The instance that uses the engine, or undefined if it was collected. */
  readonly instance: () => object | undefined;
}

export function makeCore(device: Device, { onTimes, instance }: Pick<GpuCore, "onTimes" | "instance">): GpuCore {
  return { device, buffers: new Buffers(device.gpuDevice), onTimes, instance };
}

/** Rejects the running calls and frees everything that the engine has on the device. */
export function endCore({ device, buffers }: GpuCore): void {
  buffers.destroy();
  device.end();
}

const instanceOf = new WeakMap<object, object | undefined>();

/**
 * Keeps the instance of `user` from being collected while `user` is in use. Without its instance the engine would be
 * ended.
 */
export function holdInstance(user: object, { instance }: GpuCore): void {
  instanceOf.set(user, instance());
}
