// Formulas on WebGPU. Each rule is computed twice by the same engine: as a formula, and as a built-in option or a dense
// mask or bias. tests/webgpu/formulaReference.test.ts compares with doubles.

import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { createAttention, type Attention, type AttentionOptions } from "headwise";
import { formula, type FormulaData } from "headwise/formula";

import { float32Of } from "../web/close.js";
import { randomTensor } from "../web/randomTensor.js";
import { describeOnGpu, gpu } from "./gpu.js";

interface Shape {
  readonly B: number;
  readonly Hq: number;
  readonly Hkv: number;
  readonly Sq: number;
  readonly Skv: number;
  readonly D: number;
}

/** Shapes for each kernel: whole heads, chunks of heads, and few rows with keys in parts. */
const SHAPES: Readonly<Record<string, Shape>> = {
  whole: { B: 1, Hq: 2, Hkv: 1, Sq: 70, Skv: 150, D: 64 },
  general: { B: 2, Hq: 2, Hkv: 2, Sq: 40, Skv: 100, D: 20 },
  decode: { B: 2, Hq: 4, Hkv: 2, Sq: 2, Skv: 300, D: 32 },
};

/** The position of query 0 in every call, so that few rows also see keys on both sides. */
const OFFSET = 41;

interface Pair {
  readonly q: number;
  readonly k: number;
  readonly i: number;
  readonly j: number;
  readonly h: number;
  readonly b: number;
}

/** A rule as formulas, and as what they must give. */
interface Rule {
  readonly formulas: { readonly score?: FormulaData; readonly visible?: FormulaData };
  readonly options?: Partial<AttentionOptions>;
  readonly mask?: (pair: Pair) => boolean;
  /** Added to the score. */
  readonly bias?: (pair: Pair) => number;
  /** Of both calls. */
  readonly both?: Partial<AttentionOptions>;
  /** Compiling takes most of the time, and the kernel of few rows is compiled the fastest. Default: that one alone. */
  readonly shapes?: readonly string[];
}

const SLOPES = [0.5, 0.125, 0.25, 1];
const DOCUMENTS = Int32Array.from({ length: 512 }, (_, n) => Math.floor(n / 37));
const T5 = Float32Array.from({ length: 4 * 32 }, (_, n) => Math.sin(n));

/** T5's bucket of a distance, for one direction. */
function bucketOf(distance: number): number {
  if (distance < 16) return distance;
  return Math.min(31, 16 + Math.floor((Math.log(distance / 16) / Math.log(8)) * 16));
}
const BUCKETS = Float32Array.from({ length: 512 }, (_, n) => bucketOf(n));

const RULES: Readonly<Record<string, Rule>> = {
  causal: { formulas: { visible: formula("k <= q") }, options: { causal: "upper-left" } },
  window: {
    formulas: { visible: formula("q - k <= left && k - q <= 3", { left: 20 }) },
    options: { window: { left: 20, right: 3 } },
  },
  "a window by its size": {
    formulas: { visible: formula("abs(q - k) < w", { w: 8.5 }) },
    mask: ({ q, k }) => Math.abs(q - k) < 8.5,
  },
  "windows of heads": {
    formulas: { visible: formula("k <= q && q - k < w[h]", { w: [5, Infinity, 12, 70] }) },
    mask: ({ q, k, h }) => k <= q && q - k < [5, Infinity, 12, 70][h]!,
  },
  ALiBi: {
    formulas: { score: formula("s - slope[h] * abs(q - k)", { slope: SLOPES }) },
    bias: ({ q, k, h }) => -SLOPES[h]! * Math.abs(q - k),
    shapes: ["whole", "decode"],
  },
  softcap: { formulas: { score: formula("c * tanh(s / c)", { c: 0.7 }) }, options: { softcap: 0.7 } },
  excludeSelf: { formulas: { visible: formula("k != q") }, options: { excludeSelf: true } },
  documents: {
    formulas: { visible: formula("doc[q] == doc[k]", { doc: DOCUMENTS }) },
    mask: ({ q, k }) => DOCUMENTS[q] === DOCUMENTS[k],
  },
  "causal documents": {
    formulas: { visible: formula("doc[q] == doc[k] && k <= q", { doc: DOCUMENTS }) },
    mask: ({ q, k }) => DOCUMENTS[q] === DOCUMENTS[k] && k <= q,
    shapes: ["whole", "general", "decode"],
  },
  "a prefix": {
    formulas: { visible: formula("k <= q || k < prefix[b]", { prefix: [9, 33] }) },
    mask: ({ q, k, b }) => k <= q || k < [9, 33][b]!,
  },
  "a sliding window with sinks": {
    formulas: { visible: formula("k <= q && (q - k < 16 || k < 4)") },
    mask: ({ q, k }) => k <= q && (q - k < 16 || k < 4),
  },
  dilated: { formulas: { visible: formula("(q - k) % 3 == 0") }, mask: ({ q, k }) => (q - k) % 3 === 0 },
  "T5's buckets": {
    formulas: { score: formula("s + t[h][bucket[abs(q - k)]]", { t: { data: T5, shape: [4, 32] }, bucket: BUCKETS }) },
    bias: ({ q, k, h }) => T5[32 * h + BUCKETS[Math.abs(q - k)]!]!,
  },
  "neighbours in an image": {
    formulas: { visible: formula("abs(floor(q / w) - floor(k / w)) <= 1 && abs(q % w - k % w) <= 2", { w: 11 }) },
    mask: ({ q, k }) => Math.abs(Math.floor(q / 11) - Math.floor(k / 11)) <= 1 && Math.abs((q % 11) - (k % 11)) <= 2,
  },
  "key lengths": {
    formulas: { visible: formula("j < length[b]", { length: [31, 90] }) },
    mask: ({ j, b }) => j < [31, 90][b]!,
  },
  "-Infinity in a score": { formulas: { score: formula("k % 2 == 0 ? s : -Infinity") }, mask: ({ k }) => k % 2 === 0 },
  "a table with -Infinity": {
    formulas: { score: formula("s + (k < 4 ? t[k] : 0)", { t: [0, -Infinity, 1, -Infinity] }) },
    bias: ({ k }) => [0, -Infinity, 1, -Infinity][k] ?? 0,
  },
  "a score that empties rows": { formulas: { score: formula("i < 1 ? -Infinity : s") }, mask: ({ i }) => i >= 1 },
  "a formula beside other rules": {
    formulas: { score: formula("s * 2 - k / 64"), visible: formula("k != 3") },
    mask: ({ k }) => k !== 3,
    bias: ({ k }) => -k / 64,
    options: { scale: 1 },
    both: { scale: 0.5, window: { left: 60 } },
  },
};

const RETURNS = { lse: true, entropy: true, probs: true } as const;

function calls({ B, Hq, Hkv, Sq, Skv, D }: Shape, rule: Rule) {
  const inputs = [
    randomTensor(1, [B, Hq, Sq, D]),
    randomTensor(2, [B, Hkv, Skv, D]),
    randomTensor(3, [B, Hkv, Skv, D]),
  ] as const;
  const dense = <T>(of: (pair: Pair) => T) =>
    Array.from({ length: B * Hq * Sq * Skv }, (_, n) => {
      const [j, i, h, b] = [
        n % Skv,
        Math.floor(n / Skv) % Sq,
        Math.floor(n / Skv / Sq) % Hq,
        Math.floor(n / Skv / Sq / Hq),
      ];
      return of({ q: i + OFFSET, k: j, i, j, h, b });
    });
  const shape = [B, Hq, Sq, Skv];
  const expected: AttentionOptions = {
    queryOffset: OFFSET,
    ...rule.both,
    ...rule.options,
    ...(rule.mask && { mask: { data: Uint8Array.from(dense(rule.mask), Number), shape } }),
    ...(rule.bias && { bias: { data: Float32Array.from(dense(rule.bias)), shape } }),
  };
  return { inputs, given: { queryOffset: OFFSET, ...rule.both, ...rule.formulas } as AttentionOptions, expected };
}

const floatsOf = (result: object) => float32Of(result as Parameters<typeof float32Of>[0]);

/** The largest difference between two results; Infinity if one is NaN or infinite and the other is not. */
function differenceOf(a: Float32Array, b: Float32Array): number {
  let most = a.length === b.length ? 0 : Infinity;
  a.forEach((x, n) => {
    const y = b[n]!;
    const difference = Object.is(x, y) || x === y ? 0 : Math.abs(x - y);
    most = Math.max(most, Number.isNaN(difference) ? Infinity : difference);
  });
  return most;
}

describeOnGpu("formulas on WebGPU", () => {
  let hw: Attention;
  beforeAll(async () => {
    hw = await createAttention({ backend: "webgpu", gpu: gpu! });
  });
  afterAll(() => hw.dispose());

  const rows = Object.entries(RULES).flatMap(([name, { shapes = ["decode"] }]) =>
    shapes.map((shape) => [name, shape] as const),
  );

  test.each(rows)("%s is as its option or its dense form (%s)", async (name, shape) => {
    const { inputs, given, expected } = calls(SHAPES[shape]!, RULES[name]!);
    const found = await hw.scaledDotProductAttention(...inputs, { ...given, returns: RETURNS });
    const wanted = await hw.scaledDotProductAttention(...inputs, { ...expected, returns: RETURNS });
    for (const part of ["output", "lse", "entropy", "probs"] as const)
      expect([part, differenceOf(floatsOf(found[part]), floatsOf(wanted[part]))]).toEqual([part, expect.closeTo(0, 5)]);
  });
});
