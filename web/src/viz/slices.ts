import type { AttentionSource } from "./source.js";

/** Numbers of a slice: a megabyte is soon computed and worth a call. */
const NUMBERS_PER_SLICE = 2 ** 18;

/** One block of rows of one head. */
export interface Slice {
  readonly head: number;
  readonly index: number;
}

export interface SliceEvents {
  /** A slice has come; its rows can be read now. */
  readonly onSlice: (slice: Slice, rows: Float32Array) => void;
  readonly onError: (error: unknown) => void;
}

/**
 * Rows of a source in slices: asked for one at a time, in the order of the latest wishes, and kept up to a bound.
 * What is no longer wished for is not asked for; the slices used longest ago go first. A source that failed is asked no
 * more: whoever wants to try again makes new slices.
 */
export class Slices {
  readonly rowsPerSlice: number;
  /** Rows of one head that fit into the bound at once. */
  readonly rowsKept: number;
  readonly #kept = new Map<string, Float32Array>();
  readonly #capacity: number;
  #wishes: readonly Slice[] = [];
  #isAsking = false;
  #hasFailed = false;
  #isClosed = false;

  /** @param maximumBytes - Infinity for a source whose rows lie in memory anyway. */
  constructor(
    readonly source: AttentionSource,
    readonly events: SliceEvents,
    maximumBytes: number,
  ) {
    const { queries, keys } = source;
    this.rowsPerSlice = Math.min(Math.max(1, 2 ** Math.floor(Math.log2(NUMBERS_PER_SLICE / Math.max(keys, 1)))), 1024);
    // two at the least, so that a row read across a border does not chase its neighbour out
    this.#capacity = Math.max(2, Math.floor(maximumBytes / (4 * this.rowsPerSlice * Math.max(keys, 1))));
    this.rowsKept = Math.min(this.#capacity * this.rowsPerSlice, queries);
  }

  /** A row if its slice is here. */
  row(head: number, query: number): Float32Array | undefined {
    const index = Math.floor(query / this.rowsPerSlice);
    const rows = this.#kept.get(nameOf({ head, index }));
    const start = (query - index * this.rowsPerSlice) * this.source.keys;
    return rows?.subarray(start, start + this.source.keys);
  }

  /** The slices that hold these rows, from the first on. */
  slicesOf(head: number, from: number, to: number): Slice[] {
    const first = Math.floor(from / this.rowsPerSlice);
    const end = Math.ceil(to / this.rowsPerSlice);
    return Array.from({ length: Math.max(0, end - first) }, (_, i) => ({ head, index: first + i }));
  }

  has(slice: Slice): boolean {
    return this.#kept.has(nameOf(slice));
  }

  /** Replaces what is wished for. Slices that are here already become the youngest. */
  want(slices: readonly Slice[]): void {
    for (const slice of slices) this.#refresh(slice);
    this.#wishes = this.#hasFailed ? [] : slices.filter((slice) => !this.has(slice));
    if (!this.#isAsking) this.#ask();
  }

  /** Nothing is asked for any more, and what is on its way is dropped. */
  close(): void {
    this.#isClosed = true;
    this.#wishes = [];
    this.#kept.clear();
  }

  /** Asks for the wishes in turn; as long as the source answers at once, so does this. */
  #ask(): void {
    while (this.#wishes.length > 0) {
      const [slice, ...rest] = this.#wishes as readonly [Slice, ...Slice[]];
      this.#wishes = rest;
      const from = slice.index * this.rowsPerSlice;
      let answer;
      try {
        answer = this.source.rows(slice.head, from, Math.min(from + this.rowsPerSlice, this.source.queries));
      } catch (error) {
        this.#fail(error);
        return;
      }
      if (answer instanceof Promise) {
        this.#isAsking = true;
        void this.#await(slice, answer);
        return;
      }
      this.#keep(slice, answer);
    }
  }

  async #await(slice: Slice, answer: Promise<Float32Array>): Promise<void> {
    try {
      const rows = await answer;
      if (!this.#isClosed) this.#keep(slice, rows);
    } catch (error) {
      this.#fail(error);
    }
    this.#isAsking = false;
    this.#ask();
  }

  #fail(error: unknown): void {
    this.#hasFailed = true;
    this.#wishes = [];
    if (!this.#isClosed) this.events.onError(error);
  }

  #keep(slice: Slice, rows: Float32Array): void {
    this.#wishes = this.#wishes.filter((wish) => nameOf(wish) !== nameOf(slice));
    this.#kept.set(nameOf(slice), rows);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > this.#capacity) this.#kept.delete(oldest!);
    this.events.onSlice(slice, rows);
  }

  #refresh(slice: Slice): void {
    const rows = this.#kept.get(nameOf(slice));
    if (!rows) return;
    this.#kept.delete(nameOf(slice));
    this.#kept.set(nameOf(slice), rows);
  }
}

const nameOf = ({ head, index }: Slice) => `${head}:${index}`;
