import { arrayKind } from "../typedArray.js";
import { OptionError, ShapeError } from "../errors.js";
import { type Tensor } from "../tensor.js";

/** Attention that is computed when it is looked at. */
export interface AttentionSource {
  readonly heads: number;
  readonly queries: number;
  readonly keys: number;
  /**
   * Rows `from … to − 1` of one head: `(to − from) × keys` numbers, row-major. They may be kept; they are never written.
   * `−∞` is a hidden cell.
   */
  rows(head: number, from: number, to: number): Float32Array | Promise<Float32Array>;
}

/**
 * A tensor as a source: its rows are there at once, as views of its data.
 *
 * @param tensor - `[H, Sq, Skv]`, `[B, H, Sq, Skv]`, or `[Sq, Skv]` for one head.
 * @param batch - Which of the B sequences.
 */
export function tensorSource(tensor: Tensor<"float32">, batch = 0): AttentionSource {
  const { data, shape } = tensor;
  if (arrayKind(data) !== "Float32Array") throw new OptionError("probs: data must be a Float32Array");
  if (shape.length < 2 || shape.length > 4 || data.length !== shape.reduce((product, extent) => product * extent, 1)) {
    throw new ShapeError(
      `probs: must be [Sq, Skv], [H, Sq, Skv] or [B, H, Sq, Skv] and fit its data, got [${shape.join(", ")}] for ${data.length} numbers`,
    );
  }
  const [batches = 1, heads = 1, queries = 0, keys = 0] = padded(shape, 4);
  if (!Number.isInteger(batch) || batch < 0 || batch >= batches) {
    throw new OptionError(`batch: must be one of the ${batches} sequences of probs, got ${batch}`);
  }
  const start = (head: number, query: number) => ((batch * heads + head) * queries + query) * keys;
  return { heads, queries, keys, rows: (head, from, to) => data.subarray(start(head, from), start(head, to)) };
}

/** The shape with extents of 1 in front. */
export function padded(shape: readonly number[], rank: number): number[] {
  return [...new Array<number>(rank - shape.length).fill(1), ...shape];
}
