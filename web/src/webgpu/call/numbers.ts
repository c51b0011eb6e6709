import { bindable } from "../device/buffers.js";
import type { Span } from "./span.js";

/** Bindings begin at multiples of this. No device of WebGPU needs a larger alignment. */
const ALIGNMENT = 256;

/**
 * The numbers of a call: the parameters of its kernels and its tables. They lie in one buffer, which is written at once
 * when the call is recorded.
 */
export class Numbers {
  readonly #parts: { readonly data: ArrayBufferView | ArrayBuffer; readonly offset: number }[] = [];
  #bytes = 0;
  #buffer: GPUBuffer | undefined;

  get bytes(): number {
    return this.#bytes;
  }

  /** Adds an array, which must not change any more. Its span has a buffer after `lieIn`. */
  add(data: ArrayBufferView | ArrayBuffer): Span {
    const offset = Math.ceil(this.#bytes / ALIGNMENT) * ALIGNMENT;
    const bytes = bindable(data.byteLength);
    this.#parts.push({ data, offset });
    this.#bytes = offset + bytes;
    const bufferOf = () => this.#buffer!;
    return {
      get buffer() {
        return bufferOf();
      },
      offset,
      bytes,
    };
  }

  /** The buffer of all numbers. */
  lieIn(buffer: GPUBuffer): void {
    this.#buffer = buffer;
  }

  write(queue: GPUQueue): void {
    if (!this.#buffer) return;
    const all = new Uint8Array(this.#bytes);
    for (const { data, offset } of this.#parts) all.set(bytesOf(data), offset);
    queue.writeBuffer(this.#buffer, 0, all);
  }
}

function bytesOf(data: ArrayBufferView | ArrayBuffer): Uint8Array {
  return ArrayBuffer.isView(data)
    ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
    : new Uint8Array(data);
}
