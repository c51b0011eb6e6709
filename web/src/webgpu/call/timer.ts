import type { KernelTime } from "../../engine/report.js";

const MAP_READ = 0x1;

/** Measures each pass with timestamps at its beginning and end. */
export class Timer {
  readonly #names: readonly string[];
  readonly #made: (GPUQuerySet | GPUBuffer)[] = [];
  readonly #queries: GPUQuerySet;
  readonly #resolved: GPUBuffer;
  readonly #readable: GPUBuffer;

  constructor(device: GPUDevice, names: readonly string[]) {
    this.#names = names;
    const count = 2 * names.length;
    try {
      this.#queries = this.#own(device.createQuerySet({ type: "timestamp", count }));
      this.#resolved = this.#own(device.createBuffer({ size: 8 * count, usage: 0x200 | 0x4 })); // QUERY_RESOLVE | COPY_SRC
      this.#readable = this.#own(device.createBuffer({ size: 8 * count, usage: 0x1 | 0x8 })); // MAP_READ | COPY_DST
    } catch (error) {
      this.destroy();
      throw error;
    }
  }

  writes(n: number): GPUComputePassDescriptor {
    return {
      timestampWrites: { querySet: this.#queries, beginningOfPassWriteIndex: 2 * n, endOfPassWriteIndex: 2 * n + 1 },
    };
  }

  resolve(encoder: GPUCommandEncoder): void {
    encoder.resolveQuerySet(this.#queries, 0, 2 * this.#names.length, this.#resolved, 0);
    encoder.copyBufferToBuffer(this.#resolved, 0, this.#readable, 0, this.#readable.size);
  }

  async read(): Promise<KernelTime[]> {
    await this.#readable.mapAsync(MAP_READ);
    const stamps = new BigUint64Array(this.#readable.getMappedRange().slice(0));
    return this.#names.map((kernel, n) => ({
      kernel,
      milliseconds: Number(stamps[2 * n + 1]! - stamps[2 * n]!) / 1e6,
    }));
  }

  destroy(): void {
    for (const resource of this.#made.splice(0)) resource.destroy();
  }

  #own<T extends GPUQuerySet | GPUBuffer>(resource: T): T {
    this.#made.push(resource);
    return resource;
  }
}
