import { afterAll, beforeAll, expect, test } from "@jest/globals";
import {
  toFloat16,
  createAttention,
  type Attention,
  type AttentionOptions,
  type AttentionResult,
  type FloatTensor,
} from "headwise";

import { float32Of } from "../web/close.js";
import { randomTensor } from "../web/randomTensor.js";
import { referenceAttention } from "../web/reference.js";
import { resultProblems } from "../web/resultProblems.js";
import { describeOnGpu, gpu } from "./gpu.js";

const TILINGS = ["wide", "narrow", "general"] as const;

interface Case {
  readonly name: string;
  readonly B?: number;
  readonly Hq?: number;
  readonly Hkv?: number;
  readonly Sq?: number;
  readonly Skv?: number;
  readonly D?: number;
  readonly Dv?: number;
  readonly options?: AttentionOptions;
}

const everyRow = (visible: (i: number, j: number) => boolean, Sq: number, Skv: number) => ({
  data: Uint8Array.from({ length: Sq * Skv }, (_, n) => Number(visible(Math.floor(n / Skv), n % Skv))),
  shape: [Sq, Skv],
  dtype: "bool" as const,
});

/** More than one tile of rows and of keys, and none of them whole. */
const CASES: readonly Case[] = [
  { name: "dense" },
  { name: "causal, in groups", B: 2, Hq: 6, Hkv: 2, Sq: 45, Skv: 75, options: { causal: true } },
  { name: "causal from a far position", Sq: 70, Skv: 200, options: { causal: true, queryOffset: 130 } },
  { name: "padding on both sides", B: 2, options: { keyLengths: [100, 33], queryLengths: [9, 70] } },
  { name: "a window, without oneself", Skv: 90, Sq: 90, options: { window: { left: 20, right: 40 }, excludeSelf: true } },
  { name: "a mask with empty rows", options: { mask: everyRow((i, j) => i % 7 > 0 && (i * j) % 5 < 2, 70, 100) } },
  {
    name: "bias, ALiBi, softcap, sinks and gains",
    options: {
      bias: randomTensor(9, [2, 70, 100]),
      alibiSlopes: [0.25, -0.125],
      softcap: 3,
      sinks: [0.5, -Infinity],
      headGain: [0.5, 0],
    },
  },
  { name: "parts of the keys", Hq: 1, Sq: 40, Skv: 1300 },
  { name: "parts of the keys, with a window", Hq: 1, Sq: 40, Skv: 1300, options: { window: { left: 1117 }, queryOffset: 1250 } },
  { name: "values wider than keys", D: 64, Dv: 128, options: { causal: true } },
  { name: "keys wider than values", D: 96, Dv: 80 },
  { name: "width 80", D: 80, Dv: 80, options: { causal: true } },
  { name: "width 128", D: 128, Dv: 128, options: { causal: true } },
  { name: "width 256", D: 256, Dv: 256, options: { causal: true } },
  { name: "a sequence that ends with a tile", Sq: 64, Skv: 64, options: { causal: true } },
  { name: "large scores", options: { scale: 40 } },
]; // prettier-ignore

const RETURNS = { output: true, lse: true, entropy: true, probs: { heads: [0], queries: [0, 39] } } as const;

const width64 = ({ D = 64, Dv = D }: Case) => D === 64 && Dv === 64;

function inputs({ B = 1, Hq = 2, Hkv = Hq, Sq = 70, Skv = 100, D = 64, Dv = D }: Case) {
  return {
    query: randomTensor(1, [B, Hq, Sq, D]),
    key: randomTensor(2, [B, Hkv, Skv, D]),
    value: randomTensor(3, [B, Hkv, Skv, Dv]),
  };
}

describeOnGpu("every tiling", () => {
  const instances = new Map<string, Attention>();
  const on = (tiling: string) => instances.get(tiling)!;
  beforeAll(async () => {
    for (const tiling of TILINGS)
      instances.set(tiling, await createAttention({ backend: "webgpu", gpu: gpu!, tiling }));
  });
  afterAll(() => {
    for (const hw of instances.values()) hw.dispose();
  });

  // A software adapter needs seconds for each pipeline. So one tiling computes the other widths: their texts differ in numbers only.
  const rows = TILINGS.flatMap((tiling) =>
    CASES.filter((call) => tiling === "wide" || width64(call)).map((call) => [tiling, call.name, call] as const),
  );

  test.each(rows)("%s computes %s within the error model", async (tiling, _, call) => {
    const { query, key, value } = inputs(call);
    for (const returns of width64(call) ? [{ lse: true } as const, RETURNS] : [{ lse: true } as const]) {
      const options = { ...call.options, returns };
      const result = (await on(tiling).scaledDotProductAttention(query, key, value, options)) as AttentionResult;
      expect(resultProblems(result, returns, referenceAttention(query, key, value, options as never))).toEqual({});
    }
  });

  test.each(TILINGS)("%s reads float16", async (tiling) => {
    const { query, key, value } = inputs({ name: "" });
    const [q, k, v] = [query, key, value].map((tensor) => toFloat16(tensor)) as [FloatTensor, FloatTensor, FloatTensor];
    const result = await on(tiling).scaledDotProductAttention(q, k, v, { causal: true, returns: { lse: true } });
    const reference = referenceAttention(q, k, v, { causal: true });
    expect(resultProblems(result, { lse: true }, reference)).toEqual({});
  });

  test.each(TILINGS)("%s reads a ring of float16", async (tiling) => {
    const [tokens, window, Sq] = [150, 96, 40];
    const outputs = await Promise.all(
      [on(tiling), on("general")].map(async (hw) => {
        const cache = await hw.kvCache({
          batchSize: 1,
          numKvHeads: 1,
          headDim: 64,
          dtype: "float16",
          ring: { window },
        });
        await cache.append(randomTensor(4, [1, 1, tokens, 64]), randomTensor(5, [1, 1, tokens, 64]));
        const { output } = await cache.attend(randomTensor(6, [1, 1, Sq, 64]), { causal: true });
        return float32Of(output);
      }),
    );
    const [own, general] = outputs as [Float32Array, Float32Array];
    expect(Math.max(...own.map((x, n) => Math.abs(x - general[n]!)))).toBeLessThan(1e-5);
  });

  test.each(TILINGS)("%s lets NaN and infinity reach the rows that see them, and no other", async (tiling) => {
    const call = { name: "", Hq: 1, Sq: 90, Skv: 90 };
    const clean = inputs(call);
    const spoil = (tensor: { data: Float32Array; shape: readonly number[] }, row: number, x: number) => {
      const data = tensor.data.slice();
      data[row * 64 + 13] = x;
      return { ...tensor, data };
    };
    const run = async (given: typeof clean) => {
      const { output } = await on(tiling).scaledDotProductAttention(given.query, given.key, given.value, {
        causal: true,
      });
      return Array.from({ length: 90 }, (_, i) => Array.from(float32Of(output).subarray(64 * i, 64 * i + 64)));
    };
    const expected = await run(clean);
    const isNaNRow = (row: readonly number[]) => row.every(Number.isNaN);
    for (const [name, row, from] of [
      ["key", 40, 40],
      ["value", 41, 41],
      ["value", 89, 89],
      ["query", 7, 7],
    ] as const)
      for (const x of [NaN, Infinity, -Infinity]) {
        const found = await run({ ...clean, [name]: spoil(clean[name], row, x) });
        const poisoned = found.flatMap((numbers, i) => (isNaNRow(numbers) ? [i] : []));
        const reached = name === "query" ? [row] : Array.from({ length: 90 - from }, (_, n) => from + n);
        expect([name, x, poisoned]).toEqual([name, x, reached]);
        const others = (all: number[][]) => all.filter((_, i) => !reached.includes(i));
        expect(others(found)).toEqual(others(expected));
      }
  });
});
