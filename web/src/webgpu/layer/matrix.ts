import type { LinearWeights } from "../../layer/layerWeights.js";
import type { WeightDtype, WeightTensor } from "../../linear/weight.js";
import { BYTES, type PlacedTensor, type PlacedWeights } from "../../tensor/tensor.js";
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

/** A row that is not divided. */
export function one(width: number): Heads {
  return { count: 1, width };
}

/** A weight [in, out], wherever it lies: element (i, o) is at offset + i · inStride + o · outStride. */
export interface PlacedWeight extends Pick<LinearWeights, "offset" | "inStride" | "outStride"> {
  readonly weight: WeightTensor;
  /** Of a weight of int8: one for each output, or for each input if `scaled` is "inputs". */
  readonly scales?: PlacedTensor<"float32"> | undefined;
  readonly scaled?: "inputs" | "outputs";
  readonly bias?: LinearWeights["bias"];
}

/** The weight [out, in]. */
export function transposed({ weight, scales, scaled, offset, inStride, outStride }: PlacedWeight): PlacedWeight {
  const other = scaled === "inputs" ? "outputs" : "inputs";
  return { weight, scales, scaled: other, offset, inStride: outStride, outStride: inStride };
}

/** One of the projections that a matrix holds side by side. */
export interface Part {
  readonly linear: PlacedWeight;
  readonly inputs: Heads;
  readonly outputs: Heads;
  /** The gain of the heads' norm. Default 1. */
  readonly gain?: Float32Array | undefined;
  /** Pairs of features, this far apart, that become neighbours; 0 keeps the order. */
  readonly splitPairs: number;
  /** In which type the weight is kept. Default: that of the weight. Only an int8 weight can be kept in int8. */
  readonly dtype?: WeightDtype | undefined;
}

/** A piece of a weight's array on the GPU: elements from `begin` to before `end`. */
export interface Piece {
  readonly span: Span;
  readonly begin: number;
  readonly end: number;
}

/** A weight's numbers as they lie, on the GPU, in pieces that a kernel can bind. */
export function placePieces(call: Call, tensor: WeightTensor): Piece[] {
  if (tensor.gpu) {
    const { argument, byteLength } = tensor.gpu;
    checkBytes(call.operation, argument, byteLength, call.core.device.limits);
    return [{ span: call.place(tensor), begin: 0, end: byteLength / BYTES[tensor.dtype] }];
  }
  const array = tensor.data as Float32Array | Uint16Array | Int8Array;
  const most = 4 * Math.floor(mostBytes(call) / (4 * array.BYTES_PER_ELEMENT));
  return Array.from({ length: divideUp(array.length, most) }, (_, n) => {
    const [begin, end] = [n * most, Math.min((n + 1) * most, array.length)];
    return { span: call.upload(array.subarray(begin, end)), begin, end };
  });
}

/** The largest array that a kernel can bind. */
export function mostBytes({ core }: Call): number {
  const { maxStorageBufferBindingSize, maxBufferSize } = core.device.limits;
  return Math.min(maxStorageBufferBindingSize, maxBufferSize);
}

/** The place of a part in a matrix, in vec4. */
export interface Section {
  readonly matrix: Matrix;
  /** The first vec4. Side by side, parts begin with a whole tile of columns; one below the other, with a row. */
  readonly first4: number;
  /** With the padding to whole tiles. */
  readonly columns4: number;
  readonly rows: number;
}

/** Places projections of inputs of one width side by side on the GPU. `keep` makes a buffer for the matrix. */
export function placeMatrix(
  call: Call,
  keep: (bytes: number) => Span,
  upload: (part: Part) => readonly Piece[],
  parts: readonly Part[],
  tile4: Tile4,
): Section[] {
  const rows = rowsOf(parts[0]!.inputs);
  const widths4 = parts.map(({ outputs }) => paddedColumns4(outputs, tile4));
  const matrix = emptyMatrix(call, keep, parts, rows, sumOf(widths4), tile4);
  const sections = parts.map((_, n) => ({
    matrix,
    first4: sumOf(widths4.slice(0, n)),
    columns4: widths4[n]!,
    rows: matrixRows(rows),
  }));
  fillMatrix(call, upload, parts, sections);
  return sections;
}

/**
 * The same the other way round: a matrix from the outputs of projections, one projection after the other, to their
 * common input. The parts are those of the projections.
 */
export function placeBack(
  call: Call,
  keep: (bytes: number) => Span,
  upload: (part: Part) => readonly Piece[],
  projections: readonly Part[],
): Section[] {
  const parts = projections.map(backOf);
  const rows = parts.map(({ inputs }) => rowsOf(inputs));
  const columns4 = paddedColumns4(parts[0]!.outputs, 16);
  const matrix = emptyMatrix(call, keep, parts, sumOf(rows), columns4, 16);
  const sections = parts.map((_, n) => ({
    matrix,
    first4: sumOf(rows.slice(0, n)) * columns4,
    columns4,
    rows: rows[n]!,
  }));
  fillMatrix(call, upload, parts, sections);
  return sections;
}

/**
 * A projection from its outputs to its inputs. The scales then belong to what is summed, and cannot be applied to the sums.
 * So int8 becomes float32.
 */
export function backOf({ linear, inputs, outputs, dtype = linear.weight.dtype }: Part): Part {
  const floats = dtype === "int8" ? "float32" : dtype;
  return { linear: transposed(linear), inputs: outputs, outputs: inputs, splitPairs: 0, dtype: floats };
}

/** The part of a matrix that holds some sections, one below the other. */
export function stacked(sections: readonly Section[]): Matrix {
  const { matrix, first4 } = sections[0]!;
  const { buffer, offset, bytes } = matrix.weight;
  const skipped = first4 * VEC4_BYTES[matrix.dtype];
  const weight = { buffer, offset: offset + skipped, bytes: bytes - skipped };
  return { ...matrix, weight, in4: sumOf(sections.map(({ rows }) => rows)) / 4 };
}

function emptyMatrix(
  call: Call,
  keep: (bytes: number) => Span,
  parts: readonly Part[],
  rows: number,
  columns4: number,
  tile4: Tile4,
): Matrix {
  const dtypes = new Set(parts.map(({ linear, dtype }) => dtype ?? linear.weight.dtype));
  const [dtype] = dtypes.size === 1 ? ([...dtypes] as [WeightDtype]) : ["float32" as const];
  const bytes = VEC4_BYTES[dtype] * matrixRows(rows) * columns4;
  checkBytes(call.operation, "a weight", bytes, call.core.device.limits);
  const scales = dtype === "int8" ? keep(16 * columns4) : undefined;
  return { weight: keep(bytes), dtype, scales, columns: keep(2 * 16 * columns4), in4: rows / 4, columns4, tile4 };
}

/** Bytes of four numbers of a matrix. */
const VEC4_BYTES = { float32: 16, float16: 8, bfloat16: 8, int8: 4 } as const;

/** Writes the weights, scales, biases and gains of all parts of a matrix. */
export function fillMatrix(
  call: Call,
  upload: (part: Part) => readonly Piece[],
  parts: readonly Part[],
  sections: readonly Section[],
): void {
  const { matrix } = sections[0]!;
  const { weight, columns, columns4 } = matrix;
  const values = new Float32Array(2 * 4 * columns4).fill(1, 4 * columns4);
  call.clear(weight);
  if (matrix.scales) call.clear(matrix.scales);
  parts.forEach((part, n) => {
    const section = sections[n]!;
    const { scales } = part.linear;
    if (scales && matrix.scales) packRow(call, scales, part, { ...matrix, weight: matrix.scales }, section.first4);
    const factors = scales && !matrix.scales ? call.place(scales) : undefined;
    for (const piece of upload(part)) packWeight(call, piece, part, matrix, section, factors);
    if (part.linear.bias ?? part.gain) fillColumns(call.operation, part, values, 4 * section.first4, 4 * columns4);
  });
  call.write(columns, 0, values);
}

/** Writes a bias that lies on the GPU into columns whose biases are zero. */
export function addBias(
  call: Call,
  { columns, columns4 }: Pick<Matrix, "columns" | "columns4">,
  bias: PlacedWeights,
): void {
  packRow(call, bias, { outputs: one(bias.shape[0]!), splitPairs: 0 }, { weight: columns, columns4 }, 0);
}

/** Writes a number for each output of a part into a row of float32, which holds zeros. */
function packRow(
  call: Call,
  numbers: PlacedWeights,
  { outputs, splitPairs }: Pick<Part, "outputs" | "splitPairs">,
  { weight, columns4 }: Pick<Matrix, "weight" | "columns4">,
  first4: number,
): void {
  const linear: PlacedWeight = { weight: numbers, offset: 0, inStride: 0, outStride: 1 };
  const row: Part = { linear, inputs: one(1), outputs, splitPairs };
  const width4 = divideUp(outputs.count * padded(outputs.width), 4);
  for (const piece of placePieces(call, numbers))
    packWeight(call, piece, row, { weight, dtype: "float32", columns4 }, { first4, columns4: width4, rows: 1 });
}

/** Bytes of a part's columns in a matrix of float32. */
export function matrixBytes({ inputs, outputs }: Part, tile4: Tile4): number {
  return 16 * matrixRows(rowsOf(inputs)) * paddedColumns4(outputs, tile4);
}

/** Rows of a weight of these inputs, without the padding to whole tiles. */
function rowsOf({ count, width }: Heads): number {
  return count * padded(width);
}

/** The same with the padding to whole tiles of the depth. */
function matrixRows(rows: number): number {
  return DEPTH * divideUp(rows, DEPTH);
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0);
}

/** vec4 of the columns of heads, padded to whole tiles. */
function paddedColumns4({ count, width }: Heads, tile4: Tile4): number {
  return tile4 * divideUp((count * padded(width)) / 4, tile4);
}

/** Writes a piece of a weight into its place in the matrix, which holds zeros there. */
function packWeight(
  call: Call,
  { span, begin, end }: Piece,
  { linear, inputs, outputs, splitPairs }: Part,
  { weight, dtype, columns4: matrix4 }: Pick<Matrix, "weight" | "dtype" | "columns4">,
  { first4, columns4, rows }: Omit<Section, "matrix">,
  scales?: Span,
): void {
  const count = rows * columns4;
  const workgroups = divideUp(count, FLAT_WORKGROUP);
  const strides = [linear.offset, linear.inStride, linear.outStride];
  const sizes = [inputs, outputs].flatMap((heads) => [heads.count, heads.width, padded(heads.width)]);
  const dtypes = [DTYPES[linear.weight.dtype], DTYPES[dtype], Number(linear.scaled === "inputs")];
  call.dispatch(flatKernel("pack_weight"), workgroups, {
    0: call.numbers(
      [...strides, ...sizes, splitPairs, matrix4, first4, columns4, count, begin, end, ...dtypes],
      workgroups,
    ),
    1: span,
    2: weight,
    ...(scales && { 3: scales }),
  });
}

/** The dtypes of weights, as pack_weight knows them. */
const DTYPES = { float32: 0, float16: 1, int8: 2, bfloat16: 3 } as const;

/** Fills in the bias and the gain of every column of a part. */
function fillColumns(
  operation: string,
  { linear: { bias }, outputs: { count, width }, gain, splitPairs }: Part,
  values: Float32Array,
  first: number,
  gains: number,
): void {
  const biases = bias && widen(operation, bias.tensor);
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
