import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { createAttention, type Attention, type AttentionOptions, type AttentionResult, type Tensor } from "headwise";

import { bits, float32Of, valuesOf } from "./close.js";
import { variants } from "./engines.js";
import { calls, type Call } from "./randomCalls.js";
import { referenceAttention, type ReferenceResult } from "./reference.js";

const RUNS = Number(process.env["HEADWISE_RANDOM_RUNS"] ?? 150);

const POISONS = [NaN, Infinity, -Infinity];
const HALF_POISONS = [0x7e00, 0x7c00, 0xfc00];

/** All results except raw and softcapped scores, which have values for hidden pairs too. */
const RETURNS = { output: true, lse: true, entropy: true, probs: true, topK: 3, scores: "biased" } as const;

describe.each(variants)("variant %s", (variant) => {
  let hw: Attention;
  beforeAll(async () => {
    hw = await createAttention({ backend: "wasm", variant, threads: 1 });
  });
  afterAll(() => hw.dispose());

  const run = (call: Call, changes: Partial<Record<"key" | "value", Tensor>> & { options?: Call["options"] } = {}) => {
    const { query, key, value, options } = { ...call, ...changes };
    return hw.scaledDotProductAttention(query, key as Call["key"], value as Call["value"], {
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
          key: poison(call, "key", reference, isHidden, which),
          value: poison(call, "value", reference, isHidden, which),
        };
        expect(bits(await run(call, poisoned))).toEqual(bits(await run(call)));
      }),
      { numRuns: RUNS },
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
        const poisoned = await run(call, { [name]: poison(call, name, reference, (_b, _g, j) => j === target, which) });
        for (const row of rowsOf(reference)) {
          if (reference.biased.values[row.index * Skv + target] !== -Infinity) continue;
          expect({ row, ...rowOf(poisoned, call, reference, row) }).toEqual({
            row,
            ...rowOf(clean, call, reference, row),
          });
        }
      }),
      { numRuns: RUNS },
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
});

/** A copy in which every feature of the rows (b, g, j) chosen by `isTarget` is the poison. */
function poison(
  call: Call,
  name: "key" | "value",
  { shape }: ReferenceResult,
  isTarget: (b: number, g: number, j: number) => boolean,
  which: number,
): Tensor {
  const data = (call[name].data as Float32Array | Uint16Array).slice();
  const { B, Hkv, Skv } = shape;
  const width = name === "key" ? shape.D : shape.Dv;
  const values = data[Symbol.toStringTag] === "Uint16Array" ? HALF_POISONS : POISONS;
  for (let b = 0; b < B; ++b)
    for (let g = 0; g < Hkv; ++g)
      for (let j = 0; j < Skv; ++j)
        for (let d = 0; d < width && isTarget(b, g, j); ++d)
          data[place(call.options.layout, [b, g, j, d], [Hkv, Skv, width])] = values[which]!;
  return { data, shape: call[name].shape };
}

function place(layout: AttentionOptions["layout"], [b, h, s, d]: number[], [H, S, D]: number[]): number {
  if (layout === "BHSD") return ((b! * H! + h!) * S! + s!) * D! + d!;
  if (layout === "BES") return ((b! * H! + h!) * D! + d!) * S! + s!;
  return ((b! * S! + s!) * H! + h!) * D! + d!;
}

interface Row {
  readonly b: number;
  readonly h: number;
  readonly i: number;
  readonly index: number;
}

function rowsOf({ shape: { B, Hq, Sq } }: ReferenceResult): Row[] {
  return Array.from({ length: B * Hq * Sq }, (_, index) => ({
    b: Math.floor(index / (Hq * Sq)),
    h: Math.floor(index / Sq) % Hq,
    i: index % Sq,
    index,
  }));
}

/** Whether any query row of any head in the group sees key j. */
function keysSeen(reference: ReferenceResult): (b: number, g: number, j: number) => boolean {
  const { Hq, Hkv, Skv } = reference.shape;
  const seen = new Set<string>();
  for (const { b, h, index } of rowsOf(reference))
    for (let j = 0; j < Skv; ++j)
      if (reference.biased.values[index * Skv + j] !== -Infinity) seen.add(`${b} ${Math.floor(h / (Hq / Hkv))} ${j}`);
  return (b, g, j) => seen.has(`${b} ${g} ${j}`);
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
