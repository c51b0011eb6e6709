import type { Call, Span } from "../call/call.js";
import { Listing } from "../call/listing.js";
import { SMALLEST_BINDING, type Purpose } from "../device/buffers.js";
import type { StepBuffers } from "./stepBuffers.js";

/** Lists the commands of something in a call. */
type List = (call: Call) => void;

/** The parts of a step whose commands are the same in every run. They are listed once, when the step is made. */
export class StepListing {
  readonly #listing: Listing;
  readonly #buffers: StepBuffers;
  /** Scratch, by its number in a part and its bytes: parts follow each other, so they share it. */
  readonly #scratch = new Map<string, Span>();
  #rooms = 0;

  constructor(call: Call, buffers: StepBuffers) {
    this.#buffers = buffers;
    this.#listing = new Listing(call.core, call.operation, (bytes, purpose) => this.#room(call, bytes, purpose));
  }

  /** What lists a part in a run: its commands as they are now, or `list` again if they cannot be used so. */
  part(list: List): List {
    this.#rooms = 0;
    const commands = this.#listing.add(list);
    return commands ? (call) => call.append(this.#listing, commands) : list;
  }

  /** No part follows. */
  close(): void {
    this.#listing.close();
  }

  #room(call: Call, bytes: number, purpose: Purpose): Span {
    // What absent inputs and outputs bind is no scratch: all parts have the same.
    if (purpose === "numbers" || bytes === SMALLEST_BINDING) return this.#buffers.keep(call, bytes, purpose);
    const name = `${this.#rooms++} ${bytes}`;
    const span = this.#scratch.get(name) ?? this.#buffers.keep(call, bytes);
    this.#scratch.set(name, span);
    return span;
  }
}
