import { describe } from "../base/describe.js";
import { UnsupportedError } from "../base/errors.js";
import type { EngineTensor } from "../engine/engineTensor.js";
import type { Attention } from "../instance/attention.js";
import { toInt8 } from "../linear/int8.js";
import type { UploadedWeight } from "../linear/uploadedWeight.js";
import type { Int8Weight, WeightDtype, WeightLayout } from "../linear/weight.js";
import { numbersOf } from "../tensor/half.js";
import type { Floats } from "../tensor/plainTensor.js";
import type { FloatTensor, TypedTensor } from "../tensor/tensor.js";
import { converted, newData, widened, type WeightData } from "./storedNumbers.js";
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

/** A matrix that is to be filled: in the engine's memory, or in JavaScript if JavaScript cannot see that memory. */
export function matrixOf(
  hw: Attention,
  shape: readonly [number, number],
  dtype: WeightDtype,
  layout: WeightLayout,
): Matrix {
  const tensor = allocated(hw, shape, dtype);
  const bytes = tensor.data.byteLength;
  const dispose = () => (tensor as Partial<EngineTensor>).dispose?.();
  if (dtype !== "int8") return { tensor, bytes, dispose };
  const scales = new Float32Array(shape[layout === "out-in" ? 0 : 1]);
  return { tensor: Object.assign(tensor, { scales }), bytes: bytes + scales.byteLength, dispose };
}

/** How a matrix is kept. WebAssembly multiplies int8 faster if the weights of an output lie together. */
export function keptLayout(hw: Attention, dtype: WeightDtype, stored: WeightLayout): WeightLayout {
  return dtype === "int8" && hw.report.backend !== "webgpu" ? "out-in" : stored;
}

/**
 * Fills rows of a matrix with numbers of a file. An int8 matrix that is stored "in-out" is filled at once.
 *
 * @param layouts - How the file has the matrix, and how it is kept. They differ only for int8.
 */
export function fillRows(
  { tensor }: Matrix,
  { stored, layout }: { readonly stored: WeightLayout; readonly layout: WeightLayout },
  file: FileTensor,
  { bytes, at }: Piece,
): void {
  const data = tensor.data as WeightData;
  if (tensor.dtype !== "int8") return data.set(converted(file.dtype, bytes, tensor.dtype), at);
  const floats = widened(file.dtype, bytes);
  const width = file.shape[1]!;
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
export async function place(hw: Attention, matrix: Matrix, weightLayout: WeightLayout): Promise<Placed> {
  if (hw.report.backend !== "webgpu" || !hw.gpu?.device) return matrix as Placed;
  const tensor = await hw.gpu.uploadWeight(matrix.tensor as Int8Weight, { weightLayout });
  return { tensor, bytes: tensor.bytes, dispose: () => tensor.dispose() };
}

/** Rows of a matrix as float32: `[…, width]` from numbers `[…]`. */
export function rowsOf({ data, shape, dtype, scales }: Matrix["tensor"], numbers: RowNumbers): Floats {
  const width = shape[1]!;
  const y = new Float32Array(numbers.data.length * width);
  numbers.data.forEach((row, n) => {
    const stored = (data as WeightData).subarray(row * width, (row + 1) * width);
    const scale = dtype === "int8" ? scales![row]! : 1;
    const floats = numbersOf<ArrayLike<number>>(stored, dtype);
    for (let i = 0; i < width; i++) y[n * width + i] = floats[i]! * scale;
  });
  return { data: y, shape: [...numbers.shape, width] };
}
