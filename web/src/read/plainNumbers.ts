import { describe } from "../base/describe.js";
import { OptionError } from "../base/errors.js";
import { toBfloat, toHalf } from "../tensor/half.js";
import { ARRAYS, type Dtype, type TensorData } from "../tensor/tensor.js";

/** An element of a plain array. */
export type Element = number | bigint | boolean;

/**
 * The dtype for numbers of a plain array: bool if the first element is a boolean, float32 otherwise. If `dtypes` lacks
 * that dtype, another one of `dtypes`.
 */
export function dtypeOfElements(first: unknown, dtypes: readonly Dtype[]): Dtype {
  if (typeof first === "boolean" && dtypes.includes("bool")) return "bool";
  return dtypes.includes("float32") ? "float32" : dtypes[0]!;
}

const isNumber = (element: unknown): element is number | bigint =>
  typeof element === "number" || typeof element === "bigint";

const RULES: Readonly<Record<Dtype, { readonly rule: string; readonly isLegal: (element: unknown) => boolean }>> = {
  float32: { rule: "a number", isLegal: isNumber },
  float16: { rule: "a number", isLegal: isNumber },
  bfloat16: { rule: "a number", isLegal: isNumber },
  int8: {
    rule: "an integer of 8 bits",
    isLegal: (element) => isNumber(element) && (Number(element) << 24) >> 24 === Number(element),
  },
  bool: {
    rule: "true, false, 1 or 0",
    isLegal: (element) => typeof element === "boolean" || (isNumber(element) && [0, 1].includes(Number(element))),
  },
  int32: {
    rule: "an integer of 32 bits",
    isLegal: (element) => isNumber(element) && (Number(element) | 0) === Number(element),
  },
};

/**
 * Copies the numbers of a list to a new typed array.
 *
 * @throws OptionError if the dtype cannot hold an element. Nothing is rounded to an integer. The only numbers that bool
 *   accepts are 0 and 1.
 */
export function numbersAs(operation: string, argument: string, elements: ArrayLike<Element>, dtype: Dtype): TensorData {
  const { rule, isLegal } = RULES[dtype];
  const round = dtype === "float16" ? toHalf : dtype === "bfloat16" ? toBfloat : undefined;
  const numbers = round ? new Float64Array(elements.length) : new ARRAYS[dtype](elements.length);
  for (let n = 0; n < elements.length; ++n) {
    const element = elements[n];
    if (!isLegal(element))
      throw new OptionError(`${operation}: ${argument}[${n}] must be ${rule}, got ${describe(element)}`, {
        hint: dtype === "bool" ? "A mask of numbers, which are added to the scores, is the option `bias`." : undefined,
      });
    numbers[n] = Number(element);
  }
  return round ? round(numbers) : (numbers as TensorData);
}
