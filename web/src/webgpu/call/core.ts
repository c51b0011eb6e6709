import type { Owner } from "../../engine/engine.js";
import type { KernelTime } from "../../engine/report.js";
import { BindGroups } from "./bindGroups.js";
import { Buffers } from "../device/buffers.js";
import type { Device } from "../device/device.js";
import { Faults } from "./faults.js";

/** The core of the WebGPU engine: its device and what it has there. Every operation works with it. */
export interface GpuCore {
  readonly device: Device;
  readonly buffers: Buffers;
  readonly bindGroups: BindGroups;
  readonly faults: Faults;
  /** The caller's buffers and encoders that the device has accepted. */
  readonly known: { readonly buffers: WeakSet<GPUBuffer>; readonly encoders: WeakSet<GPUCommandEncoder> };
  /** Gets the kernel times of each call, if kernels are timed. */
  readonly onTimes: ((times: KernelTime[]) => void) | undefined;
  /** The instance that uses the engine, or undefined if it was collected. */
  readonly instance: () => Owner | undefined;
}

export function makeCore(device: Device, { onTimes, instance }: Pick<GpuCore, "onTimes" | "instance">): GpuCore {
  const bindGroups = new BindGroups(device.gpuDevice);
  const buffers = new Buffers(device.gpuDevice, (buffer) => bindGroups.drop(buffer));
  const known = { buffers: new WeakSet<GPUBuffer>(), encoders: new WeakSet<GPUCommandEncoder>() };
  return { device, buffers, bindGroups, faults: new Faults(), known, onTimes, instance };
}

/** Rejects the running calls and frees everything that the engine has on the device. */
export function endCore({ device, buffers, bindGroups }: GpuCore): void {
  buffers.destroy();
  bindGroups.clear();
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

/** Runs `work` when the calls that were made so far have run: at once if none is pending. */
export function afterCalls({ instance }: GpuCore, work: () => void): void {
  const owner = instance();
  if (owner) owner.afterCalls(work);
  else work();
}
