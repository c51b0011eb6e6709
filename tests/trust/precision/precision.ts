// node precision.js REPORT VARIANT [quick]: errors of results against the same formulas in double precision, beside the
// bounds of web/docs/contract.md. The row bundles this file, because the references are TypeScript.

import { writeFileSync } from "node:fs";

import {
  createAttention,
  quantizeWeight,
  tensor,
  toFloat16,
  UnsupportedError,
  type Attention,
  type Tensor,
  type TypedTensor,
} from "headwise";
import { formula } from "headwise/formula";

import { dequantized, referenceLinear, shapeOf } from "../../web/linearReference.js";
import { randomTensor } from "../../web/randomTensor.js";
import {
  EPSILON,
  referenceAttention,
  type Expected,
  type ReferenceOptions,
} from "../../attention-conformance/reference/reference.js";
import { referenceBackward } from "../../attention-conformance/reference/referenceBackward.js";
import { exactRow, referenceLayer } from "../../web/referenceLayer.js";
import { Errors, type Line } from "./errors.js";

const [report, variant, length] = process.argv.slice(2) as [string, "simd" | "relaxed", string?];
const isQuick = length === "quick";

interface Size {
  readonly heads: number;
  readonly queries: number;
  readonly keys: number;
  readonly dim: number;
}

const SMALL: Size = { heads: 2, queries: 7, keys: 9, dim: 5 };
const MIDDLE: Size = { heads: 2, queries: 64, keys: 64, dim: 64 };
const DECODING: Size = { heads: 2, queries: 1, keys: isQuick ? 512 : 8192, dim: 128 };
const LARGE: Size = { heads: 1, queries: 512, keys: 512, dim: 64 };
const SIZES = isQuick ? [SMALL, MIDDLE, DECODING] : [SMALL, MIDDLE, DECODING, LARGE];

const textOf = ({ heads, queries, keys, dim }: Size) => `${heads} × ${queries} × ${keys} × ${dim}`;
const returns = { output: true, lse: true, probs: true, entropy: true } as const;

type Tensors = readonly [TypedTensor<"float32">, TypedTensor<"float32">, TypedTensor<"float32">];

function inputs({ heads, queries, keys, dim }: Size, amplitude = 1): Tensors {
  return [
    randomTensor(1, [1, heads, queries, dim], amplitude),
    randomTensor(2, [1, heads, keys, dim], amplitude),
    randomTensor(3, [1, heads, keys, dim]),
  ];
}

/** One key is what every query looks for: its score is far above all others. */
function oneKeyDominates(size: Size): Tensors {
  const [q, k, v] = inputs(size);
  const middle = size.keys >> 1;
  for (let h = 0; h < size.heads; ++h)
    for (let d = 0; d < size.dim; ++d) {
      const sign = d % 2 === 0 ? 4 : -4;
      for (let i = 0; i < size.queries; ++i) q.data[(h * size.queries + i) * size.dim + d]! += sign;
      k.data[(h * size.keys + middle) * size.dim + d]! += sign;
    }
  return [q, k, v];
}

const perHead = (heads: number, value: number) => new Float32Array(heads).fill(value);

/** What is special about a call: what dominates its rows, or which options it has. */
const CASES: Readonly<Record<string, (size: Size) => readonly [Tensors, ReferenceOptions]>> = {
  plain: (size) => [inputs(size), {}],
  causal: (size) => [inputs(size), { causal: true }],
  "large scores": (size) => [inputs(size, 8), {}],
  "one key dominates": (size) => [oneKeyDominates(size), {}],
  "a sink dominates": (size) => [inputs(size), { sinks: perHead(size.heads, 40) }],
  "a bias dominates": (size) => {
    const data = Float32Array.from({ length: size.keys }, (_, j) => (j === size.keys >> 1 ? 60 : 0));
    return [inputs(size), { bias: tensor(data, [1, size.keys]) }];
  },
  "ALiBi, softcap, window": (size) => [
    inputs(size, 4),
    {
      alibiSlopes: perHead(size.heads, 0.25),
      softcap: 5,
      window: { left: 100, right: 0 },
      queryOffset: size.keys - size.queries,
    },
  ],
  "a formula": (size) => [inputs(size), { score: formula("2 * s - 0.01 * abs(q - k)") }],
};

const errors = new Errors();

async function attention(hw: Attention, size: Size, what: string): Promise<void> {
  const [tensors, options] = CASES[what]!(size);
  for (const dtype of ["float32", "float16"] as const) {
    const given = dtype === "float32" ? tensors : (tensors.map((t) => toFloat16(t)) as unknown as Tensors);
    const expected = referenceAttention(...given, options);
    const result = await hw.scaledDotProductAttention(...given, { ...(options as object), returns });
    for (const name of ["output", "lse", "probs", "entropy"] as const)
      errors.add({ operation: `attention: ${name}`, what, size: textOf(size), dtype }, result[name], expected[name]);
  }
}

async function backward(hw: Attention, size: Size, what: string): Promise<void> {
  const [[query, key, value], options] = CASES[what]!(size);
  const dOutput = randomTensor(4, [1, size.heads, size.queries, size.dim]);
  const expected = referenceBackward(query, key, value, dOutput, options);
  const forward = await hw.scaledDotProductAttention(query, key, value, {
    ...(options as object),
    returns: { output: true, lse: true },
  });
  const gradients = await hw.attentionBackward({ query, key, value, ...forward, dOutput, ...(options as object) });
  for (const name of ["dQuery", "dKey", "dValue"] as const)
    errors.add(
      { operation: `gradients: ${name}`, what, size: textOf(size), dtype: "float32" },
      gradients[name],
      expected[name],
    );
}

/** The cache rounds what it stores; what it computes with that is compared. */
async function cache(hw: Attention, size: Size, dtype: "float32" | "float16" | "int8"): Promise<void> {
  const [query, key, value] = inputs(size);
  const held = await hw.kvCache({ numKvHeads: size.heads, headDim: size.dim, dtype });
  await held.append(key, value);
  const stored = await held.read();
  const { output } = await held.attend(query);
  const expected = referenceAttention(query, stored.key, stored.value);
  errors.add({ operation: "cache: output", what: "as stored", size: textOf(size), dtype }, output, expected.output);
  held.dispose();
}

async function linear(hw: Attention, rows: number, inputDim: number, outputDim: number): Promise<void> {
  const w = { layout: "in-out", inputDim, outputDim } as const;
  const size = `${rows} × ${inputDim} × ${outputDim}`;
  const [x, weight, dOutput] = [
    randomTensor(1, [rows, inputDim]),
    randomTensor(2, shapeOf(w)),
    randomTensor(4, [rows, outputDim]),
  ];
  const { y, dInput, dWeight, dBias } = referenceLinear(w, x, weight, undefined, dOutput);
  const add = (operation: string, dtype: string, result: Tensor, expected: Expected) =>
    errors.add({ operation, what: "plain", size, dtype }, result, expected);
  add("linear", "float32", await hw.linear(x, weight), y);
  const half = toFloat16(weight);
  add("linear", "float16", await hw.linear(x, half), referenceLinear(w, x, half, undefined, dOutput).y);
  const bytes = quantizeWeight(weight);
  const ofBytes = referenceLinear(w, x, dequantized(w, bytes), undefined, dOutput).y;
  // one rounding more: the sum is multiplied by the scale
  const tolerance = ofBytes.tolerance.map((t) => (t * (inputDim + 4)) / (inputDim + 2));
  add("linear", "int8", await hw.linear(x, bytes), { ...ofBytes, tolerance });
  const gradients = await hw.linearBackward({ x, weight, dOutput });
  add("linear: dInput", "float32", gradients.dInput, dInput);
  add("linear: dWeight", "float32", gradients.dWeight, dWeight);
  add("linear: dBias", "float32", gradients.dBias, dBias);
}

async function layer(hw: Attention, tokens: number, width: number, numHeads: number): Promise<void> {
  const weights = Object.fromEntries(
    ["Wq", "Wk", "Wv", "Wo"].map((name, n) => [name, randomTensor(n + 5, [width, width], 1 / Math.sqrt(width))]),
  ) as Record<"Wq" | "Wk" | "Wv" | "Wo", TypedTensor<"float32">>;
  const x = randomTensor(1, [1, tokens, width]);
  const made = await hw.multiHeadAttention({ numHeads, weights });
  const { output } = await made.forward(x);
  const rows = Array.from({ length: tokens }, (_, i) => exactRow(x.data.subarray(i * width, (i + 1) * width)));
  const bounded = referenceLayer({ numHeads, ...weights }, rows).flat();
  const expected = {
    values: Float64Array.from(bounded, ({ value }) => value),
    tolerance: Float64Array.from(bounded, ({ error }) => error),
  };
  errors.add(
    { operation: "layer", what: "plain", size: `${tokens} × ${width}, ${numHeads} heads`, dtype: "float32" },
    output,
    expected,
  );
  made.dispose();
}

/**
 * y = x cos − x′ sin. The cosine and the sine, computed in double, are rounded once, the two products and the sum once
 * each: |Δy| ≤ 3 ε (|x cos| + |x′ sin|).
 */
async function rotary(hw: Attention, { heads, queries, dim }: Size): Promise<void> {
  const x = randomTensor(1, [1, heads, queries, dim]);
  const half = dim / 2;
  const expected = { values: new Float64Array(x.data.length), tolerance: new Float64Array(x.data.length) };
  for (let row = 0; row < heads * queries; ++row)
    for (let n = 0; n < dim; ++n) {
      const angle = (row % queries) * 10000 ** (-(n % half) / half);
      const [own, other] = [x.data[row * dim + n]!, x.data[row * dim + ((n + half) % dim)]!];
      const [a, b] = [own * Math.cos(angle), (n < half ? -other : other) * Math.sin(angle)];
      expected.values[row * dim + n] = a + b;
      expected.tolerance[row * dim + n] = 3 * EPSILON * (Math.abs(a) + Math.abs(b)) + 2 ** -60;
    }
  const result = await hw.rotaryEmbedding(x);
  errors.add(
    { operation: "rotary", what: "plain", size: `${heads} × ${queries} × ${dim}`, dtype: "float32" },
    result,
    expected,
  );
}

async function all(hw: Attention): Promise<readonly Line[]> {
  for (const size of SIZES) {
    for (const what of Object.keys(CASES)) await attention(hw, size, what);
    if (size !== DECODING) for (const what of Object.keys(CASES)) await backward(hw, size, what);
    for (const dtype of ["float32", "float16", "int8"] as const) await cache(hw, size, dtype);
  }
  await linear(hw, 5, 64, 33);
  await linear(hw, 40, 512, 128);
  await linear(hw, 1, isQuick ? 1024 : 4096, 256);
  await layer(hw, 9, 16, 2);
  await layer(hw, 40, 128, 4);
  await rotary(hw, MIDDLE);
  await rotary(hw, { ...MIDDLE, queries: isQuick ? 512 : 8192 });
  return errors.lines;
}

async function measured(): Promise<object> {
  let hw;
  try {
    hw = await createAttention({ backend: "wasm", variant, threads: 2 });
  } catch (error) {
    if (UnsupportedError.is(error)) return { missing: error.message };
    throw error;
  }
  const lines = await all(hw);
  hw.dispose();
  return { variant, lines };
}

writeFileSync(report, JSON.stringify(await measured()));
