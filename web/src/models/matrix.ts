import type { EngineTensor } from "../engine/engineTensor.js";
import { UnsupportedError } from "../errors/errors.js";
import { describe } from "../foreign/describe.js";
import type { Attention } from "../instance/attention.js";
import { toInt8 } from "../linear/int8.js";
import type { Int8Weight, WeightLayout } from "../linear/weight.js";
import type { GpuFloats } from "../tensor/gpuTensor.js";
import { fromHalf } from "../tensor/half.js";
import type { Floats } from "../tensor/plainTensor.js";
import type { Tensor, TypedTensor } from "../tensor/tensor.js";
import { converted, newData, widened, type WeightData, type WeightDtype } from "./storedNumbers.js";
import type { FileTensor, Piece } from "./tensorFiles.js";

/** A matrix in JavaScript, or in the engine's memory where JavaScript sees it. */
export interface Matrix {
  /** An int8 matrix has one scale for each output. */
  readonly tensor: TypedTensor<WeightDtype> & { readonly scales?: Float32Array };
  readonly bytes: number;
  dispose(): void;
}

/** A weight as `linear` takes it: also int8, with `scales`. */
type LinearWeight = Tensor<"float32" | "float16"> | GpuFloats | Int8Weight;

/** A matrix where `linear` of the engine reads it without a copy, if the engine has such a place. */
export interface Placed {
  readonly tensor: LinearWeight;
  readonly bytes: number;
  dispose(): void;
}

/** Numbers of rows of a table, of any shape. */
export interface RowNumbers {
  readonly data: Int32Array;
  readonly shape: readonly number[];
}

/** A matrix of zeros, to be filled: in the engine's memory, or in JavaScript if JavaScript cannot see that memory. */
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

/** Fills rows of a matrix with numbers of a file. An int8 matrix that is stored "in-out" is filled at once. */
export function fillRows({ tensor }: Matrix, layout: WeightLayout, file: FileTensor, { bytes, at }: Piece): void {
  const { dtype, shape, scales } = tensor;
  const data = tensor.data as WeightData;
  if (dtype !== "int8") return data.set(converted(file.dtype, bytes, dtype), at);
  const floats = widened(file.dtype, bytes);
  const width = shape[1]!;
  const rows = toInt8(`loadModel: tensor ${describe(file.name)}`, floats, [floats.length / width, width], layout);
  data.set(rows.data, at);
  scales!.set(rows.scales, layout === "out-in" ? at / width : 0);
}

function allocated(hw: Attention, shape: readonly number[], dtype: WeightDtype): TypedTensor<WeightDtype> {
  try {
    return hw.allocate(shape, dtype);
  } catch (error) {
    if (!UnsupportedError.is(error)) throw error; // a worker without shared memory
    return { data: newData(dtype, shape), shape, dtype };
  }
}

/**
 * Brings a matrix to where `linear` reads it. On WebGPU that is a copy. Elsewhere the matrix stays where it is, also with
 * WebGPU in a worker, which takes no tensors on the GPU.
 */
export async function place(hw: Attention, matrix: Matrix): Promise<Placed> {
  if (hw.report.backend !== "webgpu" || !hw.device) return matrix as Placed;
  const { scales } = matrix.tensor;
  const tensor = await hw.upload(matrix.tensor);
  const factors = scales && (await hw.upload({ data: scales, shape: [scales.length] }));
  return {
    tensor: (factors ? Object.assign(tensor, { scales: factors }) : tensor) as LinearWeight,
    bytes: matrix.bytes,
    dispose: () => [tensor, factors].forEach((each) => each?.dispose()),
  };
}

/** Rows of a matrix as float32: `[…, width]` from numbers `[…]`. */
export function rowsOf({ data, shape, dtype, scales }: Matrix["tensor"], numbers: RowNumbers): Floats {
  const width = shape[1]!;
  const y = new Float32Array(numbers.data.length * width);
  numbers.data.forEach((row, n) => {
    const stored = (data as WeightData).subarray(row * width, (row + 1) * width);
    const scale = dtype === "int8" ? scales![row]! : 1;
    const floats = dtype === "float16" ? fromHalf(stored as Uint16Array) : stored;
    for (let i = 0; i < width; i++) y[n * width + i] = floats[i]! * scale;
  });
  return { data: y, shape: [...numbers.shape, width] };
}
