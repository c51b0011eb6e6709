import { OptionError } from "../errors/errors.js";
import { describe } from "../foreign/describe.js";
import type { GpuData } from "../tensor/gpuTensor.js";
import type { Device } from "./device.js";

const COMPUTE = 0x4;

/** Refuses a buffer that the CPU holds. What else shows of a buffer, `checkGpuTensor` has checked. */
export function checkUnmapped(operation: string, { argument, buffer }: GpuData): void {
  const { mapState } = buffer as { readonly mapState?: GPUBufferMapState }; // older browsers do not tell
  if (mapState !== undefined && mapState !== "unmapped")
    throw new OptionError(`${operation}: ${argument}.buffer must be unmapped, got mapState ${describe(mapState)}`, {
      hint: "Call `unmap()` on it first.",
    });
}

/** Only the device itself knows its buffers: it is asked to bind one. */
export async function checkOwner(device: Device, operation: string, { argument, buffer }: GpuData): Promise<void> {
  const cause = await complaint(device, operation, () => bind(device.gpuDevice, buffer));
  if (cause !== undefined)
    throw new OptionError(`${operation}: ${argument}.buffer must belong to this instance's device`, {
      hint: "Give the device to createAttention, or copy the tensor.",
      cause,
    });
}

/** Nothing of a buffer shows that it was destroyed, but commands that name it are refused: here a pass without work. */
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

/** What the device has against `work`; undefined if nothing. */
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
