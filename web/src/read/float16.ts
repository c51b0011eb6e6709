import { arrayKind, isArray, placeOf } from "../base/typedArray.js";
import { toBfloat, toHalf, numbersOf } from "../tensor/half.js";
import { WEIGHT_FLOATS, type HalfArray, type Tensor, type TypedTensor, type WeightFloat } from "../tensor/tensor.js";
import { CallArguments } from "./callArguments.js";

/** A tensor that can be converted. */
type Convertible = Tensor<"float32" | "float16"> | TypedTensor<"bfloat16">;

/**
 * Converts numbers to float16 (IEEE 754 binary16). Rounds to the nearest; ties go to the even one. Numbers of size
 * 65,520 or more become infinite. An array gives the 16-bit patterns in a Uint16Array; a tensor gives a tensor of the
 * same shape. The result is always a copy.
 *
 *     toFloat16([1, 0.5])                            // Uint16Array [0x3c00, 0x3800]
 *     toFloat16(tensor([[1, 0.5]]))                  // float16 [1, 2]
 *
 * @throws OptionError if `values` is neither an array nor a tensor of float32, float16 or bfloat16.
 * @throws ShapeError if a tensor's shape does not fit its data.
 */
export function toFloat16(values: Float32Array | readonly number[]): Uint16Array;
export function toFloat16(values: Convertible): TypedTensor<"float16">;
export function toFloat16(values: unknown): Uint16Array | TypedTensor<"float16"> {
  return converted("toFloat16", values, "float16") as Uint16Array | TypedTensor<"float16">;
}

/**
 * Converts numbers to bfloat16, the dtype of weights that is the upper half of a float32. Rounds to the nearest; ties go to
 * the even one. An array gives the 16-bit patterns in a Uint16Array; a tensor gives a tensor of the same shape. The result
 * is always a copy.
 *
 *     toBfloat16([1, 0.5])                           // Uint16Array [0x3f80, 0x3f00]
 *     toBfloat16(tensor([[1, 0.5]]))                 // bfloat16 [1, 2]
 *
 * @throws OptionError if `values` is neither an array nor a tensor of float32, float16 or bfloat16.
 * @throws ShapeError if a tensor's shape does not fit its data.
 */
export function toBfloat16(values: Float32Array | readonly number[]): Uint16Array;
export function toBfloat16(values: Convertible): TypedTensor<"bfloat16">;
export function toBfloat16(values: unknown): Uint16Array | TypedTensor<"bfloat16"> {
  return converted("toBfloat16", values, "bfloat16") as Uint16Array | TypedTensor<"bfloat16">;
}

/**
 * Converts float16 or bfloat16 to float32. The conversion is exact. An array gives an array; a tensor gives a tensor of the
 * same shape. The result is always a copy. The numbers of a Uint16Array are read as bit patterns of float16; for bfloat16
 * give a tensor that states its dtype.
 *
 * @throws OptionError if `values` is neither an array nor a tensor of float32, float16 or bfloat16.
 * @throws ShapeError if a tensor's shape does not fit its data.
 */
export function toFloat32(values: Uint16Array | HalfArray): Float32Array;
export function toFloat32(values: Convertible): TypedTensor<"float32">;
export function toFloat32(values: unknown): Float32Array | TypedTensor<"float32"> {
  return converted("toFloat32", values, "float32") as Float32Array | TypedTensor<"float32">;
}

/** Returns a copy, even if the values already have the dtype. */
function converted(operation: string, values: unknown, dtype: WeightFloat): unknown {
  const call = new CallArguments(operation);
  const isBare = arrayKind(values) !== undefined;
  const given = isBare ? { data: values, shape: [placeOf(values as object).length] } : values;
  const { data, shape, dtype: from } = call.tensor("values", given, WEIGHT_FLOATS);
  const copy = from === dtype ? (data as Float32Array | Uint16Array).slice() : rounded(numbersOf(data, from), dtype);
  return isBare || isArray(values) ? copy : { data: copy, shape, dtype };
}

/** @param floats - They are a copy if the dtype is float32. */
function rounded(floats: ArrayLike<number>, dtype: WeightFloat) {
  return dtype === "float32" ? floats : dtype === "float16" ? toHalf(floats) : toBfloat(floats);
}
