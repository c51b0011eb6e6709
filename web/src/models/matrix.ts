import { describe } from "../base/describe.js";
import { UnsupportedError } from "../base/errors.js";
import type { EngineTensor } from "../engine/engineTensor.js";
import type { Attention } from "../instance/attention.js";
import { toInt8 } from "../linear/int8.js";
import type { UploadedWeight } from "../linear/uploadedWeight.js";
import {
  PANEL_WIDTH,
  type Int8Weight,
  type LinearLayout,
  type WeightDtype,
  type WeightLayout,
} from "../linear/weight.js";
import { numbersOf } from "../tensor/half.js";
import type { Floats } from "../tensor/plainTensor.js";
import type { FloatTensor, TypedTensor } from "../tensor/tensor.js";
import { columnOf, fillColumns, fillPanelRows } from "./panels.js";
import { keepsPanels } from "./partBytes.js";
import { widened } from "../train/storedFloats.js";
import { converted, newData, type WeightData } from "./storedNumbers.js";
import type { FileTensor, Piece } from "./tensorFiles.js";

/** A matrix in JavaScript, or in the engine's memory where JavaScript sees it. */
export interface Matrix {
  /** An int8 matrix has one scale for each output. */
  readonly tensor: TypedTensor<WeightDtype> & { readonly scales?: Float32Array };
  readonly bytes: number;
  dispose(): void;
}

/** A matrix where `linear` of the engine reads it without a copy, if the engine has such a place. */
export interface Placed {
  readonly tensor: FloatTensor | TypedTensor<"bfloat16"> | Int8Weight | UploadedWeight;
  readonly bytes: number;
  dispose(): void;
}

/** Numbers of rows of a table, of any shape. */
export interface RowNumbers {
  readonly data: Int32Array;
  readonly shape: readonly number[];
}

/** A matrix of the files that is to be kept. */
export interface NewMatrix {
  /** As the files have it. */
  readonly shape: readonly [number, number];
  readonly stored: WeightLayout;
  readonly dtype: WeightDtype;
  /** How it is kept. */
  readonly layout: LinearLayout;
}

const outputsOf = ({ shape, stored }: NewMatrix) => shape[stored === "out-in" ? 0 : 1];
const inputsOf = ({ shape, stored }: NewMatrix) => shape[stored === "out-in" ? 1 : 0];

/** A matrix that is to be filled: in the engine's memory, or in JavaScript if JavaScript cannot see that memory. */
export function matrixOf(hw: Attention, wanted: NewMatrix): Matrix {
  const { dtype } = wanted;
  const tensor = allocated(hw, keptShape(wanted), dtype);
  const bytes = tensor.data.byteLength;
  const dispose = () => (tensor as Partial<EngineTensor>).dispose?.();
  if (dtype !== "int8") return { tensor, bytes, dispose };
  const scales = new Float32Array(outputsOf(wanted));
  return { tensor: Object.assign(tensor, { scales }), bytes: bytes + scales.byteLength, dispose };
}

function keptShape(wanted: NewMatrix): readonly number[] {
  const [outputs, inputs] = [outputsOf(wanted), inputsOf(wanted)];
  if (wanted.layout === "panels") return [Math.ceil(outputs / PANEL_WIDTH), inputs, PANEL_WIDTH];
  return wanted.layout === "out-in" ? [outputs, inputs] : [inputs, outputs];
}

/**
 * How a matrix is kept. WebAssembly reads panels at the speed of the memory, and multiplies int8 faster if the weights of an
 * output lie together.
 */
export function keptLayout(hw: Attention, dtype: WeightDtype, stored: WeightLayout): LinearLayout {
  if (!keepsPanels(hw)) return stored;
  return dtype === "int8" ? "out-in" : "panels";
}

/** Numbers that stand for no bias: panels that are not full need them. */
export function noBiasOf(wanted: NewMatrix): Floats | undefined {
  const outputs = outputsOf(wanted);
  if (wanted.layout !== "panels" || outputs % PANEL_WIDTH === 0) return undefined;
  return { data: new Float32Array(outputs), shape: [outputs] };
}

/** Fills rows of a matrix with numbers of a file. An int8 matrix that is stored "in-out" is filled at once. */
export function fillRows({ tensor }: Matrix, wanted: NewMatrix, file: FileTensor, { bytes, at }: Piece): void {
  const { stored, layout, shape, dtype } = wanted;
  const data = tensor.data as WeightData;
  if (layout === "panels" && dtype !== "int8") {
    const rows = { data: converted(file.dtype, bytes, dtype), first: at / shape[1], of: wanted };
    return stored === "out-in" ? fillColumns(data, rows) : fillPanelRows(data, rows);
  }
  if (dtype !== "int8") return data.set(converted(file.dtype, bytes, dtype), at);
  const floats = widened(file.dtype, bytes);
  const width = shape[1];
  const rows = toInt8(`loadModel: tensor ${describe(file.name)}`, floats, [floats.length / width, width], stored);
  data.set(layout === stored ? rows.data : transposed(rows.data, width), at);
  tensor.scales!.set(rows.scales, stored === "out-in" ? at / width : 0);
}

/** Columns as rows. */
function transposed(data: Int8Array, width: number): Int8Array {
  const columns = new Int8Array(data.length);
  const height = data.length / width;
  for (let row = 0; row < height; row++)
    for (let column = 0; column < width; column++) columns[column * height + row] = data[row * width + column]!;
  return columns;
}

function allocated(hw: Attention, shape: readonly number[], dtype: WeightDtype): TypedTensor<WeightDtype> {
  try {
    return hw.allocate(shape, dtype, { zeros: false });
  } catch (error) {
    if (!UnsupportedError.is(error)) throw error; // a worker without shared memory
    return { data: newData(dtype, shape), shape, dtype };
  }
}

/**
 * Puts a matrix where `linear` reads it. On WebGPU that is a copy in the order in which the kernels read it. Otherwise the
 * matrix stays where it is, also with WebGPU in a worker, which takes no tensors on the GPU.
 */
export async function place(hw: Attention, matrix: Matrix, weightLayout: LinearLayout): Promise<Placed> {
  if (hw.report.backend !== "webgpu" || !hw.gpu?.device || weightLayout === "panels") return matrix as Placed;
  const tensor = await hw.gpu.uploadWeight(matrix.tensor as Int8Weight, { weightLayout });
  return { tensor, bytes: tensor.bytes, dispose: () => tensor.dispose() };
}

/** Rows of a table as float32: `[…, width]` from numbers `[…]`. Each row has the weights of an output. */
export function rowsOf(table: Matrix["tensor"], numbers: RowNumbers): Floats {
  const { shape, dtype, scales } = table;
  const width = shape[1]!;
  const y = new Float32Array(numbers.data.length * width);
  numbers.data.forEach((row, n) => {
    const floats = numbersOf<ArrayLike<number>>(rowOf(table, row), dtype);
    const scale = dtype === "int8" ? scales![row]! : 1;
    for (let i = 0; i < width; i++) y[n * width + i] = floats[i]! * scale;
  });
  return { data: y, shape: [...numbers.shape, width] };
}

/** A row of a table, which may be in panels. */
function rowOf({ data, shape }: Matrix["tensor"], row: number): WeightData {
  const width = shape[1]!;
  const numbers = data as WeightData;
  return shape.length === 2 ? numbers.subarray(row * width, (row + 1) * width) : columnOf(numbers, row, width);
}
