import { describe } from "../base/describe.js";
import { OptionError, ShapeError } from "../base/errors.js";
import type { CallArguments } from "../read/callArguments.js";
import { fromBfloat } from "../tensor/half.js";
import { product } from "../tensor/product.js";
import type { Tensor } from "../tensor/tensor.js";
import { checkRank, emptyArray, INTEGERS, shaped, type Element, type Shaped } from "./element.js";

const INPUT = "attn_mask";
const FLOAT16_MINUS_INFINITY = 0xfc00;

/** The dtypes of masks whose numbers are added to the scores. */
const NUMERIC: readonly unknown[] = ["float16", "bfloat16", "float32", "float64", ...INTEGERS];

/**
 * Makes the option `mask` or `bias` from `attn_mask`. Booleans say which keys are visible; numbers are added to the
 * scores. If the last axis is shorter than the keys, the keys after it are hidden.
 *
 * @param full - The shape to which it must broadcast: [B, Hq, S, T].
 */
export function maskOrBias(
  call: CallArguments,
  value: unknown,
  full: readonly number[],
): { mask: Tensor<"bool"> } | { bias: Tensor<"float32" | "float16"> } {
  const given = shaped(call, INPUT, value);
  checkElementType(call, given);
  const { shape } = given;
  const data = holdsBfloats(given) ? fromBfloat(given.data as unknown as Uint16Array) : given.data;
  checkRank(call, INPUT, shape, [1, 2, 3, 4]);
  checkBroadcast(call, shape, full);
  const copy = <D extends "bool" | "float32">(dtype: D, element: (given: Element | undefined) => number) => {
    const numbers = emptyArray(call, INPUT, dtype, data.length);
    for (let k = 0; k < numbers.length; ++k) numbers[k] = element(data[k]);
    return numbers;
  };
  const pad = (dtype: Row["dtype"], data: Row["data"], hidden: number) =>
    padRows(call, { data, shape, dtype }, full[3]!, hidden);
  if (holdsBooleans(given))
    return {
      mask: pad(
        "bool",
        copy("bool", (x) => Number(Boolean(x))),
        0,
      ) as Tensor<"bool">,
    };
  const bias = holdsHalves(given)
    ? pad("float16", bitsOf(call, data as unknown as Uint16Array), FLOAT16_MINUS_INFINITY)
    : pad("float32", copy("float32", Number), -Infinity);
  return { bias: bias as Tensor<"float32" | "float16"> };
}

/** Throws if it is not clear what the elements mean. */
function checkElementType({ operation }: CallArguments, { data, kind, dtype }: Shaped): void {
  if (dtype !== undefined && dtype !== "bool" && !NUMERIC.includes(dtype))
    throw new OptionError(
      `${operation}: ${INPUT}.dtype must be "bool" or one of ${NUMERIC.join(", ")}, got ${describe(dtype)}`,
    );
  if (kind !== undefined || dtype !== undefined) return;
  const isBoolean = (element: Element | undefined) => typeof element === "boolean";
  for (let k = 1; k < data.length; ++k)
    if (isBoolean(data[k]) !== isBoolean(data[0]))
      throw new OptionError(
        `${operation}: ${INPUT}.data must hold either booleans or numbers, ` +
          `got ${describe(data[0])} at 0 and ${describe(data[k])} at ${k}`,
        { hint: 'With dtype "bool" any number but 0 is true.' },
      );
}

function holdsBfloats({ kind, dtype }: Shaped): boolean {
  return kind === "Uint16Array" && dtype === "bfloat16";
}

function holdsBooleans({ data, kind, dtype }: Shaped): boolean {
  return dtype === "bool" || (dtype === undefined && (kind === "Uint8Array" || typeof data[0] === "boolean"));
}

function holdsHalves({ kind, dtype }: Shaped): boolean {
  return kind === "Float16Array" || (kind === "Uint16Array" && (dtype === undefined || dtype === "float16"));
}

/** A copy of the 16-bit patterns of float16 numbers. */
function bitsOf(call: CallArguments, { buffer, byteOffset, length }: Uint16Array): Uint16Array {
  const bits = emptyArray(call, INPUT, "float16", length);
  bits.set(new Uint16Array(buffer, byteOffset, length));
  return bits;
}

function checkBroadcast({ operation }: CallArguments, shape: readonly number[], full: readonly number[]): void {
  const missing = full.length - shape.length;
  const fits = shape.every((extent, n) => {
    const axis = n + missing;
    return extent === 1 || extent === full[axis] || (axis === 3 && extent < full[3]!);
  });
  if (!fits)
    throw new ShapeError(
      `${operation}: ${INPUT}.shape must broadcast to [batch_size, q_num_heads, q_sequence_length, total_sequence_length] = ` +
        `${describe(full)}, with a last axis that may be shorter, got ${describe(shape)}`,
    );
}

/** Rows along the last axis. */
interface Row {
  readonly data: Uint8Array | Uint16Array | Float32Array;
  readonly shape: readonly number[];
  readonly dtype: "bool" | "float16" | "float32";
}

function padRows(call: CallArguments, { data, shape, dtype }: Row, totalLength: number, hidden: number): Row {
  const length = shape.at(-1)!;
  if (length >= totalLength) return { data, shape, dtype };
  const rows = product(shape.slice(0, -1));
  const padded = emptyArray(call, INPUT, dtype, rows * totalLength).fill(hidden);
  for (let row = 0; row < rows; ++row) padded.set(data.subarray(row * length, (row + 1) * length), row * totalLength);
  return { data: padded, shape: [...shape.slice(0, -1), totalLength], dtype };
}
