import type { LinearWeights } from "../../layer/layerWeights.js";
import type { CheckedFloats } from "../../tensor/tensor.js";
import { padded } from "../cache/cacheStore.js";
import type { Call, Span } from "../call/call.js";
import { FLAT_WORKGROUP, flatKernel } from "../plan/flatKernels.js";
import { checkBytes, divideUp } from "../plan/limits.js";
import { DEPTH, type Matrix, type Tile4 } from "./projection.js";
import { widen } from "../attention/widen.js";

/** How the numbers of a row are divided into heads. Each head is padded to whole vec4. */
export interface Heads {
  readonly count: number;
  readonly width: number;
}

/** One of the projections that a matrix holds side by side. */
export interface Part {
  readonly linear: LinearWeights;
  readonly inputs: Heads;
  readonly outputs: Heads;
  /** The gain of the heads' norm. Default 1. */
  readonly gain?: Float32Array | undefined;
  /** Pairs of features, this far apart, that become neighbours; 0 keeps the order. */
  readonly splitPairs: number;
}

/** A piece of a weight's array on the GPU: elements from `begin` to before `end`. */
export interface Piece {
  readonly span: Span;
  readonly begin: number;
  readonly end: number;
}

/** Uploads a weight's array as it lies, in pieces that a kernel can bind. */
export function uploadPieces(call: Call, data: CheckedFloats["data"], mostBytes: number): Piece[] {
  const array = data as Float32Array | Uint16Array;
  const most = 4 * Math.floor(mostBytes / (4 * array.BYTES_PER_ELEMENT));
  return Array.from({ length: divideUp(array.length, most) }, (_, n) => {
    const [begin, end] = [n * most, Math.min((n + 1) * most, array.length)];
    return { span: call.upload(array.subarray(begin, end)), begin, end };
  });
}

/** Columns of a matrix, in vec4: they begin with a whole tile. */
export interface Section {
  readonly matrix: Matrix;
  readonly first4: number;
  /** With the padding to whole tiles. */
  readonly columns4: number;
}

/** Places projections of inputs of one width side by side on the GPU. `keep` makes a buffer that outlives the call. */
export function placeMatrix(
  call: Call,
  keep: (bytes: number) => Span,
  upload: (part: Part) => readonly Piece[],
  parts: readonly Part[],
  tile4: Tile4,
): Section[] {
  const { inputs } = parts[0]!;
  const in4 = (inputs.count * padded(inputs.width)) / 4;
  const rows = matrixRows(inputs);
  const widths4 = parts.map(({ outputs }) => paddedColumns4(outputs, tile4));
  const firsts4 = widths4.map((_, n) => widths4.slice(0, n).reduce((sum, width) => sum + width, 0));
  const columns4 = widths4.reduce((sum, width) => sum + width, 0);
  const dtype = parts.every(({ linear }) => linear.weight.dtype === "float16") ? "float16" : "float32";
  const bytes = (dtype === "float16" ? 8 : 16) * rows * columns4;
  checkBytes(call.operation, "a weight", bytes, call.core.device.limits);
  const weight = keep(bytes);
  const columns = keep(2 * 16 * columns4);
  const values = new Float32Array(2 * 4 * columns4).fill(1, 4 * columns4);
  parts.forEach((part, n) => {
    for (const piece of upload(part))
      packWeight(call, piece, part, weight, dtype === "float16", rows, columns4, firsts4[n]!, widths4[n]!);
    fillColumns(call.operation, part, values, 4 * firsts4[n]!, 4 * columns4);
  });
  call.write(columns, 0, values);
  const matrix: Matrix = { weight, dtype, columns, in4, columns4, tile4 };
  return parts.map((_, n) => ({ matrix, first4: firsts4[n]!, columns4: widths4[n]! }));
}

/** Bytes of a part's columns in a matrix of float32. */
export function matrixBytes({ inputs, outputs }: Part, tile4: Tile4): number {
  return 16 * matrixRows(inputs) * paddedColumns4(outputs, tile4);
}

function matrixRows({ count, width }: Heads): number {
  return DEPTH * divideUp(count * padded(width), DEPTH);
}

/** vec4 of the columns of heads, padded to whole tiles. */
function paddedColumns4({ count, width }: Heads, tile4: Tile4): number {
  return tile4 * divideUp((count * padded(width)) / 4, tile4);
}

/** Writes a piece of a weight into its columns of the matrix. */
function packWeight(
  call: Call,
  { span, begin, end }: Piece,
  { linear, inputs, outputs, splitPairs }: Part,
  target: Span,
  toHalf: boolean,
  rows: number,
  matrix4: number,
  first4: number,
  columns4: number,
): void {
  const count = rows * columns4;
  const workgroups = divideUp(count, FLAT_WORKGROUP);
  const strides = [linear.offset, linear.inStride, linear.outStride];
  const sizes = [inputs, outputs].flatMap((heads) => [heads.count, heads.width, padded(heads.width)]);
  const halves = [Number(linear.weight.dtype === "float16"), Number(toHalf)];
  call.dispatch(flatKernel("pack_weight"), workgroups, {
    0: call.numbers(
      [...strides, ...sizes, splitPairs, matrix4, first4, columns4, count, begin, end, ...halves],
      workgroups,
    ),
    1: span,
    2: target,
  });
}

/** Fills in the bias and the gain of every column of a part. */
function fillColumns(
  operation: string,
  { linear: { bias }, outputs: { count, width }, gain, splitPairs }: Part,
  values: Float32Array,
  first: number,
  gains: number,
): void {
  const biases = bias && widen(operation, bias.tensor.data);
  for (let h = 0; h < count; ++h)
    for (let place = 0; place < width; ++place) {
      const feature = featureAt(place, splitPairs);
      const at = first + h * padded(width) + place;
      values[at] = biases ? biases[bias.offset + h * width + feature]! : 0;
      values[gains + at] = gain ? gain[feature]! : 1;
    }
}

/** The feature at a place of a head whose pairs were made neighbours. */
function featureAt(place: number, splitPairs: number): number {
  return place < 2 * splitPairs ? Math.floor(place / 2) + (place % 2) * splitPairs : place;
}
