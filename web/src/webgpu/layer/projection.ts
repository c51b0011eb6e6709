import type { WeightDtype } from "../../linear/weight.js";
import { ACTIVATIONS, type NumberMap } from "../../step/stepProblem.js";
import type { Call, Span } from "../call/call.js";
import type { Step } from "../plan/flatKernels.js";
import type { Kernel } from "../kernels/kernel.js";
import { divideUp } from "../plan/limits.js";

/** Widths of a tile of columns, in vec4. */
export type Tile4 = 16 | 32;

/** Weights on the GPU: [in, columns], padded to whole tiles, and for each column its bias and the gain of its norm. */
export interface Matrix {
  readonly weight: Span;
  readonly dtype: WeightDtype;
  /** Of int8: a number for each column, by which its sums are multiplied. */
  readonly scales: Span | undefined;
  /** [2, columns] */
  readonly columns: Span;
  /** vec4 of a row of the inputs, and of a row of the weights. */
  readonly in4: number;
  readonly columns4: number;
  readonly tile4: Tile4;
}

/** How heads of queries and keys are finished: columns before queryEnd4, and from keyFirst4 to keyEnd4. */
export interface Finish {
  readonly queryEnd4: number;
  readonly keyFirst4: number;
  readonly keyEnd4: number;
  readonly head4: number;
  readonly headDim: number;
  readonly norm: "none" | "rms" | "l2";
  readonly epsilon: number;
  /** Pairs of features that turn. */
  readonly pairs: number;
  readonly interleaved: boolean;
  /** cos and sin of every row, and the row where those of the keys begin. */
  readonly angles: Span | undefined;
  readonly keyAngles: number;
}

/** The columns of a matrix that are computed, and where they go. */
export interface Product {
  readonly rows: number;
  /** Rows of one batch. */
  readonly length: number;
  readonly first4: number;
  readonly columns: number;
  /** Strides of the target, in elements. */
  readonly batch: number;
  readonly position: number;
  readonly feature: number;
}

/** What is done to the numbers of a product before they are stored: at most one of the two. */
export interface Ends {
  readonly finish?: Finish | undefined;
  /** It reads at most one tensor. */
  readonly map?: NumberMap | undefined;
}

/** Up to this many rows are computed by a kernel that reads each weight once. */
export const FEW_ROWS = 16;
/** Numbers of rows that a workgroup of that kernel can compute. */
const ROWS: Readonly<Record<Tile4, readonly number[]>> = { 16: [1, 8], 32: [1, 4] };
const ROWS_THREADS = 128;
const ROW_THREADS = 8;

/** The depth is split into parts of at least this many vec4, until there are enough workgroups. */
const LEAST_PART4 = 64;
const ENOUGH_WORKGROUPS = 256;
const ENOUGH_TILES = 128;

/** Rows of a matrix are padded to a multiple of this: the depth of a tile. */
export const DEPTH = 16;

/** The tile of many rows, with a matrix of narrow tiles. */
export const PROJECT_TILE = { rows: 8 * ROW_THREADS, columns: 64, depth: DEPTH, threads: 8 * ROW_THREADS } as const;

/** The norms of heads, as the kernels know them. */
export const NORMS = { none: 0, rms: 1, l2: 2 } as const;
const F32_BITS = new DataView(new ArrayBuffer(4));

export interface ProjectionPlan {
  readonly product: Step;
  /** The kernel that adds the parts of the depth. */
  readonly sum: Step | undefined;
  readonly columnTiles: number;
  readonly parts: number;
  /** vec4 of a part. */
  readonly part4: number;
}

/** The kernels of a projection. Only the shape decides. */
export function planProjection(
  { rows, columns }: Pick<Product, "rows" | "columns">,
  { in4, tile4, dtype }: Pick<Matrix, "in4" | "tile4" | "dtype">,
  { finishes = false, map }: { readonly finishes?: boolean; readonly map?: NumberMap | undefined } = {},
): ProjectionPlan {
  const columnTiles = divideUp(columns, 4 * tile4);
  const few = rows <= FEW_ROWS;
  const SCALED = dtype === "int8";
  const together = few ? rowsTogether(rows, tile4) : PROJECT_TILE.rows;
  const tiles = divideUp(rows, together) * columnTiles;
  const { parts, part4 } = splitDepth(in4, divideUp(few ? ENOUGH_WORKGROUPS : ENOUGH_TILES, tiles));
  const mapped = map && { HEADS: false, SCALED, ...mapConstants(map) };
  const ends = (parts === 1 && mapped) || { HEADS: few || finishes, SCALED };
  const product: Kernel = few
    ? {
        name: "project_rows",
        weight: dtype,
        constants: { LANES: tile4, SLICES: ROWS_THREADS / tile4, ROWS: together, ...ends },
      }
    : { name: "project", weight: dtype, constants: { ROW_THREADS, COLUMN_THREADS: tile4 / 2, ...ends } };
  const most = ROWS[tile4].at(-1)!;
  const sum: Kernel = {
    name: "project_sum",
    constants: { LANES: tile4, ROWS: most, ...(mapped ?? { HEADS: true, SCALED }) },
  };
  return {
    product: { kernel: product, workgroups: tiles * parts },
    sum: parts > 1 ? { kernel: sum, workgroups: divideUp(rows, most) * columnTiles } : undefined,
    columnTiles,
    parts,
    part4,
  };
}

/** Number of rows that a workgroup of the kernel of few rows computes. */
function rowsTogether(rows: number, tile4: Tile4): number {
  return ROWS[tile4].find((count) => count >= rows) ?? ROWS[tile4].at(-1)!;
}

/** At most `wanted` parts of whole tiles of the depth. */
function splitDepth(in4: number, wanted: number): { readonly parts: number; readonly part4: number } {
  const most = Math.max(Math.min(Math.floor(in4 / LEAST_PART4), wanted), 1);
  const part4 = (DEPTH / 4) * divideUp(divideUp(in4, most), DEPTH / 4);
  return { parts: divideUp(in4, part4), part4 };
}

/** Projects rows of whole vec4, [rows, in4]. */
export function project(
  call: Call,
  x: Span,
  matrix: Matrix,
  product: Product,
  target: Span,
  { finish, map }: Ends = {},
): void {
  const { rows, length, first4, columns, batch, position, feature } = product;
  const plan = planProjection(product, matrix, { finishes: finish !== undefined, map });
  const { columnTiles, parts, part4 } = plan;
  const sizes = [rows, length, matrix.in4, matrix.columns4, first4, columnTiles, columns, batch, position, feature];
  const numbers = [...sizes, parts, part4, ...finishNumbers(finish), ...mapNumbers(map)];
  const partSums = plan.sum && call.room(16 * parts * rows * columnTiles * matrix.tile4);
  const other = otherRows(map);
  const given = {
    1: x,
    2: matrix.weight,
    3: matrix.columns,
    ...(finish?.angles && { 4: finish.angles }),
    5: target,
    ...(partSums && { 6: partSums }),
    ...(matrix.scales && { 7: matrix.scales }),
    ...(other && { 8: call.place(other.tensor) }),
  };
  const numbersOf = (first: number, count: number) => call.numbers([...numbers, first], count);
  const { product: step, sum } = plan;
  if (step.kernel.name === "project")
    call.dispatchLong(step.kernel, step.workgroups, rows * 4 * matrix.in4 * columns, numbersOf, given);
  else call.dispatch(step.kernel, step.workgroups, { 0: numbersOf(0, step.workgroups), ...given });
  if (sum) call.dispatch(sum.kernel, sum.workgroups, { 0: numbersOf(0, sum.workgroups), ...given });
}

/** The constants of kernels that apply a map. */
export function mapConstants({ f, times, plus }: NumberMap) {
  return { FUNCTION: f ? ACTIVATIONS.indexOf(f) + 1 : 0, TIMES: times !== undefined, PLUS: plus !== undefined };
}

const otherRows = (map: NumberMap | undefined) => map?.times ?? map?.plus;

function mapNumbers(map: NumberMap | undefined): number[] {
  if (!map) return [0, 0, 0, 0];
  const { offset = 0, stride = 0 } = otherRows(map) ?? {};
  return [floatBits(map.divisor), floatBits(map.scale), offset, stride];
}

function finishNumbers(finish: Finish | undefined): number[] {
  if (!finish) return new Array<number>(10).fill(0);
  const { queryEnd4, keyFirst4, keyEnd4, head4, headDim, norm, epsilon, pairs, interleaved, keyAngles } = finish;
  return [
    queryEnd4,
    keyFirst4,
    keyEnd4,
    head4,
    headDim,
    NORMS[norm],
    floatBits(epsilon),
    pairs,
    Number(interleaved),
    keyAngles,
  ];
}

/** A float32 as bits. */
export function floatBits(value: number): number {
  F32_BITS.setFloat32(0, value);
  return F32_BITS.getUint32(0);
}
