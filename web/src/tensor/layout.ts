import { describe } from "../base/describe.js";
import { OptionError, ShapeError } from "../base/errors.js";

/**
 * The memory order of query, key, value and output, all row-major. B is batch, H heads, S sequence, D head dim, E =
 * H·D. `"BHSD"` is `[B, H, S, D]`, `"BSHD"` is `[B, S, H, D]`. `"BSE"` is `[B, S, E]`: the heads are packed in the last
 * axis. `"BES"` is `[B, E, S]`: one column for each position.
 */
export type Layout = "BHSD" | "BSHD" | "BSE" | "BES";

/** The extents of a tensor of heads. */
export interface HeadsShape {
  readonly batchSize: number;
  readonly numHeads: number;
  readonly length: number;
  readonly headDim: number;
}

type Axis = keyof HeadsShape | "width";

const AXES: Readonly<Record<Layout, readonly Axis[]>> = {
  BHSD: ["batchSize", "numHeads", "length", "headDim"],
  BSHD: ["batchSize", "length", "numHeads", "headDim"],
  BSE: ["batchSize", "length", "width"],
  BES: ["batchSize", "width", "length"],
};

export const LAYOUTS = Object.keys(AXES) as [Layout, ...Layout[]];

/** The meaning of each axis of a tensor of this rank; undefined if the layout has no such rank. */
export function axesOf(layout: Layout, rank: number): readonly Axis[] | undefined {
  const axes = AXES[layout];
  // one head of one batch
  if (rank === 2) return layout === "BES" ? ["headDim", "length"] : ["length", "headDim"];
  if (rank === axes.length) return axes;
  return rank === 3 ? axes.slice(1) : undefined; // without the batch axis: [H, S, D], [S, H, D], [S, E] or [E, S]
}

/** Whether the heads are packed in one axis. Then only an option can say how many heads there are. */
export function packsHeads(layout: Layout, rank: number): boolean {
  return axesOf(layout, rank)?.includes("width") ?? false;
}

/**
 * The name of the axis that holds an extent, for messages: `key.shape[1]`. If heads are packed, the axis of the width.
 */
export function axisName(argument: string, layout: Layout, rank: number, extent: keyof HeadsShape): string {
  const axes = axesOf(layout, rank)!;
  return `${argument}.shape[${axes.indexOf(axes.includes(extent) ? extent : "width")}]`;
}

/**
 * Reads the extents of a tensor of heads.
 *
 * @param numHeads - The value of the option; it must be given if heads are packed.
 * @param option - The name of that option.
 * @throws ShapeError if the rank or an extent is wrong; OptionError if heads are packed and numHeads is absent.
 */
export function headsShape(
  operation: string,
  argument: string,
  shape: readonly number[],
  layout: Layout,
  numHeads: number | undefined,
  option: string,
): HeadsShape {
  const axes = axesOf(layout, shape.length);
  if (!axes)
    throw new ShapeError(
      `${operation}: ${argument} must have rank ${ranksOf(layout)} in layout "${layout}", got shape ${describe(shape)}`,
    );
  const extent = (axis: Axis) => (axes.includes(axis) ? shape[axes.indexOf(axis)] : undefined);
  const place = (name: keyof HeadsShape) => axisName(argument, layout, shape.length, name);

  const heads = axes.includes("width") ? packedHeads(operation, layout, numHeads, option) : (extent("numHeads") ?? 1);
  if (numHeads !== undefined && numHeads !== heads)
    throw new ShapeError(
      `${operation}: ${option} must be the number of heads of ${argument}, got ${numHeads} and ${heads}`,
    );
  const width = extent("width");
  if (width !== undefined && width % heads !== 0)
    throw new ShapeError(`${operation}: ${option} must divide ${place("headDim")}, got ${heads} and ${width}`);
  const headDim = width === undefined ? extent("headDim")! : width / heads;
  if (headDim < 1) throw new ShapeError(`${operation}: ${place("headDim")} (headDim) must be at least 1, got 0`);

  const batchSize = extent("batchSize") ?? 1;
  assertBatch(operation, () => `${place("batchSize")} (batchSize)`, batchSize, shape);
  return { batchSize, numHeads: heads, length: extent("length")!, headDim };
}

/** A larger batch must have a number for each of its members: what a call costs follows the caller's data. */
const MOST_EMPTY_BATCH = 2 ** 17;

/** Throws if a batch is huge and empty. */
export function assertBatch(operation: string, name: () => string, batchSize: number, shape: readonly number[]): void {
  if (batchSize > MOST_EMPTY_BATCH && shape.includes(0))
    throw new ShapeError(
      `${operation}: ${name()} of an empty tensor must be at most ${MOST_EMPTY_BATCH}, got ${batchSize}`,
    );
}

function packedHeads(operation: string, layout: Layout, numHeads: number | undefined, option: string): number {
  if (numHeads !== undefined) return numHeads;
  throw new OptionError(`${operation}: ${option} must be given with layout "${layout}", which packs the heads`);
}

/** The ranks of a layout in words: "2, 3 or 4". */
const ranksOf = ({ length }: Layout): string => (length === 4 ? "2, 3 or 4" : "2 or 3");

/** The shape of a tensor of heads that has the given rank. */
export function shapeOf(layout: Layout, rank: number, heads: HeadsShape): number[] {
  return axesOf(layout, rank)!.map((axis) => (axis === "width" ? heads.numHeads * heads.headDim : heads[axis]));
}

/** Removes the axes that the inputs do not have from the shape of a result `[B, H, …]`. */
export function keepRank(layout: Layout, rank: number, shape: readonly number[]): number[] {
  if (rank === 2) return shape.slice(2);
  return axesOf(layout, rank)!.includes("batchSize") ? [...shape] : shape.slice(1);
}
