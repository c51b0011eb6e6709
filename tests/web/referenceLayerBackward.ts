/**
 * The gradients of a layer by central differences of its loss Σ dOutput · output + Σ dLse · lse, all in double precision. Nothing here
 * knows how gradients are computed.
 */

import {
  referenceAttention,
  type Expected,
  type ReferenceOptions,
} from "../attention-conformance/reference/reference.js";

/** Numbers in double, and their shape. */
export interface Doubles {
  readonly data: Float64Array;
  readonly shape: readonly number[];
}

/** A layer and a call of it, in layout BSE. Weights are stored [in, out]. */
export interface LayerCase {
  readonly numHeads: number;
  readonly numKvHeads: number;
  readonly qkNorm?: { readonly kind: "rms" | "l2"; readonly epsilon: number };
  /** Turns whole heads, in halves. */
  readonly rotary?: boolean;
  /** What has a gradient: `x`, `key`, `value` (the contexts), `Wq` … `bo`, `queryGain`, `keyGain`, `table`; and the options `bias`, `sinks`, `headGain`, `alibiSlopes`. */
  readonly parameters: Readonly<Record<string, Doubles>>;
  readonly options: ReferenceOptions;
  readonly dOutput: Doubles;
  /** Of a loss that reads lse. */
  readonly dLse?: Doubles;
}

const { cos, hypot, max, sin, sqrt } = Math;

/** [rows, in] · [in, out] + b */
function project(x: Doubles, W: Doubles, b: Doubles | undefined): Doubles {
  const [inputs, outputs] = W.shape as [number, number];
  const rows = x.data.length / inputs;
  const data = new Float64Array(rows * outputs);
  for (let r = 0; r < rows; ++r)
    for (let o = 0; o < outputs; ++o) {
      let sum = b?.data[o] ?? 0;
      for (let i = 0; i < inputs; ++i) sum += x.data[r * inputs + i]! * W.data[i * outputs + o]!;
      data[r * outputs + o] = sum;
    }
  return { data, shape: [...x.shape.slice(0, -1), outputs] };
}

/** The positions of the rows of each batch, or of the sequences of a ragged batch. */
function positions(count: number, starts: ArrayLike<number> | undefined, offset: number): number[] {
  return Array.from({ length: count }, (_, row) => {
    const begin = starts ? Math.max(...Array.from(starts).filter((start) => start <= row)) : 0;
    return row - begin + offset;
  });
}

/** Norm, then rotary embedding, of every head. */
function steps(c: LayerCase, x: Doubles, heads: number, gain: Doubles | undefined, at: readonly number[]): Doubles {
  const [, length, width] = x.shape as [number, number, number];
  const D = width / heads;
  const data = x.data.slice();
  for (let start = 0; start < data.length; start += D) {
    const head = data.subarray(start, start + D);
    if (c.qkNorm) {
      const norm = hypot(...head);
      const size = c.qkNorm.kind === "rms" ? sqrt(norm ** 2 / D + c.qkNorm.epsilon) : max(norm, c.qkNorm.epsilon);
      head.forEach((value, d) => (head[d] = (value / size) * (gain?.data[d] ?? 1)));
    }
    if (!c.rotary) continue;
    const position = at[Math.floor(start / width) % length]!;
    for (let m = 0; m < D / 2; ++m) {
      const angle = position * 10000 ** ((-2 * m) / D);
      const [a, b] = [head[m]!, head[m + D / 2]!];
      head[m] = a * cos(angle) - b * sin(angle);
      head[m + D / 2] = a * sin(angle) + b * cos(angle);
    }
  }
  return { data, shape: x.shape };
}

function loss(c: LayerCase): number {
  const { parameters: p, options, dOutput, dLse } = c;
  const offset = (options.queryOffset as number | undefined) ?? 0;
  const [, length, width] = p.x!.shape as [number, number, number];
  const queryAt = positions(length, options.cuSeqLensQuery as number[] | undefined, offset);
  const table = p.table;
  const x = table
    ? {
        ...p.x!,
        data: p.x!.data.map(
          (value, n) => value + table.data[queryAt[Math.floor(n / width) % length]! * width + (n % width)]!,
        ),
      }
    : p.x!;
  const keys = p.key ?? x;
  const values = p.value ?? keys;
  const keyAt = positions(keys.shape[1]!, options.cuSeqLensKey as number[] | undefined, 0);
  const q = steps(c, project(x, p.Wq!, p.bq), c.numHeads, p.queryGain, queryAt);
  const k = steps(c, project(keys, p.Wk!, p.bk), c.numKvHeads, p.keyGain, keyAt);
  const v = project(values, p.Wv!, p.bv);
  const { shape, output, lse } = referenceAttention(q, k, v, {
    ...options,
    layout: "BSE",
    numHeads: c.numHeads,
    numKvHeads: c.numKvHeads,
    ...(p.bias && { bias: p.bias as never }),
    ...(p.sinks && { sinks: p.sinks }),
    ...(p.headGain && { headGain: p.headGain }),
    ...(p.alibiSlopes && { alibiSlopes: p.alibiSlopes }),
  });
  const heads = { data: output.values, shape: [shape.B, shape.Sq, shape.Hq * shape.Dv] };
  const y = p.Wo ? project(heads, p.Wo, p.bo) : heads;
  const byLse = dLse?.data.reduce((sum, value, n) => sum + value * lse.values[n]!, 0) ?? 0;
  return y.data.reduce((sum, value, n) => sum + value * dOutput.data[n]!, byLse);
}

const STEP = 1e-5;

/**
 * Six products follow one another, of which each rounds (4 + K/4) times for sums of K ≤ 64 terms. Norm and softmax
 * amplify at most four times. The differences themselves err by less than 1e-8.
 */
const TOLERANCE = 6 * (4 + 64 / 4) * 4 * 2 ** -24;

/** The gradient of every parameter of a case. The tolerance is one for all numbers of a parameter. */
export function referenceLayerBackward(c: LayerCase): Record<string, Expected> {
  const gradient = ({ data }: Doubles): Expected => {
    const values = data.map((value, n) => {
      data[n] = value + STEP;
      const above = loss(c);
      data[n] = value - STEP;
      const below = loss(c);
      data[n] = value;
      return (above - below) / (2 * STEP);
    });
    const largest = values.reduce((most, value) => max(most, Math.abs(value)), 1);
    return { values, tolerance: values.map(() => TOLERANCE * largest + 1e-8) };
  };
  return Object.fromEntries(Object.entries(c.parameters).map(([name, doubles]) => [name, gradient(doubles)]));
}
