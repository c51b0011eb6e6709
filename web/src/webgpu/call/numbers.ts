import { bindable } from "../device/buffers.js";
import type { Span } from "./span.js";

/** Bindings begin at multiples of this. No device of WebGPU needs a larger alignment. */
const ALIGNMENT = 256;

const FIRST_BYTES = 4096;

/**
 * The numbers of a call: the parameters of its kernels and its tables. They lie in one buffer, which is written at once
 * when the call is recorded.
 */
export class Numbers {
  #all = new Uint8Array(FIRST_BYTES);
  #bytes = 0;
  #buffer: GPUBuffer | undefined;

  get bytes(): number {
    return this.#bytes;
  }

  /** The buffer of all numbers. */
  get buffer(): GPUBuffer {
    return this.#buffer!;
  }

  /** Adds a copy of an array. Its span has a buffer after `lieIn`. */
  add(data: ArrayBufferView | ArrayBuffer): Span {
    const offset = Math.ceil(this.#bytes / ALIGNMENT) * ALIGNMENT;
    const bytes = bindable(data.byteLength);
    this.#bytes = offset + bytes;
    if (this.#bytes > this.#all.length) this.#grow();
    this.#all.set(bytesOf(data), offset);
    return new SpanOfNumbers(this, offset, bytes);
  }

  lieIn(buffer: GPUBuffer): void {
    this.#buffer = buffer;
  }

  write(queue: GPUQueue): void {
    if (this.#buffer) queue.writeBuffer(this.#buffer, 0, this.#all.subarray(0, this.#bytes));
  }

  #grow(): void {
    const grown = new Uint8Array(2 * this.#bytes);
    grown.set(this.#all);
    this.#all = grown;
  }
}

class SpanOfNumbers implements Span {
  readonly #numbers: Numbers;
  readonly offset: number;
  readonly bytes: number;

  constructor(numbers: Numbers, offset: number, bytes: number) {
    this.#numbers = numbers;
    this.offset = offset;
    this.bytes = bytes;
  }

  get buffer(): GPUBuffer {
    return this.#numbers.buffer;
  }
}

function bytesOf(data: ArrayBufferView | ArrayBuffer): Uint8Array {
  return ArrayBuffer.isView(data)
    ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
    : new Uint8Array(data);
}
