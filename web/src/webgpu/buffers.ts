import { IterableWeakSet } from "./iterableWeakSet.js";

/** Pooled buffers have sizes that differ by at most a quarter, so that those given back fit again. */
const STEPS_PER_OCTAVE = 4;
const SMALLEST = 256;

/** Bytes of idle buffers that are kept. */
const MOST_IDLE_BYTES = 2 ** 28;

/** One element of the widest array: a kernel can bind no less. */
export const SMALLEST_BINDING = 16;

/** What a buffer is for: kernels and copies, reading back, or a kernel's numbers. */
export type Purpose = "storage" | "readback" | "uniform";

// GPUBufferUsage as numbers: Node has no such global
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

/** The size at which a pooled buffer of `bytes` is made. */
export function roundedSize(bytes: number, limit: number): number {
  if (bytes <= SMALLEST) return SMALLEST;
  const step = 2 ** Math.floor(Math.log2(bytes - 1)) / STEPS_PER_OCTAVE;
  const rounded = Math.ceil((Math.ceil(bytes / step) * step) / 4) * 4;
  return rounded <= limit ? rounded : Math.ceil(bytes / 4) * 4;
}

/**
 * The buffers that an instance has on a device. Those of calls are used again from call to call; idle ones are bounded in
 * bytes, the oldest go first. Those that outlive a call (caches, weights, results) are made in their exact size, and a new
 * buffer holds zeros: nothing of another call lies behind them.
 */
export class Buffers {
  readonly #device: GPUDevice;
  /** For `destroy`. Held weakly: the collector may take what nobody holds any more, such as a cache that was dropped. */
  readonly #made = new IterableWeakSet<GPUBuffer>();
  #idle: { readonly buffer: GPUBuffer; readonly purpose: Purpose }[] = [];
  #idleBytes = 0;

  constructor(device: GPUDevice) {
    this.#device = device;
  }

  /** A buffer of the pool of at least `bytes`; what it holds is unspecified. */
  take(purpose: Purpose, bytes: number): GPUBuffer {
    const size = roundedSize(bytes, this.#device.limits.maxBufferSize);
    const found = this.#idle.findIndex((entry) => entry.purpose === purpose && entry.buffer.size === size);
    if (found < 0) return this.#create(size, purpose);
    const { buffer } = this.#idle.splice(found, 1)[0]!;
    this.#idleBytes -= size;
    return buffer;
  }

  /** Takes a buffer back; the GPU may still be using it, but for commands submitted before the next ones. */
  giveBack(purpose: Purpose, buffer: GPUBuffer): void {
    this.#idle.push({ buffer, purpose });
    this.#idleBytes += buffer.size;
    while (this.#idleBytes > MOST_IDLE_BYTES) {
      const oldest = this.#idle.shift()!.buffer;
      this.#idleBytes -= oldest.size;
      this.free(oldest);
    }
  }

  /** A buffer of its own, of zeros: in whole words, and as large as a kernel needs. */
  make(bytes: number): GPUBuffer {
    return this.#create(bindable(bytes), "storage");
  }

  free(buffer: GPUBuffer): void {
    this.#made.delete(buffer);
    buffer.destroy();
  }

  /** A result's buffer now belongs to the caller, and outlives the instance on a device of the caller's. */
  handOver(buffer: GPUBuffer): void {
    this.#made.delete(buffer);
  }

  get idleBytes(): number {
    return this.#idleBytes;
  }

  /** Destroys every buffer, in use or not, but those that were handed over. */
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

/** Bytes in whole words, and as many as a kernel binds at least. */
export function bindable(bytes: number): number {
  return Math.max(SMALLEST_BINDING, Math.ceil(bytes / 4) * 4);
}
