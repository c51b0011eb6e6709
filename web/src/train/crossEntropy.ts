import { OptionError } from "../base/errors.js";
import { arrayKind } from "../base/typedArray.js";
import {
  assertAllThere,
  assertShape,
  firstOutside,
  floats,
  indices,
  lastExtent,
  type Floats,
  type Indices,
} from "../tensor/plainTensor.js";
import { product } from "../tensor/product.js";

/** The target of a row that does not count. */
const IGNORED = -1;

/** What crossEntropy gives. */
export interface CrossEntropy {
  /** The mean over the rows that count, in nats; 0 if none counts. */
  readonly loss: number;
  /** The gradient of `loss`, in the shape of the logits. It is 0 in rows that do not count. */
  readonly dLogits: Floats;
  /** How many rows count. */
  readonly count: number;
}

/**
 * The cross-entropy of a softmax, and its gradient. A row with logits z and target t has
 *
 *     loss = ln Σ exp(z) − z[t]      dLogits = (softmax(z) − [1 at t]) / count
 *
 * The exponents are z − max(z), so that none overflows.
 *
 * @param logits - `[..., V]`
 * @param targets - An integer from 0 to V − 1 for each row; −1: the row does not count. A tensor of them has the shape
 *   of the logits without the last axis; a bare array has one for each row.
 */
export function crossEntropy(logits: Floats, targets: Indices): CrossEntropy {
  const { data, shape, width, ids } = checkedLoss(logits, targets);
  const count = ids.filter((id) => id !== IGNORED).length;
  const dLogits = new Float32Array(data.length);
  const weights = new Float64Array(width);
  let loss = 0;
  for (let row = 0, at = 0; row < ids.length; row++, at += width) {
    if (ids[row] === IGNORED) continue;
    let largest = -Infinity;
    for (let i = 0; i < width; i++) largest = Math.max(largest, data[at + i]!);
    const target = at + ids[row]!;
    let others = 0; // without the target's: its gradient is minus their share, where a share minus 1 would cancel
    for (let i = 0; i < width; i++) {
      weights[i] = Math.exp(data[at + i]! - largest);
      if (at + i !== target) others += weights[i]!;
    }
    const sum = others + weights[ids[row]!]!;
    loss += Math.log(sum) + (largest - data[target]!); // the difference first: beside large logits the logarithm is lost
    const factor = 1 / (sum * count);
    for (let i = 0; i < width; i++) dLogits[at + i] = weights[i]! * factor;
    dLogits[target] = 0 - others * factor;
  }
  return { loss: count && loss / count, dLogits: { data: dLogits, shape }, count };
}

function checkedLoss(logits: unknown, targets: unknown) {
  const operation = "crossEntropy";
  const { data, shape } = floats(operation, "logits", logits);
  const width = lastExtent(operation, "logits", { data, shape });
  const given = indices(operation, "targets", targets);
  const rows = shape.slice(0, -1);
  const wanted = arrayKind(targets) ? [product(rows)] : rows;
  assertShape(operation, "targets", given, wanted, "the shape of logits without the last axis,");
  const ids = given.data;
  const wrong = firstOutside(ids, IGNORED, width - 1);
  if (wrong >= 0)
    throw new OptionError(
      `${operation}: targets[${wrong}] must be −1 (ignored) or from 0 to logits.shape.at(-1) − 1, ` +
        `which is ${width - 1}, got ${ids[wrong]}`,
    );
  assertAllThere(operation, { logits: data });
  return { data, shape, width, ids };
}
