import { bin, HIDDEN, type BinRule, type Bins, type ByAxis, type Span } from "./bins.js";

/** The largest number of blocks along a side of a summary. A screen shows fewer at once. */
const MAX_BLOCKS = 1024;
const ENDLESS = Infinity;

/**
 * What is kept of a head when its rows may be dropped: the maximum of each block and of each row, and the smallest and
 * largest number.
 */
export class Summary {
  /**
   * Rows and columns of a block, in cells. 1 × 1 means that nothing is kept: the summary would be as large as the head.
   */
  readonly block: ByAxis<number>;
  readonly #blocks: ByAxis<number>;
  readonly #values: Float32Array;
  readonly #seen: Uint8Array;
  readonly #rowMaxima: Float32Array;
  #low = ENDLESS;
  #high = HIDDEN;

  /** @param inUnits - Whether each row is divided by its own maximum. */
  constructor(
    readonly extents: ByAxis<number>,
    readonly rule: BinRule,
    readonly inUnits: boolean,
  ) {
    this.block = { rows: blockOf(extents.rows), columns: blockOf(extents.columns) };
    this.#blocks = {
      rows: Math.ceil(extents.rows / this.block.rows),
      columns: Math.ceil(extents.columns / this.block.columns),
    };
    this.#values = new Float32Array(this.isUseful ? this.#blocks.rows * this.#blocks.columns : 0).fill(HIDDEN);
    this.#seen = new Uint8Array(extents.rows);
    this.#rowMaxima = new Float32Array(extents.rows);
  }

  get isUseful(): boolean {
    return this.block.rows * this.block.columns > 1;
  }

  /** The smallest visible number seen so far. This and `high` are 0 if there is none. */
  get low(): number {
    return this.#low === ENDLESS ? 0 : this.#low;
  }
  get high(): number {
    return this.#high === HIDDEN ? 0 : this.#high;
  }

  /** The largest absolute value in a row that was seen; 1 if all its numbers are 0. */
  unitOf(row: number): number {
    return this.#rowMaxima[row] || 1;
  }

  hasSeen({ from, to }: Span): boolean {
    return !this.#seen.subarray(from, to).includes(0);
  }

  /** Adds whole rows, the first of which has index `from`. */
  add(from: number, numbers: Float32Array): void {
    const { columns } = this.extents;
    const to = from + numbers.length / columns;
    const rowOf = (row: number) =>
      row >= from && row < to ? numbers.subarray((row - from) * columns, (row - from + 1) * columns) : undefined;
    for (let row = from; row < to; ++row) this.#addExtremes(row, rowOf(row)!);
    this.#seen.fill(1, from, to);
    if (!this.isUseful) return;
    const unitOf = this.inUnits ? (row: number) => this.unitOf(row) : undefined;
    const part = { rows: { from, to }, columns: { from: 0, to: columns } };
    const { values, cells } = bin(rowOf, { rows: to, columns }, part, this.block, { ...this.rule, unitOf });
    const start = (cells.rows.from / this.block.rows) * this.#blocks.columns;
    values.forEach((value, i) => this.#raise(start + i, value));
  }

  /** A part in blocks. Their sides must be multiples of the sides of this summary's blocks. */
  bins(part: ByAxis<Span>, block: ByAxis<number>): Bins {
    const rowOf = (y: number) =>
      this.hasSeen(inCells({ from: y, to: y + 1 }, this.block.rows, this.extents.rows))
        ? this.#values.subarray(y * this.#blocks.columns, (y + 1) * this.#blocks.columns)
        : undefined;
    const bins = bin(
      rowOf,
      this.#blocks,
      { rows: inBlocks(part.rows, this.block.rows), columns: inBlocks(part.columns, this.block.columns) },
      { rows: block.rows / this.block.rows, columns: block.columns / this.block.columns },
      { stronger: this.rule.stronger, isHidden: undefined },
    );
    const cells = {
      rows: inCells(bins.cells.rows, this.block.rows, this.extents.rows),
      columns: inCells(bins.cells.columns, this.block.columns, this.extents.columns),
    };
    return { ...bins, cells };
  }

  #raise(at: number, value: number): void {
    const sofar = this.#values[at]!;
    if (value === HIDDEN || Number.isNaN(sofar)) return;
    if (this.rule.stronger(value, sofar) || Number.isNaN(value)) this.#values[at] = value;
  }

  #addExtremes(row: number, numbers: Float32Array): void {
    const { isHidden } = this.rule;
    let low = ENDLESS;
    let high = HIDDEN;
    for (let column = 0; column < numbers.length; ++column) {
      const value = numbers[column]!;
      const isFinite = value > HIDDEN && value < ENDLESS;
      if (!isFinite || isHidden?.(row, column)) continue;
      if (value < low) low = value;
      if (value > high) high = value;
    }
    this.#low = Math.min(this.#low, low);
    this.#high = Math.max(this.#high, high);
    this.#rowMaxima[row] = high === HIDDEN ? 0 : Math.max(Math.abs(low), Math.abs(high));
  }
}

/** The side of a block is a power of two, so that borders of slices are borders of blocks. */
const blockOf = (cells: number) => 2 ** Math.max(0, Math.ceil(Math.log2(cells / MAX_BLOCKS)));
const inBlocks = ({ from, to }: Span, block: number) => ({ from: Math.floor(from / block), to: Math.ceil(to / block) });
const inCells = ({ from, to }: Span, block: number, end: number) => ({
  from: from * block,
  to: Math.min(to * block, end),
});
