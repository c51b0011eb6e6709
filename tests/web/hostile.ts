// Hostile arguments, for every entry and engine. A call must give a typed error or a correct result. It must never give
// numbers from other memory, and afterwards the instance must compute as before.

import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { HeadwiseError, type Attention } from "headwise";
import { attention as onnxAttention, rotaryEmbedding as onnxRotary } from "headwise/onnx";

import { bits } from "./close.js";
import { attacked, attacks, SECRET } from "./hostileArguments.js";

/** Multiples of 1/8 between −1 and 1, so that sums and means of them stay small. */
const floats = (seed: number, ...shape: number[]) => ({
  data: Float32Array.from({ length: shape.reduce((n, x) => n * x, 1) }, (_, k) => (((k + seed) * 7) % 17) / 8 - 1),
  shape,
});

const B = 2;
const H = 2;
const S = 5;
const D = 4;

type Run = (hw: Attention, args: never) => Promise<unknown>;
interface Program {
  readonly args: () => readonly unknown[];
  readonly run: Run;
}

const attentionOptions = () => ({
  layout: "BHSD",
  causal: true,
  window: { left: 4 },
  queryOffset: [0, 1],
  mask: { data: new Uint8Array(S * S).fill(1), shape: [S, S] },
  bias: floats(3, B, H, S, S),
  keyLengths: [S, 3],
  alibiSlopes: [0.5, 0.25],
  sinks: { data: new Float32Array(H), shape: [H] },
  into: floats(0, B, H, S, D),
  returns: { output: true, lse: true, probs: { heads: [1], queries: [0, 4] }, topK: 2, scores: "biased" },
});
const heads = (seed: number) => floats(seed, B, H, S, D);

/** Calls of every kind. The arguments are made again for each call. */
const PROGRAMS: Readonly<Record<string, Program>> = {
  scaledDotProductAttention: {
    args: () => [heads(1), heads(2), heads(3), attentionOptions()],
    run: (hw, args: Parameters<Attention["scaledDotProductAttention"]>) => hw.scaledDotProductAttention(...args),
  },
  "a ragged batch": {
    args: () => [
      floats(1, 6, H, D),
      floats(2, 6, H, D),
      floats(3, 6, H, D),
      { layout: "BSHD", cuSeqLensQuery: [0, 2, 6], cuSeqLensKey: new Int32Array([0, 3, 6]), returns: { lse: true } },
    ],
    run: (hw, args: Parameters<Attention["scaledDotProductAttention"]>) => hw.scaledDotProductAttention(...args),
  },
  attentionBackward: {
    args: () => {
      const tensors = { query: heads(1), key: heads(2), value: heads(3), output: heads(4), dOutput: heads(5) };
      const returns = { dQuery: true, dKey: true, dValue: true, dBias: true, dSinks: true, dHeadGain: true };
      return [{ ...attentionOptions(), into: undefined, ...tensors, lse: floats(6, B, H, S), returns }];
    },
    run: (hw, args: Parameters<Attention["attentionBackward"]>) => hw.attentionBackward(...args),
  },
  rotaryEmbedding: {
    args: () => [heads(1), { positions: [0, 1, 2, 3, 4], rotaryDim: 2, scaling: { kind: "linear", factor: 2 } }],
    run: (hw, args: Parameters<Attention["rotaryEmbedding"]>) => hw.rotaryEmbedding(...args),
  },
  "rotaryEmbedding with tables": {
    args: () => [heads(1), { cos: floats(1, S, D / 2), sin: floats(2, S, D / 2), into: heads(0) }],
    run: (hw, args: Parameters<Attention["rotaryEmbedding"]>) => hw.rotaryEmbedding(...args),
  },
  mergeAttention: {
    args: () => [
      [
        { output: heads(1), lse: floats(1, B, H, S) },
        { output: heads(2), lse: floats(2, B, H, S) },
      ],
      { sinks: [0, 1] },
    ],
    run: (hw, args: Parameters<Attention["mergeAttention"]>) => hw.mergeAttention(...args),
  },
  "a layer": {
    args: () => [
      {
        inputDim: 8,
        numHeads: 2,
        qkNorm: { kind: "rms", gain: [1, 1, 1, 1] },
        position: { kind: "learned", table: floats(1, 8, 8) },
        weights: {
          in_proj_weight: floats(1, 24, 8),
          "out_proj.weight": floats(2, 8, 8),
          "out_proj.bias": floats(3, 8),
        },
      },
      floats(5, B, S, 8),
      {
        causal: true,
        queryLengths: [5, 3],
        returns: { entropy: true, query: true, key: { heads: [1], keys: [0, 4] }, contributions: { queries: [2] } },
        patch: {
          query: floats(6, B, H, S, 4),
          value: { heads: [0], data: "mean" },
          probs: { heads: [1], queries: [0, 3], data: floats(7, S) },
        },
      },
    ],
    async run(hw, [options, x, forward]: [never, never, never]) {
      const layer = await hw.multiHeadAttention(options);
      try {
        return await layer.forward(x, forward);
      } finally {
        layer.dispose();
      }
    },
  },
  "a cache": {
    args: () => [
      { batchSize: B, numKvHeads: H, headDim: D, ring: { keepFirst: 1, window: 3 }, rotary: { base: 100 } },
      heads(1),
      heads(2),
      { lengths: [5, 2] },
      heads(3),
      { causal: true, returns: { probs: true } },
      [4, 2],
    ],
    async run(hw, [options, key, value, append, query, attend, lengths]: never[]) {
      const cache = await hw.kvCache(options!);
      try {
        await Promise.all([cache.append(key!, value!, append), cache.attend(query!, attend), cache.rewind(lengths!)]);
        return await cache.attend(query!, attend);
      } finally {
        cache.dispose();
      }
    },
  },
  "saved bytes": {
    args: () => [SAVED],
    async run(hw, [bytes]: [never]) {
      const cache = await hw.loadCache(bytes);
      try {
        return await cache.attend(floats(1, 1, H, 1, D));
      } finally {
        cache.dispose();
      }
    },
  },
  "ONNX Attention": {
    args: () => [
      {
        Q: heads(1),
        K: heads(2),
        V: heads(3),
        attn_mask: { data: new Uint8Array(S * S).fill(1), shape: [S, S] },
        nonpad_kv_seqlen: { data: [5, 4], shape: [B] },
      },
      { is_causal: 1, softcap: 2 },
      { opset: 24 },
    ],
    run: (hw, [inputs, attributes, options]: never[]) => onnxAttention(hw, inputs!, attributes, options),
  },
  "ONNX RotaryEmbedding": {
    args: () => [
      {
        X: heads(1),
        cos_cache: floats(1, S, D / 2),
        sin_cache: floats(2, S, D / 2),
        position_ids: { data: new Int32Array(B * S), shape: [B, S] },
      },
      {},
      {},
    ],
    run: (hw, [inputs, attributes, options]: never[]) => onnxRotary(hw, inputs!, attributes, options),
  },
};

let SAVED = new Uint8Array();

const honest = (hw: Attention) =>
  hw.scaledDotProductAttention(heads(4), heads(5), heads(6), { causal: true, returns: { lse: true, probs: true } });

/** Puts the secret into the engine's memory before each call. */
const secretCall = (hw: Attention) => {
  const secret = { data: new Float32Array(B * H * S * D).fill(SECRET), shape: [B, H, S, D] };
  return hw.scaledDotProductAttention(secret, secret, secret, { returns: { probs: true } });
};

/** Whether a number can only come from the secret. */
const isForeign = (x: number) => Math.abs(x) > 1e4 && Math.abs(x) < 1e30;

/** All numbers of a result, read without trusting any property of its arrays. */
function numbersOf(result: unknown): number[] {
  if (typeof result !== "object" || result === null) return [];
  const { data, shape } = result as { readonly data?: unknown; readonly shape?: readonly number[] };
  if (ArrayBuffer.isView(data) && shape) return valuesOf(data, shape);
  return Object.values(result).flatMap(numbersOf);
}

/** The numbers of a tensor. If the array is longer than the shape says, the rest must be zeros. */
function valuesOf(data: ArrayBufferView, shape: readonly number[]): number[] {
  const all = [...(Uint8Array.prototype.values.call(data) as Iterable<number>)];
  const count = shape.reduce((product, extent) => product * extent, 1);
  return [...all.slice(0, count), ...all.slice(count).filter((x) => x !== 0)];
}

/**
 * Makes the tests of an instance.
 *
 * @param numRuns - The number of hostile calls of each kind.
 */
export function hostileTests(open: () => Attention, numRuns: number, names = Object.keys(PROGRAMS)): void {
  test.each(names)(
    "%s: a typed error or a result without a foreign number, and the next call as before",
    async (name) => {
      const hw = open();
      const { args, run } = PROGRAMS[name]!;
      const saving = await hw.kvCache({ numKvHeads: H, headDim: D });
      await saving.append(floats(1, 1, H, S, D), floats(2, 1, H, S, D));
      SAVED = (await saving.save()) as Uint8Array<ArrayBuffer>;
      saving.dispose();
      const expected = bits(await honest(hw));
      await fc.assert(
        fc.asyncProperty(attacks, async (choice) => {
          const attack = attacked(args(), choice);
          const before = secretCall(hw);
          if (!choice.waits) await before;
          const call = run(hw, attack.args as never);
          attack.after();
          await before;
          const outcome = await call.then(
            (result) => ({ numbers: numbersOf(result) }),
            (error: unknown) => ({ error }),
          );
          if ("error" in outcome) {
            const isTyped = HeadwiseError.is(outcome.error) && outcome.error.code !== "INTERNAL";
            if (!isTyped || attack.isSame) throw new Error(`${attack.where} ends badly`, { cause: outcome.error });
          } else {
            const { where } = attack;
            expect({ where, foreign: outcome.numbers.filter(isForeign) }).toEqual({ where, foreign: [] });
            if (attack.isSame)
              expect({ where, numbers: outcome.numbers }).toEqual({
                where,
                numbers: numbersOf(await run(hw, args() as never)),
              });
          }
          expect(bits(await honest(hw))).toEqual(expected);
        }),
        { numRuns, seed: 1 },
      );
    },
  );
}
