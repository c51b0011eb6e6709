import { IterableWeakSet } from "./iterableWeakSet.js";

/** Sizes of pooled buffers differ in steps of at most a quarter, so that a returned buffer often fits again. */
const STEPS_PER_OCTAVE = 4;
const SMALLEST = 256;

/** Most bytes of idle buffers that the pool keeps. */
const MOST_IDLE_BYTES = 2 ** 28;

/** One element of the widest array type: a kernel's binding cannot be smaller. */
export const SMALLEST_BINDING = 16;

/** The use of a buffer: kernels and copies, reading back, or a kernel's uniforms. */
export type Purpose = "storage" | "readback" | "uniform";

// GPUBufferUsage as numbers, because Node has no such global.
const COPY_SRC = 0x4;
const COPY_DST = 0x8;
const MAP_READ = 0x1;
const UNIFORM = 0x40;
const STORAGE = 0x80;
const USAGE: Readonly<Record<Purpose, number>> = {
  storage: STORAGE | COPY_SRC | COPY_DST,
  readback: MAP_READ | COPY_DST,
  uniform: UNIFORM | COPY_DST,
};

/** The size of a pooled buffer for `bytes` bytes. */
export function roundedSize(bytes: number, limit: number): number {
  if (bytes <= SMALLEST) return SMALLEST;
  const step = 2 ** Math.floor(Math.log2(bytes - 1)) / STEPS_PER_OCTAVE;
  const rounded = Math.ceil((Math.ceil(bytes / step) * step) / 4) * 4;
  return rounded <= limit ? rounded : Math.ceil(bytes / 4) * 4;
}

/**
 * The buffers that an instance has on a device. Scratch buffers of calls come from a pool; the pool is bounded in bytes
 * and frees the oldest idle buffers first. Buffers that outlive a call (caches, weights, results) are made in their
 * exact size. A new buffer holds zeros, so it never shows the data of another call.
 */
export class Buffers {
  readonly #device: GPUDevice;
  /**
   * All buffers that `destroy` destroys. References are weak, so that unused buffers can be collected, for example
   * those of a dropped cache.
   */
  readonly #made = new IterableWeakSet<GPUBuffer>();
  #idle: { readonly buffer: GPUBuffer; readonly purpose: Purpose }[] = [];
  #idleBytes = 0;

  constructor(device: GPUDevice) {
    this.#device = device;
  }

  /** A pooled buffer of at least `bytes`. Its content is undefined. */
  take(purpose: Purpose, bytes: number): GPUBuffer {
    const size = roundedSize(bytes, this.#device.limits.maxBufferSize);
    const found = this.#idle.findIndex((entry) => entry.purpose === purpose && entry.buffer.size === size);
    if (found < 0) return this.#create(size, purpose);
    const { buffer } = this.#idle.splice(found, 1)[0]!;
    this.#idleBytes -= size;
    return buffer;
  }

  /** Returns a buffer to the pool. The GPU may still use it, but only for commands submitted before the next call's. */
  giveBack(purpose: Purpose, buffer: GPUBuffer): void {
    this.#idle.push({ buffer, purpose });
    this.#idleBytes += buffer.size;
    while (this.#idleBytes > MOST_IDLE_BYTES) {
      const oldest = this.#idle.shift()!.buffer;
      this.#idleBytes -= oldest.size;
      this.free(oldest);
    }
  }

  /**
   * A buffer outside the pool, filled with zeros. Its size is in whole words and large enough for a kernel's binding.
   */
  make(bytes: number): GPUBuffer {
    return this.#create(bindable(bytes), "storage");
  }

  free(buffer: GPUBuffer): void {
    this.#made.delete(buffer);
    buffer.destroy();
  }

  /** Gives a result's buffer to the caller. On the caller's own device it outlives the instance. */
  handOver(buffer: GPUBuffer): void {
    this.#made.delete(buffer);
  }

  get idleBytes(): number {
    return this.#idleBytes;
  }

  /** Destroys all buffers, also those in use, except those that were handed over. */
  destroy(): void {
    for (const buffer of this.#made.values()) this.free(buffer);
    this.#idle = [];
    this.#idleBytes = 0;
  }

  #create(size: number, purpose: Purpose): GPUBuffer {
    const buffer = this.#device.createBuffer({ size, usage: USAGE[purpose] });
    this.#made.add(buffer);
    return buffer;
  }
}

/** `bytes` rounded up to whole words, and at least the smallest binding. */
export function bindable(bytes: number): number {
  return Math.max(SMALLEST_BINDING, Math.ceil(bytes / 4) * 4);
}
