import { arrayKind, isArray, placeOf } from "../foreign/typedArray.js";
import { fromHalf, toHalf } from "../tensor/half.js";
import type { HalfArray, Tensor, TypedTensor } from "../tensor/tensor.js";
import { FLOATS } from "../tensor/tensor.js";
import { CallArguments } from "./callArguments.js";

/**
 * The nearest float16 of each number; ties go to the even one, numbers from 65,520 on become infinite. An array of numbers
 * gives the bits as a Uint16Array, a tensor gives a tensor.
 *
 *     toFloat16([1, 0.5])                            // Uint16Array [0x3c00, 0x3800]
 *     toFloat16(tensor([[1, 0.5]]))                  // float16 [1, 2]
 */
export function toFloat16(values: Float32Array | readonly number[]): Uint16Array;
export function toFloat16(values: Tensor<"float32" | "float16">): TypedTensor<"float16">;
export function toFloat16(values: unknown): Uint16Array | TypedTensor<"float16"> {
  return converted("toFloat16", values, "float16") as Uint16Array | TypedTensor<"float16">;
}

/** The numbers of float16 as float32, which holds them exactly. An array gives an array, a tensor gives a tensor. */
export function toFloat32(values: Uint16Array | HalfArray): Float32Array;
export function toFloat32(values: Tensor<"float32" | "float16">): TypedTensor<"float32">;
export function toFloat32(values: unknown): Float32Array | TypedTensor<"float32"> {
  return converted("toFloat32", values, "float32") as Float32Array | TypedTensor<"float32">;
}

/** Always a copy, also of what has the dtype already. */
function converted(operation: string, values: unknown, dtype: "float32" | "float16"): unknown {
  const call = new CallArguments(operation);
  const isBare = arrayKind(values) !== undefined;
  const given = isBare ? { data: values, shape: [placeOf(values as object).length] } : values;
  const { data, shape, dtype: from } = call.tensor("values", given, FLOATS);
  const numbers = data as Float32Array | Uint16Array;
  const copy =
    from === dtype ? numbers.slice() : from === "float32" ? toHalf(numbers) : fromHalf(numbers as Uint16Array);
  return isBare || isArray(values) ? copy : { data: copy, shape, dtype };
}
