import { numbersOf } from "../tensor/half.js";
import { product } from "../tensor/product.js";
import type { Dtype, Nested, Tensor } from "../tensor/tensor.js";
import { CallArguments } from "./callArguments.js";

/**
 * The numbers of a tensor as nested arrays: the opposite of `tensor([[…]])`.
 *
 *     toNested(tensor([[1, 0], [0, 1]]))             // [[1, 0], [0, 1]]
 *     toNested<number[][]>(output)[0][1]             // in TypeScript, say how deep the arrays are
 *
 * @param given - A tensor of any dtype and rank. A scalar (rank 0) gives a number, or a boolean if it is bool.
 * @returns Arrays of numbers; bool gives booleans. float16 and bfloat16 are converted to numbers.
 * @throws OptionError if `given` is not a tensor.
 * @throws ShapeError if its shape does not fit its data.
 */
export function toNested<T = Nested<boolean>>(given: Tensor<"bool">): T;
export function toNested<T = Nested<number>>(given: Tensor<Exclude<Dtype, "bool">>): T;
export function toNested(given: Tensor): unknown {
  const { data, shape, dtype } = new CallArguments("toNested").tensor("tensor", given);
  const numbers = numbersOf(data as ArrayLike<number>, dtype);
  const elementAt = (n: number) => (dtype === "bool" ? numbers[n] !== 0 : numbers[n]!);

  /** The nested arrays from `axis` on, for the elements from index `start` on. */
  const nested = (axis: number, start: number): unknown => {
    if (axis === shape.length) return elementAt(start);
    const step = product(shape.slice(axis + 1));
    return Array.from({ length: shape[axis]! }, (_, n) => nested(axis + 1, start + n * step));
  };
  return nested(0, 0);
}
