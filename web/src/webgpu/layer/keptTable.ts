import type { Call, Span } from "../call/call.js";

/** A table of fewer positions is cheap to make again. */
const WORTH_KEEPING = 64;

/** A table of numbers for a call's positions. It stays on the GPU for later calls with the same positions. */
export class KeptTable {
  #key: Float64Array | undefined;
  #span: Span | undefined;
  /** Frees the table. */
  free: () => void = () => undefined;

  /** The table for the numbers of `key`, which decide it. */
  place(call: Call, key: Float64Array, make: () => Float32Array): Span {
    // A recorded call may be submitted when the table is gone.
    if (key.length < WORTH_KEEPING || call.recording) return call.table(make());
    if (this.#span && isSame(this.#key!, key)) return this.#span;
    this.free();
    const { buffers } = call.core;
    const data = make();
    const buffer = buffers.make(data.byteLength);
    this.free = () => {
      buffers.free(buffer);
      this.#span = this.#key = undefined;
      this.free = () => undefined;
    };
    call.onFailure(this.free);
    this.#key = key;
    this.#span = { buffer, offset: 0, bytes: buffer.size };
    call.write(this.#span, 0, data);
    return this.#span;
  }
}

function isSame(a: Float64Array, b: Float64Array): boolean {
  return a.length === b.length && a.every((value, n) => value === b[n]);
}
