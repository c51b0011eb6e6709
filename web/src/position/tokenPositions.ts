import { describe } from "../base/describe.js";
import { OptionError, ShapeError } from "../base/errors.js";
import { isList, MOST_NUMBERS, type NumberList, type OptionReader } from "../read/options.js";
import type { TensorLike } from "../tensor/tensor.js";

/** A tensor of int64, as ONNX has them. */
export interface Int64Tensor {
  readonly data: BigInt64Array;
  readonly shape: readonly number[];
}

/** Positions of tokens, as callers give them: a list `[S]`, or a tensor `[S]` or `[B, S]` of whole numbers. */
export type GivenPositions = NumberList | TensorLike<"int32"> | Int64Tensor;

/** Checked positions of tokens, `[planes, B, S]`. */
export interface TokenPositions {
  readonly data: Int32Array;
  /** 1; or 3 of a rotary embedding with sections. */
  readonly planes: number;
}

/** The sizes of the tokens that the positions are for. */
interface Tokens {
  readonly batchSize: number;
  readonly length: number;
}

/** One number below it is left for what has no position. */
export const LEAST_POSITION = 1 - 2 ** 31;
const MOST = 2 ** 31 - 1;

/**
 * Reads the option `positions`, or another of its kind.
 *
 * @param planes - How many planes a tensor of rank 3 must have; undefined: it is refused.
 */
export function readTokenPositions(
  options: OptionReader,
  { batchSize, length }: Tokens,
  planes?: number,
  name: "positions" | "keyPositions" = "positions",
): TokenPositions | undefined {
  const { operation, call } = options;
  const value = options.value(name);
  if (value === undefined) return undefined;
  const read = readPosition(operation, name);
  const shapes = `[${length}] or [${batchSize}, ${length}]${planes ? ` or [${planes}, ${batchSize}, ${length}]` : ""}`;
  const wrong = (given: unknown) =>
    new ShapeError(`${operation}: ${name}.shape must be ${shapes}, got ${describe(given)}`);
  if (isList(value)) {
    const check = (given: number) => {
      if (given !== length) throw wrong([given]);
    };
    return { data: repeated(call.list(name, value, check, read), batchSize), planes: 1 };
  }
  const { data, shape } = call.tensor(name, value, ["int32", "float32"]);
  const expected = [...(planes ? [planes] : []), batchSize, length].slice(-shape.length);
  const isKnown = shape.length >= 1 && shape.length <= (planes ? 3 : 2);
  if (!isKnown || shape.some((extent, axis) => extent !== expected[axis])) throw wrong(shape);
  const numbers = Array.from(data, read);
  if (shape.length === 3) return { data: Int32Array.from(numbers), planes: planes! };
  return { data: shape.length === 1 ? repeated(numbers, batchSize) : Int32Array.from(numbers), planes: 1 };
}

/** Reads positions whose number nothing else tells: a list or a tensor `[S]`, or a tensor `[B, S]`. */
export function readGivenPositions(options: OptionReader, name: string) {
  const { operation, call } = options;
  const value = options.value(name);
  if (value === undefined) return undefined;
  const read = readPosition(operation, name);
  const check = (given: number) => {
    if (given > MOST_NUMBERS)
      throw new ShapeError(`${operation}: ${name} must have at most ${MOST_NUMBERS} entries, got ${given}`);
  };
  if (isList(value)) {
    const data = call.list(name, value, check, read);
    return { data, batchSize: undefined, length: data.length };
  }
  const { data, shape } = call.tensor(name, value, ["int32", "float32"]);
  if (shape.length < 1 || shape.length > 2)
    throw new ShapeError(`${operation}: ${name}.shape must be [S] or [B, S], got ${describe(shape)}`);
  check(data.length);
  return { data: Array.from(data, read), batchSize: shape.at(-2), length: shape.at(-1)! };
}

const readPosition =
  (operation: string, name: string) =>
  (position: unknown, n: number): number => {
    const number = typeof position === "bigint" ? Number(position) : position;
    if (Number.isInteger(number) && (number as number) >= LEAST_POSITION && (number as number) <= MOST)
      return (number as number) + 0;
    throw new OptionError(
      `${operation}: ${name}[${n}] must be an integer from ${LEAST_POSITION} to ${MOST}, got ${describe(position)}`,
    );
  };

function repeated(list: readonly number[], batchSize: number): Int32Array {
  const data = new Int32Array(batchSize * list.length);
  for (let b = 0; b < batchSize; ++b) data.set(list, b * list.length);
  return data;
}
