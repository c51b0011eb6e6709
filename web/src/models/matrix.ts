import { UnsupportedError } from "../errors/errors.js";
import type { EngineTensor } from "../engine/engineTensor.js";
import type { Attention } from "../instance/attention.js";
import type { GpuResult } from "../tensor/gpuTensor.js";
import { fromHalf } from "../tensor/half.js";
import type { TypedTensor } from "../tensor/tensor.js";
import type { Floats } from "../tensor/plainTensor.js";
import { newData, type WeightData, type WeightDtype } from "./storedNumbers.js";

/** A matrix in JavaScript, or in the engine's memory where JavaScript sees it. */
export interface Matrix {
  readonly tensor: TypedTensor<WeightDtype>;
  readonly bytes: number;
  dispose(): void;
}

/** A matrix where `linear` of the engine reads it without a copy, if the engine has such a place. */
export interface Placed {
  readonly tensor: TypedTensor<WeightDtype> | GpuResult<WeightDtype>;
  readonly bytes: number;
  dispose(): void;
}

/** Numbers of rows of a table, of any shape. */
export interface RowNumbers {
  readonly data: Int32Array;
  readonly shape: readonly number[];
}

/** A matrix of zeros, to be filled: in the engine's memory, or in JavaScript if JavaScript cannot see that memory. */
export function matrixOf(hw: Attention, shape: readonly number[], dtype: WeightDtype): Matrix {
  const tensor = allocated(hw, shape, dtype);
  return { tensor, bytes: tensor.data.byteLength, dispose: () => (tensor as Partial<EngineTensor>).dispose?.() };
}

function allocated(hw: Attention, shape: readonly number[], dtype: WeightDtype): TypedTensor<WeightDtype> {
  try {
    return hw.allocate(shape, dtype);
  } catch (error) {
    if (!UnsupportedError.is(error)) throw error; // a worker without shared memory
    return { data: newData(dtype, shape), shape, dtype };
  }
}

/** Brings a matrix to where `linear` reads it. On WebGPU it is copied; elsewhere it stays where it is. */
export async function place(hw: Attention, matrix: Matrix): Promise<Placed> {
  if (hw.report.backend !== "webgpu") return matrix;
  const tensor = await hw.upload(matrix.tensor);
  return { tensor, bytes: matrix.bytes, dispose: () => tensor.dispose() };
}

/** Rows of a matrix as float32: `[…, width]` from numbers `[…]`. */
export function rowsOf({ data, shape, dtype }: Matrix["tensor"], numbers: RowNumbers): Floats {
  const width = shape[1]!;
  const y = new Float32Array(numbers.data.length * width);
  numbers.data.forEach((row, n) => {
    const stored = (data as WeightData).subarray(row * width, (row + 1) * width);
    y.set(dtype === "float16" ? fromHalf(stored as Uint16Array) : stored, n * width);
  });
  return { data: y, shape: [...numbers.shape, width] };
}
