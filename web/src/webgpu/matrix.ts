import type { LinearWeights } from "../layer/layerWeights.js";
import { padded } from "./cacheStore.js";
import type { Call, Span } from "./call.js";
import { FLAT_WORKGROUP, flatKernel } from "./flatKernels.js";
import { checkBytes, divideUp } from "./limits.js";
import { DEPTH, type Matrix, type Tile4 } from "./projection.js";
import { widen } from "./widen.js";

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
  upload: (part: Part) => Span,
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
    packWeight(call, upload(part), part, weight, dtype === "float16", rows, columns4, firsts4[n]!, widths4[n]!);
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

/** Writes a weight, as the caller gave it, into its columns of the matrix. */
function packWeight(
  call: Call,
  source: Span,
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
  const kernel = flatKernel("pack_weight", { HALF: linear.weight.dtype === "float16", TO_HALF: toHalf });
  call.dispatch(kernel, workgroups, {
    0: call.numbers([...strides, ...sizes, splitPairs, matrix4, first4, columns4, count], workgroups),
    1: source,
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
