// The rules for the angles of a rotary embedding are written three times: in readAngles, in
// cpp/src/position/rotary_angles.cpp and in the readers of saved caches. They must be the same rules: what one accepts,
// the others must accept.

import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import {
  createAttention,
  HeadwiseError,
  OptionError,
  type Attention,
  type KvCache,
  type KvCacheOptions,
} from "headwise";

import { ANGLE_NAMES, readAngles, SCALINGS, type RotaryScaling } from "../../web/src/position/rotaryAngles.js";
import { CallArguments } from "../../web/src/read/callArguments.js";
import { readOptions } from "../../web/src/read/options.js";
import { namesIn } from "../../web/src/read/settingTable.js";
import { readCache, writeCache } from "../../web/src/webgpu/cache/cacheFile.js";
import { runsOf } from "./depth.js";
import { randomTensor } from "./randomTensor.js";

const HEAD_DIM = 8;
const OPERATION = "kvCache";

let hw: Attention;
beforeAll(async () => {
  hw = await createAttention({ backend: "wasm", variant: "simd", threads: 1 });
});
afterAll(() => hw.dispose());

const anglesOf = (rotary: object) =>
  readAngles(readOptions(new CallArguments(OPERATION), rotary, ANGLE_NAMES, "rotary"), HEAD_DIM);

describe("the base of yarn", () => {
  const yarn = (base: number) => ({ base, scaling: { kind: "yarn", factor: 4, originalLength: 64 } as const });
  const weights = () => ({
    Wq: randomTensor(1, [8, 8]),
    Wk: randomTensor(2, [8, 8]),
    Wv: randomTensor(3, [8, 8]),
    Wo: randomTensor(4, [8, 8]),
  });

  test.each([1, 0.5, 1e-30])("must be greater than 1, whose logarithm it divides by: not %d", async (base) => {
    const rule = `base must be greater than 1 for "yarn", got ${base}`;
    const calls: Readonly<Record<string, () => Promise<unknown>>> = {
      [`rotaryEmbedding: ${rule}`]: () => hw.rotaryEmbedding(randomTensor(1, [3, HEAD_DIM]), yarn(base)),
      [`kvCache: rotary.${rule}`]: () => hw.kvCache({ numKvHeads: 1, headDim: HEAD_DIM, rotary: yarn(base) }),
      [`multiHeadAttention: position.${rule}`]: () =>
        hw.multiHeadAttention({
          ...{ inputDim: 8, numHeads: 1, weights: weights() },
          position: { kind: "rotary", ...yarn(base) },
        }),
    };
    for (const [message, call] of Object.entries(calls)) {
      const error: unknown = await call().catch((thrown: unknown) => thrown);
      expect([OptionError.is(error), (error as Error).message]).toEqual([true, message]);
    }
  });

  test("may be just above 1, and with other scalings anything above 0", () => {
    expect(anglesOf(yarn(1 + 2 ** -52)).base).toBe(1 + 2 ** -52);
    for (const kind of ["linear", "ntk"]) expect(anglesOf({ base: 0.5, scaling: { kind, factor: 2 } }).base).toBe(0.5);
    expect(anglesOf({ base: 1 }).base).toBe(1);
  });
});

test("a number that is −0 is 0: every cache has one file", () => {
  const scaling = { kind: "yarn", factor: 4, originalLength: 64, mscale: -0, mscaleAllDim: -0 } as const;
  expect(anglesOf({ scaling }).scaling).toMatchObject({ mscale: 0, mscaleAllDim: 0 });
});

/** Numbers at the limits of the rules, and some far from them. */
const number = fc.constantFrom(-1, -0, 0, 1e-300, 1e-9, 0.5, 1, 1 + 2 ** -52, 2, 4, 5, 31, 32, 33, 64, 1e9, 1e38, 1e39);
const maybe = fc.option(number, { nil: undefined });

const valueOf = (name: string): fc.Arbitrary<unknown> => {
  if (name === "truncate") return fc.option(fc.boolean(), { nil: undefined });
  return name === "originalLength" ? number : maybe;
};
const scalings = fc.constantFrom(...(Object.keys(SCALINGS) as RotaryScaling["kind"][])).chain((kind) => {
  const own = Object.fromEntries(namesIn(SCALINGS[kind]).map((name) => [name, valueOf(name)] as const));
  return fc.record({ kind: fc.constant(kind), ...own, factor: number });
});
const rotaries = fc.record({
  base: maybe,
  rotaryDim: fc.constantFrom(undefined, -2, 0, 1, 2, 6, 7, 8, 10),
  interleaved: fc.option(fc.boolean(), { nil: undefined }),
  scaling: fc.option(scalings, { nil: undefined }),
});

/** A file of an empty cache, as the WebGPU engine writes it. */
function gpuFile(rotary: object): Uint8Array {
  const form = { batchSize: 1, numKvHeads: 1, headDim: HEAD_DIM, valueDim: HEAD_DIM, dtype: "float32" } as const;
  const problem = { operation: OPERATION, ...form, capacity: undefined, ring: undefined, rotary: anglesOf(rotary) };
  return writeCache({ hasGivenPositions: false, problem, appended: [0], origins: [0], rows: new Uint8Array() });
}

test("whatever angles JavaScript lets pass, C++ takes, and both engines save and load the same file", async () => {
  let passed = 0;
  await fc.assert(
    fc.asyncProperty(rotaries, async (rotary) => {
      const form = { numKvHeads: 1, headDim: HEAD_DIM, rotary } as KvCacheOptions;
      const made: unknown = await hw.kvCache(form).catch((error: unknown) => error);
      if (HeadwiseError.is(made)) {
        // JavaScript names the option with its path, C++ does not
        expect(made.message).toMatch(/^kvCache: rotary\./);
        return;
      }
      ++passed;
      const cache = made as KvCache;
      const bytes = await cache.save();
      cache.dispose();
      expect(gpuFile(rotary)).toEqual(bytes);
      expect(writeCache(readCache("loadCache", bytes))).toEqual(bytes);
      const loaded = await hw.kvCache({ from: bytes });
      expect(await loaded.save()).toEqual(bytes);
      loaded.dispose();
    }),
    { numRuns: runsOf(3000), seed: 1 },
  );
  expect(passed).toBeGreaterThan(runsOf(3000) / 10);
});
