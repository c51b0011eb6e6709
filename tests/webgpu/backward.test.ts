import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { EmptyRowError, type Attention, type AttentionOptions, type Tensor } from "headwise";
import { formula } from "headwise/formula";

import { attentionCases, type AttentionCase } from "../web/cases.js";
import { bits, float32Of } from "../web/close.js";
import { lseGradients } from "../web/lseGradients.js";
import { randomTensor } from "../web/randomTensor.js";
import { referenceBackward } from "../attention-conformance/reference/referenceBackward.js";
import { createOnSharedDevice, disposeAll, describeOnGpu } from "./gpu.js";
import { gradientProblems } from "./gradientProblems.js";

// All is in one file with one device: the software adapter needs seconds to compile a pipeline.

type Options = Omit<AttentionOptions, "location" | "returns">;
type Floats = Tensor<"float32">;

interface Inputs {
  readonly query: Floats;
  readonly key: Floats;
  readonly value: Floats;
  readonly dOutput: Floats;
}

interface Shape {
  readonly B?: number;
  readonly Hq?: number;
  readonly Hkv?: number;
  readonly Sq?: number;
  readonly Skv?: number;
  readonly D?: number;
  readonly Dv?: number;
}

function inputs({ B = 1, Hq = 2, Hkv = Hq, Sq = 20, Skv = 40, D = 8, Dv = D }: Shape): Inputs {
  return {
    query: randomTensor(1, [B, Hq, Sq, D], 2),
    key: randomTensor(2, [B, Hkv, Skv, D], 2),
    value: randomTensor(3, [B, Hkv, Skv, Dv]),
    dOutput: randomTensor(4, [B, Hq, Sq, Dv]),
  };
}

const HEADS = { dQuery: true, dKey: true, dValue: true } as const;

/** Of the case table every 25th call, and those that are only there for gradients. All run in the tests of the CPU. */
const CASES = attentionCases().filter(({ name }, n) => n % 25 === 3 || name.startsWith("backward-"));

describeOnGpu("attentionBackward on WebGPU", () => {
  let hw: Attention;
  beforeAll(async () => {
    hw = await createOnSharedDevice();
  });
  afterAll(() => hw.dispose());

  async function gradients(
    {
      query,
      key,
      value,
      dOutput,
    }: Inputs | (Omit<AttentionCase, "options" | "backward" | "name"> & { dOutput: Tensor }),
    options: Options,
    returns: Readonly<Record<string, boolean>> = HEADS,
    changes: object = {},
  ) {
    const forwardOptions = { ...options, returns: { output: true, lse: true } } as const;
    const { output, lse } = await hw.scaledDotProductAttention(query, key, value, forwardOptions);
    const found = await hw.attentionBackward({
      query,
      key,
      value,
      dOutput,
      output,
      lse,
      ...options,
      returns,
      ...changes,
    } as Parameters<Attention["attentionBackward"]>[0]);
    return found as Readonly<Record<keyof typeof HEADS, Floats>>;
  }

  const expectWithin = (
    found: object,
    given: Inputs,
    options: Options,
    returns: Readonly<Record<string, boolean>> = HEADS,
  ) => {
    const { query, key, value, dOutput } = given;
    expect(gradientProblems(found, returns, referenceBackward(query, key, value, dOutput, options))).toEqual({});
  };

  test.each(CASES)("$name is within the error model", async ({ query, key, value, options, backward }) => {
    const { dOutput, dLse, returns } = backward;
    const found = await gradients({ query, key, value, dOutput }, options, returns, { dLse });
    const expected = referenceBackward(query, key, value, dOutput, options, dLse);
    expect(gradientProblems(found, returns, expected)).toEqual({});
  });

  test.each(Object.entries(lseGradients))("%s", (_, use) => use(hw));

  test.each([
    [2, 2, 20, 40],
    [1, 2, 1, 40],
    [2, 1, 20, 1],
    [1, 1, 1, 1],
  ])("a bias of [%i, %i, %i, %i] gets the sum over what it repeats along", async (...shape) => {
    const given = inputs({ B: 2 });
    const options = { bias: randomTensor(5, shape), causal: true, alibiSlopes: [0.1, 0.3] };
    const found = await gradients(given, options, { dBias: true });
    expectWithin(found, given, options, { dBias: true });
  });

  const doc = Array.from({ length: 40 }, (_, n) => Math.floor(n / 15));
  const distances = Float32Array.from({ length: 64 }, (_, n) => Math.sin(n));
  const rows = { data: Float32Array.from({ length: 2 * 20 }, (_, n) => Math.cos(n)), shape: [2, 20] };
  test.each<[string, Options]>([
    ["a softcap, a slope of each head and a table by distance", {
      score: formula("20 * tanh(s * factor / 20) - slope[h] * abs(q - k) + distances[q - k + 30]", { factor: 0.5, slope: [0.5, 0.1], distances }),
    }],
    ["rows of a table, and hidden pairs", {
      score: formula("s > -1 ? s * rows[h][i] : -Infinity", { rows }),
      visible: formula("doc[q] == doc[k] && k <= q + 8", { doc }),
    }],
  ])("%s: the formula is differentiated", async (_, options) => {
    const given = inputs({});
    const returns = { ...HEADS, dTables: true };
    expectWithin(await gradients(given, options, returns), given, options, returns);
  }); // oxfmt-ignore

  test("hidden NaN and infinity change no bit", async () => {
    const shape = { B: 2, Hq: 2, Hkv: 1, Sq: 20, Skv: 40, D: 8 };
    const given = inputs(shape);
    // Batch 0: keys from 30 on and queries from 15 on are padding. Batch 1: a mask hides key 7, and query 3 from all keys.
    const mask = { data: new Uint8Array(2 * 20 * 40).fill(1), shape: [2, 1, 20, 40] };
    for (let i = 0; i < 20; ++i) mask.data[(20 + i) * 40 + 7] = 0;
    mask.data.fill(0, (20 + 3) * 40, (20 + 4) * 40);
    const bias = randomTensor(6, [2, 1, 20, 40]);
    const options = {
      mask,
      bias,
      keyLengths: [30, 40],
      queryLengths: [15, 20],
      sinks: [0.5, -1],
      headGain: [1, 2],
      alibiSlopes: [0.1, 0.2],
    };
    const returns = { ...HEADS, dBias: true, dSinks: true, dHeadGain: true, dAlibiSlopes: true };
    const spoiled = (tensor: Floats, isHidden: (row: number) => boolean, width: number): Floats => ({
      ...tensor,
      data: tensor.data.map((x, n) => (isHidden(Math.floor(n / width)) ? [NaN, Infinity, -Infinity][n % 3]! : x)),
    });
    const isHiddenKey = (row: number) => (row < 40 ? row >= 30 : row - 40 === 7);
    const isHiddenRow = (row: number) => (row < 40 ? row % 20 >= 15 : row % 20 === 3);
    const biasData = bias.data.map((x, n) =>
      mask.data[n] === 0 || (n < 800 && (n % 40 >= 30 || n / 40 >= 15)) ? NaN : x,
    );
    const clean = await gradients(given, options, returns);
    const dirty = {
      query: spoiled(given.query, isHiddenRow, 8),
      key: spoiled(given.key, isHiddenKey, 8),
      value: spoiled(given.value, isHiddenKey, 8),
      dOutput: spoiled(given.dOutput, isHiddenRow, 8),
    };
    const { output, lse } = await hw.scaledDotProductAttention(given.query, given.key, given.value, {
      ...options,
      returns: { output: true, lse: true },
    });
    const results = { output: spoiled(output, isHiddenRow, 8), lse: spoiled(lse, isHiddenRow, 1) };
    const found = await gradients(dirty, { ...options, bias: { ...bias, data: biasData } }, returns, results);
    expect(bits(found)).toEqual(bits(clean));
  });

  test("a visible NaN reaches its own rows and their keys, and changes no bit elsewhere", async () => {
    const given = inputs({ Hq: 1, Sq: 60, Skv: 60 });
    // Rows see keys of their own block of 20 only.
    const isSeen = (n: number) => Math.floor(n / 60 / 20) === Math.floor((n % 60) / 20);
    const options = { mask: { data: Uint8Array.from({ length: 60 * 60 }, (_, n) => Number(isSeen(n))), shape: [60, 60] } };
    const clean = await gradients(given, options);
    for (const [name, row] of [["query", 25], ["key", 30], ["value", 39], ["dOutput", 20]] as const) {
      const data = given[name].data.slice();
      data[8 * row + 3] = NaN;
      const found = await gradients({ ...given, [name]: { ...given[name], data } }, options);
      const changed = (gradient: keyof typeof HEADS) => {
        const [a, b] = [float32Of(found[gradient]), float32Of(clean[gradient])];
        const rowsOf = (test: (n: number) => boolean) => Array.from({ length: 60 }, (_, i) => i).filter((i) => test(i));
        const all = Array.from({ length: 8 }, (_, d) => d);
        const nan = rowsOf((i) => all.every((d) => Number.isNaN(a[8 * i + d])));
        const same = rowsOf((i) => all.every((d) => Object.is(a[8 * i + d], b[8 * i + d])));
        return { nan, same };
      };
      const outside = Array.from({ length: 60 }, (_, i) => i).filter((i) => Math.floor(i / 20) !== 1);
      for (const gradient of ["dQuery", "dKey", "dValue"] as const)
        expect([name, gradient, changed(gradient).same.filter((i) => outside.includes(i))]).toEqual([name, gradient, outside]);
      const ownRows = name === "query" || name === "dOutput" ? [row] : Array.from({ length: 20 }, (_, n) => 20 + n);
      expect([name, changed("dQuery").nan]).toEqual([name, ownRows]);
      expect([name, changed("dKey").nan.length]).toEqual([name, 20]);
    }
  }); // oxfmt-ignore

  test("rows without keys give zero gradients under every policy, but a NaN row of dQuery under nan", async () => {
    const given = inputs({ Sq: 20, Skv: 40 });
    const options = { queryOffset: -5, causal: true, sinks: [0, 1] } as const;
    const returns = { ...HEADS, dSinks: true, dHeadGain: true };
    const run = (emptyRows: "zero" | "uniform" | "nan" | "throw") =>
      gradients(given, { ...options, emptyRows }, returns);
    const zero = await run("zero");
    expectWithin(zero, given, options, returns);
    expect(bits(await run("uniform"))).toEqual(bits(zero));
    const { dQuery, ...others } = await run("nan");
    const { dQuery: dQueryZero, ...othersZero } = zero;
    expect(bits(others)).toEqual(bits(othersZero));
    const isEmpty = (n: number) => Math.floor(n / 8) % 20 < 5;
    float32Of(dQuery).forEach((x, n) => {
      expect(x).toBe(isEmpty(n) ? NaN : float32Of(dQueryZero)[n]);
    });
    const forward = await hw.scaledDotProductAttention(given.query, given.key, given.value, {
      ...options,
      returns: { output: true, lse: true },
    });
    const thrown = hw.attentionBackward({ ...given, ...forward, ...options, emptyRows: "throw" });
    const error: unknown = await thrown.catch((reason: unknown) => reason);
    expect(EmptyRowError.is(error)).toBe(true);
    expect((error as EmptyRowError).rows[0]).toEqual({ batch: 0, head: 0, query: 0 });
  });

  test("a ragged batch gives the gradients of its sequences", async () => {
    const layout = "BSHD";
    const cuSeqLensQuery = [0, 7, 7, 30];
    const cuSeqLensKey = [0, 12, 15, 55];
    const tensor = (seed: number, length: number) => randomTensor(seed, [1, length, 2, 8]);
    const packed = { query: tensor(1, 30), key: tensor(2, 55), value: tensor(3, 55), dOutput: tensor(4, 30) };
    const options = {
      layout,
      causal: true,
      cuSeqLensQuery,
      cuSeqLensKey,
      bias: randomTensor(5, [1, 1, 30, 55]),
      sinks: [1, 2],
    } as const;
    const returns = { ...HEADS, dBias: true, dSinks: true };
    expectWithin(await gradients(packed, options, returns), packed, options, returns);
  });

  test("the same call gives the same bits, and so do tensors on the GPU", async () => {
    const given = inputs({ Hq: 4, Hkv: 2, Sq: 70, Skv: 70 });
    const options = { causal: true, bias: randomTensor(5, [70, 70]), headGain: [1, 2, 3, 4] };
    const returns = { ...HEADS, dBias: true, dHeadGain: true };
    const first = await gradients(given, options, returns);
    expect(bits(await gradients(given, options, returns))).toEqual(bits(first));
    const { output, lse } = await hw.scaledDotProductAttention(given.query, given.key, given.value, {
      ...options,
      location: "gpu",
      returns: { lse: true },
    });
    const [query, key, value, dOutput] = await Promise.all(
      [given.query, given.key, given.value, given.dOutput].map((tensor) => hw.gpu!.upload(tensor)),
    );
    const onGpu = await hw.attentionBackward({
      query,
      key,
      value,
      dOutput,
      output,
      lse,
      ...options,
      returns,
      location: "gpu",
    } as never);
    for (const [name, tensor] of Object.entries(onGpu as unknown as Record<string, { data(): Promise<Float32Array> }>))
      expect([name, await tensor.data()]).toEqual([
        name,
        float32Of((first as unknown as Record<string, Floats>)[name]!),
      ]);
    disposeAll(onGpu);
  });

  test("empty tensors have empty or zero gradients", async () => {
    for (const shape of [{ Sq: 0 }, { Skv: 0 }, { B: 0 }]) {
      const given = inputs(shape);
      const options = { bias: randomTensor(5, [1, 1]) };
      const returns = { ...HEADS, dBias: true, dHeadGain: true };
      const found = await gradients(given, options, returns);
      expectWithin(found, given, options, returns);
    }
  });
});
