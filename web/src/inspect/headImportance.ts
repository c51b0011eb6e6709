import { isCallable } from "../base/callable.js";
import { describe } from "../base/describe.js";
import { OptionError } from "../base/errors.js";
import { withDefaults } from "../read/withDefaults.js";
import { assertNumber, type Floats } from "../tensor/plainTensor.js";
import { assertCount, MAX_LIST } from "./options.js";

/** Options of headImportance. */
export interface HeadImportanceOptions {
  /** Layers whose heads are switched off. Default: 1. */
  readonly numLayers?: number | undefined;
  /** Query heads of each layer. */
  readonly numHeads: number;
}

type Defaults = { readonly numLayers: number; readonly numHeads: number | undefined };

/** What headImportance gives. */
export interface HeadImportance {
  /** What `run` gives with all heads. */
  readonly baseline: number;
  /** `[numLayers, numHeads]`: what `run` gives without the head, minus the baseline. */
  readonly change: Floats;
}

/**
 * How much a model needs each head: each head is switched off by itself, and the change of a measure is noted (Michel,
 * Levy & Neubig 2019, arXiv:1905.10650). It needs no gradient. If the measure is a loss, a head with a positive change is
 * needed; if it is a difference of logits, one with a negative change.
 *
 * @param run - Computes the measure, such as a loss, with the given gains of the heads: for each layer an array of
 *   `numHeads` gains, 1 or 0, for the option `headGain` of its call. It is called 1 + numLayers · numHeads times, one
 *   call after another. What it throws is thrown. If it gives NaN, the change is NaN.
 */
export async function headImportance(
  run: (headGains: readonly Float32Array[]) => number | Promise<number>,
  options: HeadImportanceOptions,
): Promise<HeadImportance> {
  const operation = "headImportance";
  if (!isCallable(run)) throw new OptionError(`${operation}: run must be a function, got ${describe(run)}`);
  const defaults: Defaults = { numLayers: 1, numHeads: undefined };
  const { numLayers, numHeads } = withDefaults(operation, options, defaults);
  assertCount(operation, "numLayers", numLayers);
  assertCount(operation, "numHeads", numHeads);
  const rule = `at most ${MAX_LIST}`;
  assertNumber(operation, "numLayers times numHeads", numLayers * numHeads, rule, (count) => count <= MAX_LIST);
  const measured = async (layer?: number, head?: number) => {
    const gains = Array.from({ length: numLayers }, () => new Float32Array(numHeads).fill(1));
    if (layer !== undefined) gains[layer]![head!] = 0;
    const measure = await run(gains);
    assertNumber(operation, "what run gives", measure, "a number", () => true);
    return measure;
  };
  const baseline = await measured();
  const change = new Float32Array(numLayers * numHeads);
  for (let n = 0; n < change.length; n++)
    change[n] = (await measured(Math.floor(n / numHeads), n % numHeads)) - baseline;
  return { baseline, change: { data: change, shape: [numLayers, numHeads] } };
}
