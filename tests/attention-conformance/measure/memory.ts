/** One head of 16,384 queries and keys. Its score matrix would take 1 GiB. */

import { casesOf } from "../reference/caseTable.js";
import { referenceAttention, type Input } from "../reference/reference.js";
import { callOf, type Call, type Row } from "./call.js";
import { judge, type Judgement, type Numbers } from "./judge.js";

export const MEMORY_KEYS = 16384;

/** An engine may take this much more than it had: a quarter of the score matrix. */
export const MEMORY_LIMIT = (MEMORY_KEYS * MEMORY_KEYS * 4) / 4;

const row = (length: number): Row => ({
  name: `memory-${length}-keys`,
  seed: 16384,
  shape: { queryLength: length, headDim: 16 },
});

/** The call, or a small one before it, which loads and compiles what the engine needs. */
export const memoryCall = (length = MEMORY_KEYS): Call => callOf(row(length));

/** Rows that are compared with the reference. */
const SAMPLES = [0, 1, 255, 8191, 16383];

/** @param growth - bytes of the processes' peak memory beyond that of the small call */
export function memoryVerdict(output: Numbers, growth: number): Judgement {
  const [{ query, key, value } = {} as never] = casesOf({ version: 1, cases: [row(MEMORY_KEYS)] });
  const D = query.shape[3]!;
  const pick = (data: ArrayLike<number>) =>
    Float32Array.from(SAMPLES.flatMap((i) => Array.from({ length: D }, (_, d) => data[i * D + d]!)));
  const rows: Input = { data: pick(query.data), shape: [1, 1, SAMPLES.length, D] };
  const expected = referenceAttention(rows, key, value).output;
  const judgement = judge("output", output && { data: pick(output.data) }, expected);
  if (judgement.verdict !== "passed") return judgement;
  const error = growth / MEMORY_LIMIT;
  const note = `${Math.round(growth / 2 ** 20)} MiB`;
  return { verdict: error <= 1 ? "passed" : "wrong", error, note };
}
