import type { Tensor } from "headwise";

import { valuesOf } from "../../web/close.js";
import type { Expected } from "../../attention-conformance/reference/reference.js";

/** What was computed. */
export interface What {
  readonly operation: string;
  readonly what: string;
  readonly size: string;
  readonly dtype: string;
}

/** The errors of one result. */
export interface Line extends What {
  /** Of absolute errors. */
  readonly largest: number;
  readonly mean: number;
  /** The largest error beside the bound of the same number: at most 1 inside the bounds. */
  readonly share: number;
  readonly count: number;
  /** Numbers that are NaN or infinite where the formula is not, or the other way round. */
  readonly notFinite: number;
}

/** Collects the errors of results. */
export class Errors {
  readonly lines: Line[] = [];

  add(what: What, result: Pick<Tensor, "data"> | undefined, { values, tolerance }: Expected): void {
    const actual = result && valuesOf(result);
    if (actual?.length !== values.length) throw new Error(`${what.operation}: must have ${values.length} numbers`);
    let [largest, sum, share, notFinite] = [0, 0, 0, 0];
    for (let n = 0; n < values.length; ++n) {
      const [a, b, bound] = [actual[n]!, values[n]!, tolerance[n]!];
      if (!Number.isFinite(a) || !Number.isFinite(b)) {
        if (!Object.is(a, b)) notFinite += 1;
        continue;
      }
      const error = Math.abs(a - b);
      largest = Math.max(largest, error);
      sum += error;
      if (error > 0) share = Math.max(share, error / bound);
    }
    this.lines.push({ ...what, largest, mean: sum / values.length, share, count: values.length, notFinite });
  }
}
