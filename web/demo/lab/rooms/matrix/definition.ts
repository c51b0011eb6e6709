import { at, matrix, product, scaled, transposed, type Matrix } from "../../shell/matrix.js";
import type { Inputs, Steps } from "./steps.js";
import type { Sizes } from "./sizes.js";

/** All steps by their definition, in double precision. */
export function defined(inputs: Inputs): Steps {
  const { sizes, x } = inputs;
  const q = linear(x, inputs.wq, inputs.bq);
  const k = linear(x, inputs.wk, inputs.bk);
  const v = linear(x, inputs.wv, inputs.bv);
  const heads = Array.from({ length: sizes.numHeads }, (_, head) => {
    const raw = product(binOf(q, head, sizes.headDim), transposed(binOf(k, head, sizes.headDim)));
    const scores = inputs.scale ? scaled(raw, 1 / Math.sqrt(sizes.headDim)) : raw;
    const masked = matrix(raw.rows, raw.columns, (i, j) => (whyHidden(inputs, i, j) ? -Infinity : at(scores, i, j)));
    return { raw, masked, weights: inputs.softmax ? softmax(masked) : visibleScores(masked) };
  });
  const y = joined(heads.map(({ weights }, head) => weighted(weights, v, head, sizes)));
  return { q, k, v, heads, y, out: linear(y, inputs.wo, inputs.bo) };
}

/** x·w + b, with the bias added to every row. */
export function linear(x: Matrix, w: Matrix, b: Matrix): Matrix {
  const xw = product(x, w);
  return matrix(xw.rows, xw.columns, (row, column) => at(xw, row, column) + at(b, 0, column));
}

/** The columns of one head. */
export function binOf(m: Matrix, head: number, width: number): Matrix {
  return matrix(m.rows, width, (row, column) => at(m, row, head * width + column));
}

/** Why query i may not see key j; undefined if it may. */
export function whyHidden(
  { causal, excludeSelf }: Pick<Inputs, "causal" | "excludeSelf">,
  i: number,
  j: number,
): "later" | "itself" | undefined {
  if (causal && j > i) return "later";
  return excludeSelf && i === j ? "itself" : undefined;
}

/** e^s divided by the sum of its row; 0 where hidden, and all 0 in a row that sees nothing. */
function softmax(scores: Matrix): Matrix {
  const rowOf = (row: number) => scores.data.slice(row * scores.columns, (row + 1) * scores.columns);
  return matrix(scores.rows, scores.columns, (row, column) => {
    const all = rowOf(row);
    const highest = Math.max(...all);
    if (highest === -Infinity) return 0;
    const total = all.reduce((sum, score) => sum + Math.exp(score - highest), 0);
    return Math.exp(at(scores, row, column) - highest) / total;
  });
}

/** The weights without softmax: the scores themselves, and 0 where hidden. */
export function visibleScores(masked: Matrix): Matrix {
  return { ...masked, data: masked.data.map((score) => (score === -Infinity ? 0 : score)) };
}

/** The output of one head. */
export function weighted(weights: Matrix, v: Matrix, head: number, { valueDim }: Sizes): Matrix {
  return product(weights, binOf(v, head, valueDim));
}

/** The outputs of the heads, side by side. */
export function joined(outputs: readonly Matrix[]): Matrix {
  const width = outputs[0]!.columns;
  return matrix(outputs[0]!.rows, outputs.length * width, (row, column) =>
    at(outputs[Math.floor(column / width)]!, row, column % width),
  );
}
