import { OptionError } from "../errors/errors.js";
import { describe } from "../foreign/describe.js";
import type { GpuData } from "../tensor/gpuTensor.js";
import type { Device } from "./device.js";

const COMPUTE = 0x4;

/** Throws if the caller's buffer is mapped. `checkGpuTensor` has checked its other properties. */
export function checkUnmapped(operation: string, { argument, buffer }: GpuData): void {
  const { mapState } = buffer as { readonly mapState?: GPUBufferMapState }; // older browsers do not have it
  if (mapState !== undefined && mapState !== "unmapped")
    throw new OptionError(`${operation}: ${argument}.buffer must be unmapped, got mapState ${describe(mapState)}`, {
      hint: "Call `unmap()` on it first.",
    });
}

/** Throws if the buffer belongs to another device. Only the device knows that, so this binds the buffer. */
export async function checkOwner(device: Device, operation: string, { argument, buffer }: GpuData): Promise<void> {
  const cause = await complaint(device, operation, () => bind(device.gpuDevice, buffer));
  if (cause !== undefined)
    throw new OptionError(`${operation}: ${argument}.buffer must belong to this instance's device`, {
      hint: "Give the device to createAttention, or copy the tensor.",
      cause,
    });
}

/**
 * Throws if the buffer was destroyed. No property shows that, so this submits commands that use the buffer: a pass
 * without work.
 */
export async function checkUsable(device: Device, operation: string, { argument, buffer }: GpuData): Promise<void> {
  const { gpuDevice } = device;
  const cause = await complaint(device, operation, () => {
    const encoder = gpuDevice.createCommandEncoder({ label: "buffer check" });
    const pass = encoder.beginComputePass();
    pass.setBindGroup(0, bind(gpuDevice, buffer));
    pass.end();
    gpuDevice.queue.submit([encoder.finish()]);
  });
  if (cause !== undefined)
    throw new OptionError(`${operation}: ${argument}.buffer must be neither destroyed nor mapped`, { cause });
}

function bind(gpuDevice: GPUDevice, buffer: GPUBuffer): GPUBindGroup {
  const layout = gpuDevice.createBindGroupLayout({
    entries: [{ binding: 0, visibility: COMPUTE, buffer: { type: "read-only-storage" } }],
  });
  return gpuDevice.createBindGroup({ layout, entries: [{ binding: 0, resource: { buffer } }] });
}

/** The device's error for `work`; undefined if there is none. */
async function complaint(device: Device, operation: string, work: () => void): Promise<unknown> {
  const { gpuDevice } = device;
  let thrown: unknown;
  gpuDevice.pushErrorScope("validation");
  try {
    work();
  } catch (error) {
    thrown = error;
  }
  const found = await device.whileAlive(operation, gpuDevice.popErrorScope());
  return thrown ?? found ?? undefined;
}
