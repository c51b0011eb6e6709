// What a row does not see changes no bit of it, whatever its numbers are: for every option and engine.

import { afterAll, beforeAll, expect, test } from "@jest/globals";
import fc from "fast-check";
import type { Attention, AttentionResult, Tensor } from "headwise";

import { bits, float32Of, valuesOf } from "./close.js";
import { parametersOf } from "./depth.js";
import { hiddenBias, keysSeen, place, poisonRows, rowsOf, type Row } from "./poison.js";
import { calls, type Call } from "./randomCalls.js";
import { referenceAttention, type ReferenceResult } from "../attention-conformance/reference/reference.js";

/** All results except raw and softcapped scores, which have values for hidden pairs too. */
const RETURNS = { output: true, lse: true, entropy: true, probs: true, topK: 3, scores: "biased" } as const;

const biasedCalls = calls.filter(({ options }) => options.bias !== undefined);

/**
 * Makes the tests of an engine.
 *
 * @param usual - The number of random calls if the environment names none.
 * @param seeded - A seed with which all tests draw the same calls: a GPU compiles their kernels once.
 */
export function isolationTests(create: () => Promise<Attention>, usual: number, seeded: { seed?: number } = {}): void {
  let hw: Attention;
  beforeAll(async () => {
    hw = await create();
  });
  afterAll(() => hw.dispose());
  const parameters = { ...seeded, ...parametersOf(usual) };
  const fewer = { ...seeded, ...parametersOf(Math.ceil(usual / 5)) };

  const run = (
    call: Call,
    changes: Partial<Record<"query" | "key" | "value", Tensor>> & { options?: Call["options"] } = {},
  ) => {
    const { query, key, value, options } = { ...call, ...changes };
    return hw.scaledDotProductAttention(query as Call["query"], key as Call["key"], value as Call["value"], {
      ...options,
      emptyRows: "zero",
      returns: RETURNS,
    });
  };

  test("NaN and Inf in keys and values that no row sees change no bit", async () => {
    await fc.assert(
      fc.asyncProperty(calls, fc.nat(2), async (call, which) => {
        const reference = referenceAttention(call.query, call.key, call.value, { ...call.options, emptyRows: "zero" });
        const isSeen = keysSeen(reference);
        const isHidden = (b: number, g: number, j: number) => !isSeen(b, g, j);
        const poisoned = {
          key: poisonRows(call, "key", reference, isHidden, which),
          value: poisonRows(call, "value", reference, isHidden, which),
        };
        expect(bits(await run(call, poisoned))).toEqual(bits(await run(call)));
      }),
      parameters,
    );
  });

  test("a key or value that some rows see poisons those rows and no bit of the others", async () => {
    await fc.assert(
      fc.asyncProperty(calls, fc.nat(), fc.nat(2), fc.constantFrom("key", "value"), async (call, pick, which, name) => {
        const reference = referenceAttention(call.query, call.key, call.value, { ...call.options, emptyRows: "zero" });
        const { Skv } = reference.shape;
        fc.pre(Skv > 0);
        const target = pick % Skv;
        const clean = await run(call);
        const poisoned = await run(call, {
          [name]: poisonRows(call, name, reference, (_b, _g, j) => j === target, which),
        });
        for (const row of rowsOf(reference)) {
          if (reference.biased.values[row.index * Skv + target] !== -Infinity) continue;
          expect({ row, ...rowOf(poisoned, call, reference, row) }).toEqual({
            row,
            ...rowOf(clean, call, reference, row),
          });
        }
      }),
      parameters,
    );
  });

  test("NaN and Inf in the bias of pairs that something else hides change no bit", async () => {
    await fc.assert(
      fc.asyncProperty(biasedCalls, fc.nat(2), async (call, which) => {
        const bias = hiddenBias(call, which);
        const poisoned = { options: { ...call.options, bias } };
        expect(bits(await run(call, poisoned))).toEqual(bits(await run(call)));
      }),
      fewer,
    );
  });

  test("a query poisons its own row and no bit of the others", async () => {
    await fc.assert(
      fc.asyncProperty(calls, fc.nat(), fc.nat(2), async (call, pick, which) => {
        const reference = referenceAttention(call.query, call.key, call.value, { ...call.options, emptyRows: "zero" });
        const { Sq } = reference.shape;
        fc.pre(Sq > 0);
        const target = pick % Sq;
        const clean = await run(call);
        const query = poisonRows(call, "query", reference, (_b, _h, i) => i === target, which);
        const poisoned = await run(call, { query });
        for (const row of rowsOf(reference)) {
          if (row.i === target) continue;
          expect({ row, ...rowOf(poisoned, call, reference, row) }).toEqual({
            row,
            ...rowOf(clean, call, reference, row),
          });
        }
      }),
      fewer,
    );
  });

  test("a visible NaN key makes its row NaN, a neighbour that does not see it stays finite", async () => {
    const [S, D] = [37, 24];
    const data = Float32Array.from({ length: S * D }, (_, k) => Math.sin(k));
    const key = { data: data.slice().fill(NaN, 20 * D, 21 * D), shape: [S, D] };
    const x = { data, shape: [S, D] };
    const { output } = await hw.scaledDotProductAttention(x, key, x, { causal: true });
    for (let i = 0; i < S; ++i) {
      const row = [...float32Of(output).subarray(i * D, (i + 1) * D)];
      expect([i, row.every(Number.isNaN), row.every(Number.isFinite)]).toEqual([i, i >= 20, i < 20]);
    }
  });

  test("NaN in the bias of a pair that the mask hides changes no bit", async () => {
    const [S, D] = [19, 8];
    const x = { data: Float32Array.from({ length: S * D }, (_, k) => Math.cos(k)), shape: [S, D] };
    const mask = { data: Uint8Array.from({ length: S * S }, (_, k) => Number(k % 3 !== 1)), shape: [S, S] };
    const biasWith = (hidden: number) => ({
      data: Float32Array.from({ length: S * S }, (_, k) => (mask.data[k] ? Math.sin(k) : hidden)),
      shape: [S, S],
    });
    const run = (hidden: number) =>
      hw.scaledDotProductAttention(x, x, x, { mask, bias: biasWith(hidden), returns: RETURNS });
    const clean = bits(await run(0));
    for (const hidden of [NaN, Infinity, -Infinity]) expect(bits(await run(hidden))).toEqual(clean);
  });

  test("a finite minimum in the bias stays visible, minus infinity hides, plus infinity poisons its own row", async () => {
    const x = { data: Float32Array.of(1, 2, 3), shape: [3, 1] };
    const bias = { data: Float32Array.of(-3.4e38, -3.4e38, -3.4e38, 0, -Infinity, 0, 0, Infinity, 0), shape: [3, 3] };
    const { output, probs } = await hw.scaledDotProductAttention(x, x, x, { bias, scale: 0, returns: { probs: true } });
    expect([...probs.data.subarray(0, 3)].map((p) => p.toFixed(6))).toEqual(["0.333333", "0.333333", "0.333333"]);
    expect([...probs.data.subarray(3, 6)]).toEqual([0.5, 0, 0.5]);
    expect(Number.isNaN(valuesOf(output)[2])).toBe(true);
  });
}

/** One query row of every result. */
function rowOf(
  { output, lse, entropy, probs, scores }: AttentionResult,
  { options }: Call,
  { shape: { Hq, Sq, Skv, Dv } }: ReferenceResult,
  { b, h, i, index }: Row,
): Record<string, unknown> {
  const features = Array.from({ length: Dv }, (_, d) => output.data[place(options.layout, [b, h, i, d], [Hq, Sq, Dv])]);
  const keys = (tensor: Tensor) => [...(tensor.data as Float32Array).subarray(index * Skv, (index + 1) * Skv)];
  return {
    features,
    lse: lse!.data[index],
    entropy: entropy!.data[index],
    probs: keys(probs!),
    scores: keys(scores!),
  };
}
