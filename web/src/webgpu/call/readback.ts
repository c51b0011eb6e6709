import type { Span } from "./span.js";

const MAP_READ = 0x1;

/** The results of a call that JavaScript reads, side by side in one buffer. */
export class Readback {
  readonly #copies: { readonly source: Span; readonly offset: number }[] = [];
  #bytes = 0;
  #buffer: GPUBuffer | undefined;

  get bytes(): number {
    return this.#bytes;
  }

  /** Adds a result. Returns its first byte in the mapped range. */
  add(source: Span): number {
    const offset = this.#bytes;
    this.#copies.push({ source, offset });
    this.#bytes += Math.ceil(source.bytes / 8) * 8; // a typed array of 8 bytes an element could begin here
    return offset;
  }

  /** The buffer that is mapped. */
  lieIn(buffer: GPUBuffer): void {
    this.#buffer = buffer;
  }

  record(encoder: GPUCommandEncoder): void {
    for (const { source, offset } of this.#copies)
      if (source.bytes > 0)
        encoder.copyBufferToBuffer(source.buffer, source.offset, this.#buffer!, offset, source.bytes);
  }

  /** Waits until the GPU is done. Resolves to the mapped range; `unmap` ends it. */
  async map(): Promise<ArrayBuffer> {
    await this.#buffer!.mapAsync(MAP_READ, 0, this.#bytes);
    return this.#buffer!.getMappedRange(0, this.#bytes);
  }

  /** Ends the mapping. Returns the buffer if the device does not do that. */
  unmap(): GPUBuffer | undefined {
    try {
      this.#buffer?.unmap();
      return undefined;
    } catch {
      return this.#buffer;
    }
  }
}
