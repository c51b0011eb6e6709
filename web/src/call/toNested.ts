import { fromHalf } from "../tensor/half.js";
import type { Dtype, Nested, Tensor } from "../tensor/tensor.js";
import { CallArguments } from "./callArguments.js";

/**
 * The numbers of a tensor as arrays in arrays: the opposite of `tensor([[…]])`.
 *
 *     toNested(tensor([[1, 0], [0, 1]]))             // [[1, 0], [0, 1]]
 *     toNested<number[][]>(output)[0][1]             // in TypeScript, say how deep the arrays are
 *
 * @param given - A tensor of any dtype and rank. A scalar, of rank 0, gives a number.
 * @returns Numbers, of bool booleans. float16 is converted to numbers.
 */
export function toNested<T = Nested<boolean>>(given: Tensor<"bool">): T;
export function toNested<T = Nested<number>>(given: Tensor<Exclude<Dtype, "bool">>): T;
export function toNested(given: Tensor): unknown {
  const { data, shape, dtype } = new CallArguments("toNested").tensor("tensor", given);
  const numbers = dtype === "float16" ? fromHalf(data as Uint16Array) : data;
  const elementAt = (n: number) => (dtype === "bool" ? numbers[n] !== 0 : numbers[n]!);

  /** The arrays from `axis` on, of the elements from `start` on. */
  const nested = (axis: number, start: number): unknown => {
    if (axis === shape.length) return elementAt(start);
    const step = shape.slice(axis + 1).reduce((product, extent) => product * extent, 1);
    return Array.from({ length: shape[axis]! }, (_, n) => nested(axis + 1, start + n * step));
  };
  return nested(0, 0);
}
