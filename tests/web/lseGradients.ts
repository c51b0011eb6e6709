import { expect } from "@jest/globals";
import {
  OptionError,
  ShapeError,
  tensor,
  type Attention,
  type AttentionSettingsOptions,
  type TypedTensor,
} from "headwise";
import { formula } from "headwise/formula";

import { float32Of } from "./close.js";
import { randomTensor } from "./randomTensor.js";

// Gradients of a loss that reads lse. The same tests run on wasm and on WebGPU.

const [ROWS, KEYS, D] = [6, 9, 4];
/** The largest float32. */
const MOST = 3.4028234663852886e38;

async function gradients(hw: Attention, dLse: Float32Array | null) {
  const [query, key, value] = [
    randomTensor(1, [1, 2, ROWS, D]),
    randomTensor(2, [1, 1, KEYS, D]),
    randomTensor(3, [1, 1, KEYS, D]),
  ];
  const options = { causal: "upper-left", numKvHeads: 1 } as const;
  const { output, lse } = await hw.scaledDotProductAttention(query, key, value, { ...options, returns: { lse: true } });
  const dOutput = randomTensor(4, [1, 2, ROWS, D]);
  const found = await hw.attentionBackward({
    ...options,
    query,
    key,
    value,
    output,
    lse,
    dOutput,
    dLse: dLse && tensor(dLse, [1, 2, ROWS]),
  });
  return { dQuery: float32Of(found.dQuery), dKey: float32Of(found.dKey), dValue: float32Of(found.dValue) };
}

/** The gradients of two causal heads, the first of which has a gain of 0. */
async function offHead(
  hw: Attention,
  rules: AttentionSettingsOptions,
  change: (tensors: Record<"query" | "key" | "value" | "dOutput", T>) => void = () => {},
  dLse?: Float32Array,
) {
  const shape = [1, 2, 3, 4];
  const [query, key, value, dOutput] = [1, 2, 3, 4].map((seed) => randomTensor(seed, shape)) as [T, T, T, T];
  change({ query, key, value, dOutput });
  const options = { causal: true, headGain: [0, 1], ...rules };
  const { output, lse } = await hw.scaledDotProductAttention(query, key, value, { ...options, returns: { lse: true } });
  const dSinks = rules.sinks !== undefined && rules.sinks !== null;
  const found = await hw.attentionBackward({
    ...{ query, key, value, output, lse, dOutput, ...options },
    dLse: dLse && tensor(dLse, [1, 2, 3]),
    returns: { dQuery: true, dKey: true, dValue: true, dHeadGain: true, dSinks },
  });
  return {
    dQuery: float32Of(found.dQuery),
    dKey: float32Of(found.dKey),
    dValue: float32Of(found.dValue),
    dHeadGain: float32Of(found.dHeadGain),
    ...(found.dSinks && { dSinks: float32Of(found.dSinks) }),
  };
}

type T = TypedTensor<"float32">;

export const lseGradients: Readonly<Record<string, (hw: Attention) => Promise<void>>> = {
  "A dLse of zeros gives the bits of none": async (hw) => {
    expect(await gradients(hw, new Float32Array(2 * ROWS))).toEqual(await gradients(hw, null));
  },

  "A dLse that is not finite spoils its row and the keys that the row sees, and changes no other bit": async (hw) => {
    const right = await gradients(hw, null);
    for (const odd of [NaN, Infinity, -Infinity]) {
      const dLse = new Float32Array(2 * ROWS);
      dLse[ROWS + 3] = odd; // head 1, row 3: it sees keys 0 to 3
      const found = await gradients(hw, dLse);
      const expected = {
        dQuery: right.dQuery.map((x, n) => (Math.floor(n / D) === ROWS + 3 ? NaN : x)),
        dKey: right.dKey.map((x, n) => (n < 4 * D ? NaN : x)),
        dValue: right.dValue.map((x, n) => (n < 4 * D ? NaN : x)),
      };
      expect(found).toEqual(expected);
    }
  },

  "A sink far above the scores takes all of dLse": async (hw) => {
    const x = randomTensor(1, [1, 1, 3, 4]);
    const bias = tensor(new Float32Array(3).fill(-MOST), [3]); // hides keys as many programs do
    for (const given of [{ sinks: [1e5 + 1] }, { sinks: [7.3e8] }, { sinks: [MOST] }, { sinks: [300], bias }]) {
      const { output, lse } = await hw.scaledDotProductAttention(x, x, x, { ...given, returns: { lse: true } });
      const dLse = tensor(Float32Array.of(1, 2, 4), [1, 1, 3]);
      const call = { query: x, key: x, value: x, output, lse, dOutput: x, dLse, ...given };
      const { dSinks } = await hw.attentionBackward({ ...call, returns: { dSinks: true } });
      expect([given.sinks, float32Of(dSinks)]).toEqual([given.sinks, Float32Array.of(7)]);
    }
  },

  "A row whose scores leave float32 spoils its own gradients and those of the keys that it sees": async (hw) => {
    const value = randomTensor(1, [1, 1, 3, 4]);
    const dOutput = randomTensor(2, [1, 1, 2, 4]);
    const mask = { data: Uint8Array.of(1, 1, 0, 1, 1, 1), shape: [2, 3] }; // row 0 does not see key 2
    for (const keys of [
      [1e20, 1e20, 1],
      [1e20, -1e20, 1],
      [-1e20, -1e20, 1],
    ]) {
      const [query, key] = [
        tensor(Float32Array.of(1e20, 0), [1, 1, 2, 1]),
        tensor(keys.map(Math.fround), [1, 1, 3, 1]),
      ];
      const { output, lse } = await hw.scaledDotProductAttention(query, key, value, { mask, returns: { lse: true } });
      const found = await hw.attentionBackward({ query, key, value, output, lse, dOutput, mask });
      const isNumber = ({ data }: { data: ArrayLike<number> }) => Array.from(data, Number.isFinite);
      const rowsOf = (all: readonly boolean[]) => [0, 1, 2].map((row) => all.slice(4 * row, 4 * row + 4));
      expect([keys, isNumber(found.dQuery), isNumber(found.dKey)]).toEqual([keys, [false, true], [false, false, true]]);
      expect(rowsOf(isNumber(found.dValue)).map((row) => new Set(row))).toEqual([false, false, true].map((each) => new Set([each]))); // oxfmt-ignore
    }
  },

  "A head of gain 0 has no gradients but dHeadGain, whatever is not finite": async (hw) => {
    for (const rules of [{}, { softcap: 3 }, { score: formula("s + 0.1 * sin(s)") }, { sinks: [0.5, 0] }]) {
      const right = await offHead(hw, rules);
      for (const name of ["query", "key", "value", "dOutput"] as const) {
        const found = await offHead(hw, rules, (tensors) => void (tensors[name].data[5] = NaN));
        const changed = { [name]: found, ...rules };
        for (const gradient of ["dQuery", "dKey", "dValue"] as const) {
          expect([changed, found[gradient].slice(0, 12).every((x) => x === 0)]).toEqual([changed, true]);
          expect(found[gradient].slice(12)).toEqual(right[gradient].slice(12));
        }
        expect([changed, found.dHeadGain[0]]).toEqual([changed, NaN]);
        expect(found.dHeadGain[1]).toBe(right.dHeadGain[1]);
        if (found.dSinks) expect([changed, found.dSinks[0] === 0]).toEqual([changed, true]);
      }
    }
  },

  "A head of gain 0 has the gradients of its lse, whatever its dOutput is": async (hw) => {
    for (const rules of [{}, { softcap: 3 }, { sinks: [0.5, 0] }]) {
      const dLse = Float32Array.of(1, -2, 3, 0, 0, 0);
      const right = await offHead(hw, rules, undefined, dLse);
      expect(right.dQuery.slice(0, 12).some((x) => x !== 0)).toBe(true);
      const found = await offHead(hw, rules, ({ dOutput }) => void (dOutput.data[5] = NaN), dLse);
      expect(found).toEqual({ ...right, dHeadGain: Float32Array.of(NaN, right.dHeadGain[1]!) });
      dLse[1] = NaN;
      const spoiled = await offHead(hw, rules, undefined, dLse);
      const isNumber = (x: number) => Number.isFinite(x);
      expect(Array.from(spoiled.dQuery.slice(0, 12), isNumber)).toEqual(Array.from({ length: 12 }, (_, n) => n < 4 || n >= 8)); // oxfmt-ignore
      expect(Array.from(spoiled.dKey.slice(0, 12), isNumber)).toEqual(Array.from({ length: 12 }, (_, n) => n >= 8)); // oxfmt-ignore
      expect(spoiled.dValue.slice(0, 12).every((x) => x === 0)).toBe(true);
    }
  },

  "A dLse of another shape or dtype is refused by name": async (hw) => {
    const x = randomTensor(1, [1, 2, 3, 4]);
    const { output, lse } = await hw.scaledDotProductAttention(x, x, x, { returns: { lse: true } });
    const call = { query: x, key: x, value: x, output, lse, dOutput: x };
    await expect(hw.attentionBackward({ ...call, dLse: tensor(new Float32Array(3), [1, 1, 3]) })).rejects.toEqual(
      new ShapeError("attentionBackward: dLse.shape must be [1, 2, 3], got [1, 1, 3]"),
    );
    const ints = { data: new Int32Array(6), shape: [1, 2, 3] };
    await expect(hw.attentionBackward({ ...call, dLse: ints as never })).rejects.toThrow(OptionError);
  },
};
