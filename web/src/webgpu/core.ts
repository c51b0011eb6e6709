import type { KernelTime } from "../engine/report.js";
import { Buffers } from "./buffers.js";
import type { Device } from "./device.js";

/** A device and its buffers: what every operation of the engine works with. */
export interface GpuCore {
  readonly device: Device;
  readonly buffers: Buffers;
  readonly onTimes: ((times: KernelTime[]) => void) | undefined;
  /** The instance that uses the engine, while it is alive. */
  readonly instance: () => object | undefined;
}

export function makeCore(device: Device, { onTimes, instance }: Pick<GpuCore, "onTimes" | "instance">): GpuCore {
  return { device, buffers: new Buffers(device.gpuDevice), onTimes, instance };
}

/** Rejects the calls that run, and gives back all that the engine has on the device. */
export function endCore({ device, buffers }: GpuCore): void {
  buffers.destroy();
  device.end();
}

const instanceOf = new WeakMap<object, object | undefined>();

/** For as long as `user` is in use, its instance is not collected, which would end the engine. */
export function holdInstance(user: object, { instance }: GpuCore): void {
  instanceOf.set(user, instance());
}
