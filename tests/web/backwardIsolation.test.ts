// A hidden pair changes no bit of any gradient, whatever its numbers are.

import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { createAttention, type Attention, type Tensor, type TypedTensor } from "headwise";

import { bits, valuesOf } from "./close.js";
import { callsOf } from "./depth.js";
import { variants } from "./engines.js";
import { randomTensor } from "./randomTensor.js";

const RUNS = callsOf(60);
const [B, HQ, HKV, SQ, SKV, D, DV] = [2, 4, 2, 21, 37, 6, 5];
const POISONS = [NaN, Infinity, -Infinity];
const ALL = {
  dQuery: true,
  dKey: true,
  dValue: true,
  dBias: true,
  dSinks: true,
  dHeadGain: true,
  dAlibiSlopes: true,
} as const;

type Floats = TypedTensor<"float32">;
type Names = "query" | "key" | "value" | "bias" | "output" | "lse" | "dOutput";

/** Which pairs are visible: [B, HQ, SQ, SKV]. */
function maskOf(seed: number): Tensor<"bool"> {
  const numbers = randomTensor(seed, [B, HQ, SQ, SKV]).data;
  const at = (n: number) => [Math.floor(n / SKV) % SQ, n % SKV] as const;
  // the last rows see nothing, and the last keys are seen by nobody
  const isOpen = (n: number) => at(n)[0] < SQ - 2 && at(n)[1] < SKV - 3 && numbers[n]! < 0.2;
  return { data: Uint8Array.from({ length: numbers.length }, (_, n) => Number(isOpen(n))), shape: [B, HQ, SQ, SKV] };
}

const options = {
  causal: true,
  window: { left: 20 },
  softcap: 4,
  keyLengths: [SKV, SKV - 5],
  queryLengths: [SQ, SQ - 4],
  alibiSlopes: [0.5, 0.25, -0.125, 0.0625],
  sinks: [0.5, -1, 0, -Infinity],
  headGain: [1, 2, -0.5, 1],
};

/** The pairs that the options show: [B, HQ, SQ, SKV]. */
function visible({ data }: Tensor<"bool">): (b: number, h: number, i: number, j: number) => boolean {
  return (b, h, i, j) => {
    const offset = options.keyLengths[b]! - options.queryLengths[b]!;
    const distance = i + offset - j;
    const isInside = i < options.queryLengths[b]! && j < options.keyLengths[b]!;
    return isInside && distance >= 0 && distance <= 20 && data[((b * HQ + h) * SQ + i) * SKV + j] === 1;
  };
}

const range = (length: number) => Array.from({ length }, (_, n) => n);

describe.each(variants)("variant %s", (variant) => {
  let hw: Attention;
  beforeAll(async () => {
    hw = await createAttention({ backend: "wasm", variant, threads: 2 });
  });
  afterAll(() => hw.dispose());

  async function callOf(seed: number) {
    const mask = maskOf(seed);
    const tensors = {
      query: randomTensor(seed + 1, [B, HQ, SQ, D]),
      key: randomTensor(seed + 2, [B, HKV, SKV, D]),
      value: randomTensor(seed + 3, [B, HKV, SKV, DV]),
      bias: randomTensor(seed + 4, [B, HQ, SQ, SKV]),
    };
    const { query, key, value, bias } = tensors;
    const { output, lse } = await hw.scaledDotProductAttention(query, key, value, {
      ...options,
      bias,
      mask,
      returns: { lse: true },
    });
    return {
      mask,
      given: { ...tensors, output: output, lse, dOutput: randomTensor(seed + 5, [B, HQ, SQ, DV]) },
    };
  }

  const gradients = async (mask: Tensor<"bool">, given: Record<Names, Floats>) =>
    bits(await hw.attentionBackward({ ...given, ...options, mask, returns: ALL }));

  test("NaN and Inf in everything that only hidden pairs and rows without keys have", async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(10_000), fc.constantFrom(...POISONS), async (seed, poison) => {
        const { mask, given } = await callOf(seed);
        const isSeen = visible(mask);
        const rowIsEmpty = (b: number, h: number, i: number) => !range(SKV).some((j) => isSeen(b, h, i, j));
        const heads = range(HQ / HKV);
        const keyIsHidden = (b: number, g: number, j: number) =>
          !heads.some((h) => range(SQ).some((i) => isSeen(b, g * heads.length + h, i, j)));
        const poisonRows = (
          tensor: Floats,
          H: number,
          S: number,
          test: (b: number, h: number, s: number) => boolean,
        ) => {
          const data = tensor.data.slice();
          const width = data.length / (B * H * S);
          for (const b of range(B))
            for (const h of range(H))
              for (const s of range(S)) {
                const start = ((b * H + h) * S + s) * width;
                if (test(b, h, s)) data.fill(poison, start, start + width);
              }
          return { ...tensor, data };
        };
        const bias = {
          ...given.bias,
          data: given.bias.data.map((x, n) => {
            const [b, h, i, j] = [Math.floor(n / (HQ * SQ * SKV)), Math.floor(n / (SQ * SKV)) % HQ, Math.floor(n / SKV) % SQ, n % SKV]; // oxfmt-ignore
            return isSeen(b, h, i, j) ? x : poison;
          }),
        };
        const poisoned = {
          bias,
          query: poisonRows(given.query, HQ, SQ, rowIsEmpty),
          output: poisonRows(given.output, HQ, SQ, rowIsEmpty),
          dOutput: poisonRows(given.dOutput, HQ, SQ, rowIsEmpty),
          lse: poisonRows(given.lse, HQ, SQ, rowIsEmpty),
          key: poisonRows(given.key, HKV, SKV, keyIsHidden),
          value: poisonRows(given.value, HKV, SKV, keyIsHidden),
        };
        const clean = await gradients(mask, given);
        for (const name of Object.keys(poisoned) as Names[])
          expect([name, await gradients(mask, { ...given, [name]: poisoned[name] })]).toEqual([name, clean]);
        expect(await gradients(mask, poisoned)).toEqual(clean);
      }),
      { numRuns: RUNS },
    );
  });

  test("a NaN query, or a NaN gradient of an output, poisons its row and the keys that it sees, and nothing else", async () => {
    const [S, W, row] = [40, 8, 11];
    const [query, key, value] = [randomTensor(1, [S, W]), randomTensor(2, [S, W]), randomTensor(3, [S, W])];
    const rules = { causal: true, window: { left: 5 } } as const;
    const call = { query, key, value, ...rules };
    const { output, lse } = await hw.scaledDotProductAttention(query, key, value, { ...rules, returns: { lse: true } });
    const dOutput = randomTensor(4, [S, W]);
    const clean = await hw.attentionBackward({ ...call, output, lse, dOutput });
    for (const name of ["query", "dOutput"] as const) {
      const given = { query, dOutput };
      const data = given[name].data.slice().fill(NaN, row * W, (row + 1) * W);
      const result = await hw.attentionBackward({ ...call, output, lse, dOutput, [name]: { ...given[name], data } });
      const rowsOf = (tensor: Tensor) =>
        range(S).map((s) => [...(valuesOf(tensor) as Float32Array)].slice(s * W, (s + 1) * W));
      const [dQuery, dKey] = [rowsOf(result.dQuery), rowsOf(result.dKey)];
      for (const s of range(S)) {
        const isPoisoned = { dQuery: s === row, dKey: s <= row && s >= row - 5 };
        expect([name, s, dQuery[s]!.every(Number.isNaN)]).toEqual([name, s, isPoisoned.dQuery]);
        expect([name, s, dKey[s]!.every(Number.isNaN)]).toEqual([name, s, isPoisoned.dKey]);
        if (!isPoisoned.dQuery) expect(dQuery[s]).toEqual(rowsOf(clean.dQuery)[s]);
        if (!isPoisoned.dKey) expect(dKey[s]).toEqual(rowsOf(clean.dKey)[s]);
      }
    }
  });
});
