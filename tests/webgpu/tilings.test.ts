import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { Attention } from "headwise";

import { attentionCases } from "../web/cases.js";
import { float32Of } from "../web/close.js";
import { randomTensor } from "../web/randomTensor.js";
import { referenceAttention } from "../attention-conformance/reference/reference.js";
import { resultProblems } from "../web/resultProblems.js";
import { createOnSharedDevice, describeOnGpu } from "./gpu.js";

/** The table's cases run with "narrow" in attention.test.ts. Other widths differ in numbers only. */
const TILINGS = ["narrow", "wide", "general"] as const;
const CASES = attentionCases().filter(({ name, value }) => name.startsWith("whole-64") && value.shape.at(-1) === 64);

interface Shape {
  readonly B?: number;
  readonly Hq?: number;
  readonly Hkv?: number;
  readonly Sq?: number;
  readonly Skv?: number;
  readonly D?: number;
  readonly Dv?: number;
}

function inputs({ B = 1, Hq = 2, Hkv = Hq, Sq = 70, Skv = 100, D = 64, Dv = D }: Shape) {
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
    for (const tiling of TILINGS) instances.set(tiling, await createOnSharedDevice({ tiling }));
  });
  afterAll(() => {
    for (const hw of instances.values()) hw.dispose();
  });

  const rows = (["wide", "general"] as const).flatMap((tiling) =>
    CASES.map((call) => [tiling, call.name, call] as const),
  );

  test.each(rows)("%s computes %s within the error model", async (tiling, _, { query, key, value, options }) => {
    const result = await on(tiling).scaledDotProductAttention(query, key, value, options);
    expect(resultProblems(result, options.returns, referenceAttention(query, key, value, options))).toEqual({});
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
        const { output } = await cache.attend(randomTensor(6, [1, 1, Sq, 64]), { causal: true, window: { left: 50 } });
        return float32Of(output);
      }),
    );
    const [own, general] = outputs as [Float32Array, Float32Array];
    expect(Math.max(...own.map((x, n) => Math.abs(x - general[n]!)))).toBeLessThan(1e-5);
  });

  test.each(TILINGS)("%s lets NaN and infinity reach the rows that see them, and no other", async (tiling) => {
    const clean = inputs({ Hq: 1, Sq: 90, Skv: 90 });
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
