import type { AttentionSource } from "./source.js";

/** Numbers of a slice. A megabyte is quick to compute, and large enough for one call. */
const NUMBERS_PER_SLICE = 2 ** 18;

/** A block of rows of one head. */
export interface Slice {
  readonly head: number;
  readonly index: number;
}

export interface SliceEvents {
  /** Called when a slice has arrived. Its rows can be read now. */
  readonly onSlice: (slice: Slice, rows: Float32Array) => void;
  readonly onError: (error: unknown) => void;
}

/**
 * Rows of a source, in slices. It asks for one slice at a time, in the order of the last call of `want`. Slices that
 * are no longer wanted are not asked for. It keeps slices up to a limit, and drops those that were used longest ago.
 * After an error it asks for nothing more: make new Slices to try again.
 */
export class Slices {
  readonly rowsPerSlice: number;
  /** How many slices are kept. */
  readonly capacity: number;
  /** How many rows of one head fit within the limit. */
  readonly rowsKept: number;
  readonly #kept = new Map<string, Float32Array>();
  #wishes: readonly Slice[] = [];
  #isAsking = false;
  #hasFailed = false;
  #isClosed = false;

  /** @param maximumBytes - The limit. Infinity if the rows of the source are in memory anyway. */
  constructor(
    readonly source: AttentionSource,
    readonly events: SliceEvents,
    maximumBytes: number,
  ) {
    const { queries, keys } = source;
    this.rowsPerSlice = Math.min(Math.max(1, 2 ** Math.floor(Math.log2(NUMBERS_PER_SLICE / Math.max(keys, 1)))), 1024);
    // at least two: a row read next to a border must not drop the neighbouring slice
    this.capacity = Math.max(2, Math.floor(maximumBytes / (4 * this.rowsPerSlice * Math.max(keys, 1))));
    this.rowsKept = Math.min(this.capacity * this.rowsPerSlice, queries);
  }

  /** A row; undefined if its slice has not arrived. */
  row(head: number, query: number): Float32Array | undefined {
    const index = Math.floor(query / this.rowsPerSlice);
    const rows = this.#kept.get(nameOf({ head, index }));
    const start = (query - index * this.rowsPerSlice) * this.source.keys;
    return rows?.subarray(start, start + this.source.keys);
  }

  /** The slices that hold the rows from `from` to `to − 1`. */
  slicesOf(head: number, from: number, to: number): Slice[] {
    const first = Math.floor(from / this.rowsPerSlice);
    const end = Math.ceil(to / this.rowsPerSlice);
    return Array.from({ length: Math.max(0, end - first) }, (_, i) => ({ head, index: first + i }));
  }

  has(slice: Slice): boolean {
    return this.#kept.has(nameOf(slice));
  }

  /** These slices, each once. */
  once(slices: readonly Slice[]): Slice[] {
    return [...new Map(slices.map((slice) => [nameOf(slice), slice])).values()];
  }

  /** Replaces the list of wanted slices. Wanted slices that are already here count as just used. */
  want(slices: readonly Slice[]): void {
    for (const slice of slices) this.#refresh(slice);
    this.#wishes = this.#hasFailed ? [] : slices.filter((slice) => !this.has(slice));
    if (!this.#isAsking) this.#ask();
  }

  /** Stops asking. A slice that arrives later is dropped. */
  close(): void {
    this.#isClosed = true;
    this.#wishes = [];
    this.#kept.clear();
  }

  /** Asks for the wanted slices one after another. It does not wait if the source answers at once. */
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
    if (this.#kept.size > this.capacity) this.#kept.delete(oldest!);
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
