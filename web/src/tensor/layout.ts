import { OptionError, ShapeError } from "../errors/errors.js";
import { describe } from "../foreign/describe.js";

/**
 * Memory order of query, key, value and output: batch, head, sequence, head dim. `"BSE"` has the heads packed in its
 * last axis (E = H·D), `"BES"` has one column for each position.
 */
export type Layout = "BHSD" | "BSHD" | "BSE" | "BES";

/** The extents of one tensor of heads. */
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

export const LAYOUTS = Object.keys(AXES) as Layout[];

/** What the axes of a tensor of this rank mean; undefined for a rank that the layout does not have. */
export function axesOf(layout: Layout, rank: number): readonly Axis[] | undefined {
  const axes = AXES[layout];
  // one head of one batch
  if (rank === 2) return layout === "BES" ? ["headDim", "length"] : ["length", "headDim"];
  if (rank === axes.length) return axes;
  return rank === 3 ? axes.slice(1) : undefined; // no batch axis: [H, S, D], [S, H, D]
}

/** Whether the heads are packed into one axis, so that only an option tells how many there are. */
export function packsHeads(layout: Layout, rank: number): boolean {
  return axesOf(layout, rank)?.includes("width") ?? false;
}

/** The axis that holds an extent, for messages: `key.shape[1]`; where heads are packed, that of the width. */
export function axisName(argument: string, layout: Layout, rank: number, extent: keyof HeadsShape): string {
  const axes = axesOf(layout, rank)!;
  return `${argument}.shape[${axes.indexOf(axes.includes(extent) ? extent : "width")}]`;
}

/**
 * Reads the extents of a tensor of heads.
 *
 * @param numHeads - The option that says so, needed where heads are packed; `option` is its name.
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
      `${operation}: ${argument} must have rank ${layout.length} or fewer down to 2 in layout "${layout}", ` +
        `got shape ${describe(shape)}`,
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

  return { batchSize: extent("batchSize") ?? 1, numHeads: heads, length: extent("length")!, headDim };
}

function packedHeads(operation: string, layout: Layout, numHeads: number | undefined, option: string): number {
  if (numHeads !== undefined) return numHeads;
  throw new OptionError(`${operation}: ${option} must be given with layout "${layout}", which packs the heads`);
}

/** The shape of a tensor of heads, of the given rank. */
export function shapeOf(layout: Layout, rank: number, heads: HeadsShape): number[] {
  const extents: Readonly<Record<Axis, number>> = { ...heads, width: heads.numHeads * heads.headDim };
  return axesOf(layout, rank)!.map((axis) => extents[axis]);
}

/**
 * Drops from a result `[B, H, …]` the axes that the inputs did not have: results keep the rank of the inputs.
 */
export function keepRank(layout: Layout, rank: number, shape: readonly number[]): number[] {
  if (rank === 2) return shape.slice(2);
  return axesOf(layout, rank)!.includes("batchSize") ? [...shape] : shape.slice(1);
}
