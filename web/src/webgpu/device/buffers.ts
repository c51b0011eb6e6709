import { IterableWeakSet } from "./iterableWeakSet.js";

/** Sizes of pooled buffers differ in steps of at most a quarter, so that a returned buffer often fits again. */
const STEPS_PER_OCTAVE = 4;
const SMALLEST = 256;

/** Most bytes of idle buffers that the pool keeps; less on a small device, as phones are. */
const MOST_IDLE_BYTES = 2 ** 28;
const MOST_IDLE_BYTES_SMALL = 2 ** 26;
const SMALL_BUFFER_SIZE = 2 ** 30;

/** When nothing was taken for so long, the pool frees its idle buffers. */
export const IDLE_MILLISECONDS = 30_000;

/** One element of the widest array type: a kernel's binding cannot be smaller. */
export const SMALLEST_BINDING = 16;

/** The use of a buffer: scratch of kernels, a result that stays on the GPU, reading back, or the numbers of kernels. */
export type Purpose = "storage" | "result" | "readback" | "numbers";

// GPUBufferUsage as numbers, because Node has no such global.
const COPY_SRC = 0x4;
const COPY_DST = 0x8;
const MAP_READ = 0x1;
const UNIFORM = 0x40;
const STORAGE = 0x80;
const USAGE: Readonly<Record<Purpose, number>> = {
  storage: STORAGE | COPY_SRC | COPY_DST,
  result: STORAGE | COPY_SRC | COPY_DST,
  readback: MAP_READ | COPY_DST,
  numbers: UNIFORM | STORAGE | COPY_DST,
};

/** The size of a pooled buffer for `bytes` bytes. */
export function roundedSize(bytes: number, limit: number): number {
  if (bytes <= SMALLEST) return SMALLEST;
  const step = 2 ** Math.floor(Math.log2(bytes - 1)) / STEPS_PER_OCTAVE;
  const rounded = Math.ceil((Math.ceil(bytes / step) * step) / 4) * 4;
  return rounded <= limit ? rounded : Math.ceil(bytes / 4) * 4;
}

/** What a debugger of the GPU shows of a buffer: its use, or that nothing in it counts. */
const LABEL: Readonly<Record<Purpose | "idle" | "kept", string>> = {
  storage: "headwise scratch",
  result: "headwise result",
  readback: "headwise readback",
  numbers: "headwise numbers",
  kept: "headwise kept",
  idle: "headwise idle",
};

/** What is known of a buffer without asking the browser, which takes long. */
interface Made {
  readonly buffer: GPUBuffer;
  readonly size: number;
  readonly purpose: Purpose;
  /** The how manieth buffer it is. */
  readonly serial: number;
}

/**
 * The buffers that an instance has on a device. Scratch and results come from a pool; the pool is bounded in bytes and
 * frees the oldest idle buffers first. Of the idle buffers that fit, a call gets the one that was made first. So a call
 * that is repeated gets the same buffers again. Buffers of caches and weights are made in their exact size and never
 * pooled. Results have their exact size too. A buffer from `make` holds zeros; what `take` gives may hold anything.
 */
export class Buffers {
  readonly #device: GPUDevice;
  readonly #onFree: (buffer: GPUBuffer) => void;
  /**
   * All buffers that `destroy` destroys. References are weak, so that unused buffers can be collected, for example
   * those of a dropped cache.
   */
  readonly #owned = new IterableWeakSet<GPUBuffer>();
  readonly #made = new WeakMap<GPUBuffer, Made>();
  /** The latest returned is last. */
  #idle: Made[] = [];
  #idleBytes = 0;
  readonly #mostBytes: number;
  readonly #mostIdleBytes: number;
  /** Whether a buffer was taken since the timer began. */
  #wasUsed = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #count = 0;
  #ended = false;

  /** @param onFree - Is told of every buffer that is destroyed here. */
  constructor(device: GPUDevice, onFree: (buffer: GPUBuffer) => void = () => undefined) {
    this.#device = device;
    this.#onFree = onFree;
    this.#mostBytes = device.limits.maxBufferSize;
    this.#mostIdleBytes = this.#mostBytes < SMALL_BUFFER_SIZE ? MOST_IDLE_BYTES_SMALL : MOST_IDLE_BYTES;
  }

  /** How many buffers were made so far. */
  get count(): number {
    return this.#count;
  }

  get idleBytes(): number {
    return this.#idleBytes;
  }

  /** Whether the buffer was made here. */
  has(buffer: GPUBuffer): boolean {
    return this.#made.has(buffer);
  }

  /** A pooled buffer of at least `bytes`; for a result of exactly the bytes that a binding needs. Its content is undefined. */
  take(purpose: Purpose, bytes: number): GPUBuffer {
    this.#wasUsed = true;
    const size = purpose === "result" ? bindable(bytes) : roundedSize(bytes, this.#mostBytes);
    const found = this.#firstIdle(purpose, size);
    if (found < 0) return this.#create(size, purpose, LABEL[purpose]);
    const [{ buffer }] = this.#idle.splice(found, 1) as [Made];
    this.#idleBytes -= size;
    buffer.label = LABEL[purpose];
    return buffer;
  }

  /** Returns a buffer to the pool. The GPU may still use it, but only for commands submitted before the next call's. */
  giveBack(buffer: GPUBuffer): void {
    if (this.#ended) {
      buffer.destroy();
      return;
    }
    buffer.label = LABEL.idle;
    this.#owned.add(buffer);
    const made = this.#made.get(buffer)!;
    this.#idle.push(made);
    this.#idleBytes += made.size;
    this.#freeIdle(this.#mostIdleBytes);
    if (this.#idle.length > 0) this.#timer ??= this.#laterFree();
  }

  /** Frees the oldest idle buffers until no more than `most` bytes are idle. */
  #freeIdle(most: number): void {
    while (this.#idleBytes > most) {
      const oldest = this.#idle.shift()!;
      this.#idleBytes -= oldest.size;
      this.free(oldest.buffer);
    }
  }

  /** Frees all idle buffers after a while without use. In Node the timer does not keep the process alive. */
  #laterFree(): ReturnType<typeof setTimeout> {
    this.#wasUsed = false;
    const pool = new WeakRef(this);
    const timer = setTimeout(() => {
      const live = pool.deref();
      if (live) live.#afterAWhile();
    }, IDLE_MILLISECONDS);
    (timer as unknown as { unref?(): void }).unref?.();
    return timer;
  }

  #afterAWhile(): void {
    if (!this.#wasUsed) this.#freeIdle(0);
    this.#timer = this.#idle.length > 0 ? this.#laterFree() : undefined;
  }

  /**
   * A buffer outside the pool, filled with zeros. Its size is in whole words and large enough for a kernel's binding.
   */
  make(bytes: number, purpose: Purpose = "storage"): GPUBuffer {
    return this.#create(bindable(bytes), purpose, LABEL.kept);
  }

  free(buffer: GPUBuffer): void {
    this.#owned.delete(buffer);
    this.#onFree(buffer);
    buffer.destroy();
  }

  /** Gives a result's buffer to the caller. On the caller's own device it outlives the instance. */
  handOver(buffer: GPUBuffer): void {
    this.#owned.delete(buffer);
  }

  /** Destroys all buffers, also those in use, except those that were handed over. */
  destroy(): void {
    this.#ended = true;
    clearTimeout(this.#timer);
    for (const buffer of this.#owned.values()) this.free(buffer);
    this.#idle = [];
    this.#idleBytes = 0;
  }

  /** Where the buffer that was made first lies among the idle ones that fit; −1 if none fits. */
  #firstIdle(purpose: Purpose, size: number): number {
    let first = -1;
    let least = Infinity;
    for (let n = 0; n < this.#idle.length; ++n) {
      const made = this.#idle[n]!;
      if (made.size !== size || made.purpose !== purpose || made.serial >= least) continue;
      first = n;
      least = made.serial;
    }
    return first;
  }

  #create(size: number, purpose: Purpose, label: string): GPUBuffer {
    const buffer = this.#device.createBuffer({ label, size, usage: USAGE[purpose] });
    this.#owned.add(buffer);
    this.#made.set(buffer, { buffer, size, purpose, serial: this.#count++ });
    return buffer;
  }
}

/** `bytes` rounded up to whole words, and at least the smallest binding. */
export function bindable(bytes: number): number {
  return Math.max(SMALLEST_BINDING, Math.ceil(bytes / 4) * 4);
}
