import { describe } from "../../base/describe.js";
import { OptionError } from "../../base/errors.js";
import type { GpuData } from "../../tensor/tensor.js";
import { SMALLEST_BINDING } from "../device/buffers.js";
import type { Device } from "../device/device.js";
import { ErrorScopes, isOutOfMemory, scopeError } from "../device/errorScopes.js";
import type { BindGroups } from "./bindGroups.js";

const COMPUTE = 0x4;

/** The devices of results that stayed on the GPU. */
const deviceOf = new WeakMap<GPUBuffer, Device>();

/** Remembers the device of a result. */
export function noteDevice(buffer: GPUBuffer, device: Device): void {
  deviceOf.set(buffer, device);
}

/** The caller's buffers of one call. */
export class Callers {
  readonly #device: Device;
  readonly #operation: string;
  /** The buffers that the device has accepted before. */
  readonly #known: WeakSet<GPUBuffer>;
  readonly #given: GpuData[] = [];

  constructor(device: Device, operation: string, known: WeakSet<GPUBuffer>) {
    this.#device = device;
    this.#operation = operation;
    this.#known = known;
  }

  add(data: GpuData): void {
    deviceOf.get(data.buffer)?.assertNotLost(this.#operation);
    checkUnmapped(this.#operation, data);
    this.#given.push(data);
  }

  get count(): number {
    return this.#given.length;
  }

  /** Whether the device has accepted all of them before. */
  get areKnown(): boolean {
    return this.#given.every(({ buffer }) => this.#known.has(buffer));
  }

  /** Throws an OptionError if the device refuses one of them. Every buffer is tested when it is first used. */
  async checkNew(): Promise<void> {
    await this.#check(this.#given.filter(({ buffer }) => !this.#known.has(buffer)));
  }

  /** The same for all of them, to explain why a call has failed: the caller may have destroyed one. */
  async checkAll(): Promise<void> {
    await this.#check(this.#given);
  }

  /** A call with these buffers has failed: one of them may be unusable. */
  forget(bindGroups: BindGroups): void {
    for (const { buffer } of this.#given) {
      this.#known.delete(buffer);
      bindGroups.drop(buffer);
    }
  }

  async #check(given: readonly GpuData[]): Promise<void> {
    await Promise.all(given.map((data) => checkOwner(this.#device, this.#operation, data)));
    await Promise.all(given.map((data) => checkUsable(this.#device, this.#operation, data)));
    for (const { buffer } of given) this.#known.add(buffer);
  }
}

/** Throws if the caller's buffer is mapped. `checkGpuTensor` has checked its other properties. */
function checkUnmapped(operation: string, { argument, buffer }: GpuData): void {
  const { mapState } = buffer as { readonly mapState?: GPUBufferMapState }; // older browsers do not have it
  if (mapState !== undefined && mapState !== "unmapped")
    throw new OptionError(`${operation}: ${argument}.buffer must be unmapped, got mapState ${describe(mapState)}`, {
      hint: "Call `unmap()` on it first.",
    });
}

/** Throws if the buffer belongs to another device. Only the device knows that, so this binds the buffer. */
async function checkOwner(device: Device, operation: string, { argument, buffer }: GpuData): Promise<void> {
  const cause = await complaint(device, operation, () => bind(device.gpuDevice, buffer));
  if (saysDestroyed(cause)) throw unusable(operation, argument, cause);
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
async function checkUsable(device: Device, operation: string, { argument, buffer }: GpuData): Promise<void> {
  const { gpuDevice } = device;
  const cause = await complaint(device, operation, () => {
    const encoder = gpuDevice.createCommandEncoder({ label: "buffer check" });
    const pass = encoder.beginComputePass();
    pass.setBindGroup(0, bind(gpuDevice, buffer));
    pass.end();
    gpuDevice.queue.submit([encoder.finish()]);
  });
  if (cause !== undefined) throw unusable(operation, argument, cause);
}

const unusable = (operation: string, argument: string, cause: unknown) =>
  new OptionError(`${operation}: ${argument}.buffer must be neither destroyed nor mapped`, { cause });

/** wgpu refuses to bind a destroyed buffer, and only its text says why. Dawn refuses to submit it. */
function saysDestroyed(cause: unknown): boolean {
  return /destroyed/i.test(String((cause as { readonly message?: unknown } | undefined)?.message));
}

function bind(gpuDevice: GPUDevice, buffer: GPUBuffer): GPUBindGroup {
  const layout = gpuDevice.createBindGroupLayout({
    entries: [{ binding: 0, visibility: COMPUTE, buffer: { type: "read-only-storage" } }],
  });
  // A buffer may be larger than a binding, and its tensors still lie within one.
  const size = Math.min(SMALLEST_BINDING, buffer.size);
  return gpuDevice.createBindGroup({ layout, entries: [{ binding: 0, resource: { buffer, size } }] });
}

/** The device's error for `work`; undefined if there is none. Throws if memory is missing, because then the buffer is not the cause. */
async function complaint(device: Device, operation: string, work: () => void): Promise<unknown> {
  const scopes = new ErrorScopes(device.gpuDevice);
  let thrown: unknown;
  try {
    scopes.around(work);
  } catch (error) {
    thrown = error;
  }
  const found = await device.whileAlive(operation, scopes.first());
  if (found && isOutOfMemory(found)) throw scopeError(operation, found);
  return thrown ?? found;
}
