import type { Call, Span } from "../call/call.js";

/** A table of fewer positions is cheap to make again. */
const WORTH_KEEPING = 64;

const NOTHING = () => undefined;

/** A table of numbers for a call's positions. It stays on the GPU for later calls with the same positions. */
export class KeptTable {
  #key: Float64Array | undefined;
  #span: Span | undefined;
  #free: () => void = NOTHING;

  /** The table for the numbers of `key`, which decide it. */
  place(call: Call, key: Float64Array, make: () => Float32Array): Span {
    // A recorded call may be submitted when the table is gone.
    if (key.length < WORTH_KEEPING || call.recording) return call.table(make());
    if (this.#span && isSame(this.#key!, key)) return this.#span;
    const { buffers } = call.core;
    const data = make();
    const buffer = buffers.make(data.byteLength);
    const former = this.#free; // the call may use it too: a step that has the layer twice
    call.onSuccess(former);
    call.onFailure(() => {
      former();
      this.free();
    });
    this.#free = () => buffers.free(buffer);
    this.#key = key;
    this.#span = { buffer, offset: 0, bytes: buffer.size };
    call.write(this.#span, 0, data);
    return this.#span;
  }

  free(): void {
    this.#free();
    this.#free = NOTHING;
    this.#span = this.#key = undefined;
  }
}

function isSame(a: Float64Array, b: Float64Array): boolean {
  return a.length === b.length && a.every((value, n) => value === b[n]);
}
