import { isCallable } from "../base/callable.js";
import { describe, isObject } from "../base/describe.js";
import { OptionError, ShapeError } from "../base/errors.js";
import { assertIntact } from "../base/intact.js";
import { arrayKind, placeOf } from "../base/typedArray.js";
import { CallArguments } from "../read/callArguments.js";
import type { CheckedTensor, Dtype, Tensor } from "../tensor/tensor.js";

/** Attention that is computed when it is shown. */
export interface AttentionSource {
  readonly heads: number;
  readonly queries: number;
  readonly keys: number;
  /**
   * Computes the rows `from` to `to − 1` of one head: `(to − from) × keys` numbers, row-major. −∞ is a hidden cell. The
   * element copies the numbers and never writes to the array.
   */
  rows(head: number, from: number, to: number): Float32Array | Promise<Float32Array>;
}

/**
 * A tensor as a source. Its rows are views of its data.
 *
 * @param tensor - `[H, Sq, Skv]`, `[B, H, Sq, Skv]`, or `[Sq, Skv]` for one head.
 * @param batch - Which of the B batches.
 */
export function tensorSource(tensor: Tensor<"float32">, batch = 0): AttentionSource {
  const { data, shape } = readTensor("probs", tensor, ["float32"]);
  if (shape.length < 2 || shape.length > 4)
    throw new ShapeError(
      `headwise/viz: probs must be [Sq, Skv], [H, Sq, Skv] or [B, H, Sq, Skv], got shape ${describe(shape)}`,
    );
  const [batches = 1, heads = 1, queries = 0, keys = 0] = padded(shape, 4);
  if (!Number.isInteger(batch) || batch < 0 || batch >= batches) {
    throw new OptionError(
      `headwise/viz: batch must be one of the ${batches} sequences of probs, got ${describe(batch)}`,
    );
  }
  const start = (head: number, query: number) => ((batch * heads + head) * queries + query) * keys;
  const rows = (head: number, from: number, to: number) => {
    assertIntact("headwise/viz", "probs", data);
    return data.subarray(start(head, from), start(head, to));
  };
  return { heads, queries, keys, rows };
}

/** Reads a tensor: its shape and array are read once, its numbers are not copied. */
export function readTensor<D extends Dtype>(name: string, tensor: unknown, dtypes: readonly D[]): CheckedTensor<D> {
  return new CallArguments("headwise/viz").tensor(name, tensor, dtypes);
}

/** A source whose extents are read once, and whose rows are copied when they arrive. */
export function readSource(given: AttentionSource): AttentionSource {
  const call = new CallArguments("headwise/viz");
  if (!isObject(given)) throw new OptionError(`headwise/viz: source must be an object, got ${describe(given)}`);
  const { heads, queries, keys, rows } = call.guarded("source", () => ({
    ...{ heads: given.heads, queries: given.queries, keys: given.keys },
    rows: Reflect.get(given, "rows"),
  }));
  const extents = call.shape("source", [heads, queries, keys]);
  if (!isCallable(rows)) throw new OptionError(`headwise/viz: source.rows must be a function, got ${describe(rows)}`);
  return {
    heads: extents[0]!,
    queries: extents[1]!,
    keys: extents[2]!,
    rows(...range) {
      const answer: unknown = Reflect.apply(rows, given, range);
      const read = (rows: unknown) => readRows(rows, range, extents[2]!);
      return arrayKind(answer) ? read(answer) : Promise.resolve(answer).then(read);
    },
  };
}

/** Checks and copies the rows that a source returned. */
function readRows(given: unknown, range: Parameters<AttentionSource["rows"]>, keys: number): Float32Array {
  const name = `source.rows(${range.join(", ")})`;
  if (arrayKind(given) !== "Float32Array")
    throw new OptionError(`headwise/viz: ${name} must give a Float32Array, got ${describe(given)}`);
  assertIntact("headwise/viz", name, given as object);
  const { buffer, byteOffset, length } = placeOf(given as object);
  const [, from, to] = range;
  if (length !== (to - from) * keys)
    throw new ShapeError(
      `headwise/viz: ${name} must give (to − from) × keys = ${to - from} × ${keys} numbers, got ${length}`,
    );
  return new Float32Array(new Float32Array(buffer, byteOffset, length));
}

/** The shape, with extents of 1 added in front. */
export function padded(shape: readonly number[], rank: number): number[] {
  return [...new Array<number>(rank - shape.length).fill(1), ...shape];
}
