import type { Engine } from "../../engine/engine.js";
import { asTensor, matrix, product, scaled, transposed, type Matrix } from "../../shell/matrix.js";

/** The inputs of the calculation: four matrices and the settings. */
export interface Inputs {
  readonly x: Matrix;
  readonly wq: Matrix;
  readonly wk: Matrix;
  readonly wv: Matrix;
  readonly heads: number;
  readonly scale: boolean;
  readonly causal: boolean;
  readonly excludeSelf: boolean;
  readonly softmax: boolean;
  /** Whether positions are columns. Otherwise they are rows. */
  readonly columns: boolean;
}

/** The steps of one head. Matrices are [queries, keys]. */
export interface HeadSteps {
  readonly raw: Matrix;
  readonly scaled: Matrix;
  readonly masked: Matrix;
  readonly weights: Matrix;
}

export interface Steps {
  /** Each is [tokens, width]. */
  readonly q: Matrix;
  readonly k: Matrix;
  readonly v: Matrix;
  readonly heads: readonly HeadSteps[];
  /** [tokens, width]: the outputs of the heads side by side. */
  readonly output: Matrix;
}

/**
 * Computes all steps with headwise, except the projections. Without softmax the page also computes the last product.
 */
export async function calculate(engine: Engine, inputs: Inputs): Promise<Steps> {
  const { x, heads, columns } = inputs;
  const [q, k, v] = [product(x, inputs.wq), product(x, inputs.wk), product(x, inputs.wv)];
  const place = (m: Matrix) => {
    const { data, shape } = asTensor(columns ? transposed(m) : m);
    return { data, shape: [1, ...shape] };
  };
  const [query, key, value] = [place(q), place(k), place(v)];
  const form = { layout: columns ? "BES" : "BSE", numHeads: heads } as const;
  const scale = inputs.scale ? {} : { scale: 1 };
  const raw = { output: false, scores: "raw" } as const;
  const unscaled = await engine.scaledDotProductAttention(query, key, value, { ...form, scale: 1, returns: raw });
  const plain = await engine.scaledDotProductAttention(query, key, value, { ...form, ...scale, returns: raw });
  const whole = await engine.scaledDotProductAttention(query, key, value, {
    ...form,
    ...scale,
    causal: inputs.causal,
    excludeSelf: inputs.excludeSelf,
    returns: { output: true, probs: true, scores: "biased" },
  });

  const squares = (tensor: { readonly data: Float32Array }) =>
    Array.from({ length: heads }, (_, head) =>
      matrix(x.rows, x.rows, (row, column) => tensor.data[(head * x.rows + row) * x.rows + column]!),
    );
  const [raws, scaleds, masked, probs] = [unscaled.scores, plain.scores, whole.scores, whole.probs].map(squares) as [
    Matrix[],
    Matrix[],
    Matrix[],
    Matrix[],
  ];
  const steps = raws.map((_, head) => ({
    raw: raws[head]!,
    scaled: scaleds[head]!,
    masked: masked[head]!,
    weights: inputs.softmax ? probs[head]! : visibleScores(masked[head]!),
  }));
  const { data, shape } = whole.output;
  const softmaxed = { rows: shape[1]!, columns: shape[2]!, data: Array.from(data as Float32Array) };
  const output = inputs.softmax ? (columns ? transposed(softmaxed) : softmaxed) : weightedRows(steps, v);
  return { q, k, v, heads: steps, output };
}

/** The weights without softmax: the scores themselves, and 0 where hidden. */
function visibleScores(masked: Matrix): Matrix {
  return { ...masked, data: masked.data.map((score) => (score === -Infinity ? 0 : score)) };
}

function weightedRows(heads: readonly HeadSteps[], v: Matrix): Matrix {
  const bin = v.columns / heads.length;
  const outputs = heads.map(({ weights }) => product(weights, v));
  return matrix(v.rows, v.columns, (row, column) => outputs[Math.floor(column / bin)]!.data[row * v.columns + column]!);
}

/** How much a score matrix differs from a symmetric one. */
export function asymmetry(scores: Matrix): number {
  const turned = transposed(scores);
  return Math.max(...scaled(turned, -1).data.map((value, i) => Math.abs(value + scores.data[i]!)));
}
