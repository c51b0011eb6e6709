import { f16round } from "@petamoriken/float16";

import type { AttendOptions } from "headwise";

import { word } from "./cases.js";
import type { randomTensor } from "./randomTensor.js";
import type { Input, ReferenceOptions } from "../attention-conformance/reference/reference.js";

export interface CacheShape {
  readonly batchSize: number;
  readonly numKvHeads: number;
  readonly headDim: number;
  readonly valueDim: number;
  readonly dtype: "float32" | "float16";
  readonly ring?: { readonly keepFirst: number; readonly window: number; readonly positions?: "text" | "cache" };
  readonly rotary?: { readonly base: number };
}

/** A token. `number` decides its keys and values. `position` is the number of tokens that its batch had before. */
interface Token {
  readonly number: number;
  readonly position: number;
}

/** Rows of an append, and how many of them were tokens of each batch. */
interface Append {
  readonly rows: number;
  readonly lengths: readonly number[];
}

/** What a cache must hold: for each batch a list of tokens, in order of position. */
export class ModelCache {
  private constructor(
    readonly shape: CacheShape,
    private held: readonly (readonly Token[])[],
    private ends: readonly number[],
    /** The last append, if only forks and selections came after it. */
    private last?: Append | undefined,
  ) {}

  static empty(shape: CacheShape): ModelCache {
    const perBatch = <T>(value: T) => Array<T>(shape.batchSize).fill(value);
    return new ModelCache(shape, perBatch([]), perBatch(0));
  }

  get appended(): readonly number[] {
    return this.ends;
  }

  get lengths(): readonly number[] {
    return this.held.map((tokens) => tokens.length);
  }

  /** Appends `lengths[b]` tokens to batch b. Their numbers start at `firstNumber` + b · 1000. */
  append(firstNumber: number, lengths: readonly number[]): void {
    const { ring } = this.shape;
    this.held = this.held.map((tokens, b) => {
      const end = this.ends[b]! + lengths[b]!;
      const added = Array.from({ length: lengths[b]! }, (_, n) => ({
        number: firstNumber + 1000 * b + n,
        position: this.ends[b]! + n,
      }));
      const stays = ({ position }: Token) => !ring || position < ring.keepFirst || position >= end - ring.window;
      return [...tokens, ...added].filter(stays);
    });
    this.ends = this.ends.map((end, b) => end + lengths[b]!);
    this.last = { rows: Math.max(0, ...lengths), lengths };
  }

  /** The number of rows of the last append, padding included. */
  get lastRows(): number | undefined {
    return this.last?.rows;
  }

  /**
   * How many of `rows` query rows count in each batch, for a call that uses positions and gives no other option about
   * them.
   */
  queryLengths(rows: number, countsPositions: boolean): readonly number[] {
    return countsPositions && this.last && rows === this.last.rows ? this.last.lengths : this.ends.map(() => rows);
  }

  /** Whether a rewind is possible. It is not if a ring has dropped tokens that it would need at these lengths. */
  canRewind(lengths: readonly number[]): boolean {
    const { ring } = this.shape;
    return lengths.every((length, b) => {
      if (length > this.ends[b]!) return false;
      const left = this.held[b]!.filter(({ position }) => position < length).length;
      return left === (ring ? Math.min(length, ring.keepFirst + ring.window) : length);
    });
  }

  /** Whether a query would see a token that a ring has dropped, but would hold if the query's token were the last. */
  missesDropped(
    rows: number,
    { causal, window = {} }: Pick<AttendOptions, "causal" | "window">,
    queryLengths: readonly number[],
  ): boolean {
    const { ring } = this.shape;
    const { left, right } = window;
    if (!ring || (causal === undefined && left === undefined && right === undefined)) return false;
    const ahead = causal === undefined ? (right ?? Infinity) : 0;
    return this.held.some((tokens, b) => {
      const isHeld = new Set(tokens.map(({ position }) => position));
      const offset = causal === "upper-left" ? 0 : this.ends[b]! - queryLengths[b]!;
      const misses = (p: number, j: number) =>
        !isHeld.has(j) && j > p - ring.window && j >= p - (left ?? Infinity) && j <= p + ahead;
      const positions = Array.from({ length: Math.min(rows, queryLengths[b]!) }, (_, i) => offset + i);
      return positions.some((p) => Array.from({ length: this.ends[b]! }, (_, j) => j).some((j) => misses(p, j)));
    });
  }

  rewind(lengths: readonly number[]): void {
    this.held = this.held.map((tokens, b) => tokens.filter(({ position }) => position < lengths[b]!));
    this.ends = lengths;
    this.last = undefined;
  }

  select(indices: readonly number[]): void {
    const selected = <T>(of: readonly T[]) => indices.map((b) => of[b]!);
    this.held = selected(this.held);
    this.ends = selected(this.ends);
    this.last &&= { ...this.last, lengths: selected(this.last.lengths) };
  }

  /** Whether tokens can be taken out so that these numbers are left. They cannot if a ring has dropped tokens. */
  canShrink(lengths: readonly number[]): boolean {
    return this.held.every((tokens, b) => tokens.length === this.ends[b] || lengths[b] === this.ends[b]);
  }

  keep(from: readonly number[], rows: readonly (readonly number[])[]): void {
    this.held = this.held.map((tokens, b) => {
      const stays = new Set(rows[b]!.map((row) => from[b]! + row));
      const kept = tokens.filter(({ position }) => position < from[b]! || stays.has(position));
      return kept.length === tokens.length ? tokens : kept.map(({ number }, position) => ({ number, position }));
    });
    this.ends = from.map((start, b) => start + rows[b]!.length);
    this.last = undefined;
  }

  /** Whether rows can become a cache of their own. They cannot if they are turned as if a gap between them were none. */
  canSlice(from: number, to: number): boolean {
    const { ring } = this.shape;
    if (ring?.positions !== "cache" || from >= ring.keepFirst || to <= ring.keepFirst) return true;
    return this.held.every((tokens, b) => tokens.length === this.ends[b]);
  }

  /** The queries of a call as attention sees them. */
  asQueries({ data, shape }: ReturnType<typeof randomTensor>, queryLengths: readonly number[], alignment: unknown) {
    if (!this.shape.rotary) return { data, shape };
    const [, heads, length, width] = shape as [number, number, number, number];
    const rows = Array.from({ length: data.length / width }, (_, n) => {
      const [b, i] = [Math.floor(n / (heads * length)), n % length];
      const end = this.ends[b]!;
      const offset = alignment === "upper-left" ? 0 : end - queryLengths[b]!;
      return this.turned([...data.subarray(n * width, (n + 1) * width)], offset + i - (end - this.held[b]!.length));
    });
    return { data: Float32Array.from(rows.flat()), shape };
  }

  /** A row turned by a position in the ring. */
  private turned(x: readonly number[], position: number): readonly number[] {
    const { rotary, headDim } = this.shape;
    const half = headDim / 2;
    if (!rotary) return x;
    return x.map((_, d) => {
      const angle = position * rotary.base ** ((-2 * (d % half)) / headDim);
      const [first, second] = [x[d % half]!, x[(d % half) + half]!];
      return d < half
        ? first * Math.cos(angle) - second * Math.sin(angle)
        : second * Math.cos(angle) + first * Math.sin(angle);
    });
  }

  fork(): ModelCache {
    return new ModelCache(this.shape, this.held, this.ends, this.last);
  }

  loaded(): ModelCache {
    return new ModelCache(this.shape, this.held, this.ends);
  }

  slice(from: number, to: number): ModelCache {
    const held = this.held.map((tokens) =>
      tokens.slice(from, to).map(({ number }, position) => ({ number, position })),
    );
    return new ModelCache(
      this.shape,
      held,
      held.map((tokens) => tokens.length),
    );
  }

  /** The content as one call of attention, for the reference. */
  asCall(queryLengths: readonly number[], alignment: unknown): { key: Input; value: Input; options: ReferenceOptions } {
    const { numKvHeads, headDim, valueDim, dtype } = this.shape;
    const length = Math.max(0, ...this.lengths);
    const stored = dtype === "float16" ? f16round : (x: number) => x;
    const rows = (side: Side, width: number): Input => ({
      shape: [this.held.length, numKvHeads, length, width],
      data: this.held.flatMap((tokens) =>
        Array.from({ length: numKvHeads }, (_, g) =>
          Array.from({ length }, (_, j) => {
            const numbers = Array.from({ length: width }, (__, d) =>
              tokens[j] ? stored(tokenElement(side, tokens[j].number, g, d)) : NaN,
            );
            return side === "key" ? this.turned(numbers, j) : numbers;
          }),
        ).flat(2),
      ),
    });
    return {
      key: rows("key", headDim),
      value: rows("value", valueDim),
      options: {
        keyLengths: this.lengths,
        queryLengths,
        heldPositions: this.held.map((tokens) => tokens.map(({ position }) => position)),
        queryOffset: this.ends.map((end, b) => (alignment === "upper-left" ? 0 : end - queryLengths[b]!)),
      },
    };
  }
}

type Side = "key" | "value";

export function tokenElement(side: Side, number: number, head: number, feature: number): number {
  return (word(number, side === "key" ? 2 : 3, head * 1000 + feature) >>> 8) / 2 ** 23 - 1;
}
