import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createAttention, EmptyRowError, HeadwiseError, type Attention } from "headwise";
import { formula } from "headwise/formula";

import { bits } from "./close.js";
import { randomTensor } from "./randomTensor.js";

const [B, HQ, HKV, SQ, SKV, D, DV] = [2, 4, 2, 5, 7, 3, 6];
const LSE_HINT = "scaledDotProductAttention gives it with `returns: { lse: true }`.";

let hw: Attention;
beforeAll(async () => {
  hw = await createAttention({ backend: "wasm", threads: 1 });
});
afterAll(() => hw.dispose());

const legal = () => ({
  query: randomTensor(1, [B, HQ, SQ, D]),
  key: randomTensor(2, [B, HKV, SKV, D]),
  value: randomTensor(3, [B, HKV, SKV, DV]),
  output: randomTensor(4, [B, HQ, SQ, DV]),
  lse: randomTensor(5, [B, HQ, SQ]),
  dOutput: randomTensor(6, [B, HQ, SQ, DV]),
});

async function errorOf(changes: object): Promise<HeadwiseError> {
  const call = hw.attentionBackward({ ...legal(), ...changes }) as Promise<unknown>;
  const error: unknown = await call.then(
    () => new Error("it was computed"),
    (reason: unknown) => reason,
  );
  if (!HeadwiseError.is(error)) throw error;
  return error;
}

describe("attentionBackward refuses, before any work,", () => {
  test.each<[what: string, changes: object, name: string, message: string, hint?: string]>([
    ["a call without lse", { lse: undefined }, "OptionError", "lse must be given", LSE_HINT],
    [
      "a call without output",
      { output: undefined },
      "OptionError",
      "output must be given",
      "The result of the forward call.",
    ],
    [
      "a call without dOutput",
      { dOutput: undefined },
      "OptionError",
      "dOutput must be given",
      "The gradient of the loss with respect to the output.",
    ],
    ["a call without query", { query: undefined }, "OptionError", "query must be given"],
    [
      "an lse of another shape",
      { lse: randomTensor(1, [B, SQ, HQ]) },
      "ShapeError",
      "lse.shape must be [2, 4, 5], got [2, 5, 4]",
      LSE_HINT,
    ],
    [
      "an lse that keeps an axis",
      { lse: randomTensor(1, [B, HQ, SQ, 1]) },
      "ShapeError",
      "lse.shape must be [2, 4, 5], got [2, 4, 5, 1]",
      LSE_HINT,
    ],
    [
      "an lse of float16",
      { lse: { data: new Uint16Array(B * HQ * SQ), shape: [B, HQ, SQ] } },
      "OptionError",
      "lse must be of dtype float32, got float16",
    ],
    [
      "an output in the width of the queries",
      { output: randomTensor(1, [B, HQ, SQ, D]) },
      "ShapeError",
      "output.shape must be [2, 4, 5, 6], got [2, 4, 5, 3]",
    ],
    [
      "a dOutput of another shape",
      { dOutput: randomTensor(1, [B, HQ, SKV, DV]) },
      "ShapeError",
      "dOutput.shape must be [2, 4, 5, 6], got [2, 4, 7, 6]",
    ],
    [
      "integers as dOutput",
      { dOutput: { data: new Int32Array(240), shape: [B, HQ, SQ, DV] } },
      "OptionError",
      "dOutput must be of dtype float32 or float16, got int32",
    ],
    [
      "keys of another width",
      { key: randomTensor(1, [B, HKV, SKV, D + 1]) },
      "ShapeError",
      "key.shape[3] (headDim) must equal query.shape[3], got 4 and 3",
    ],
    [
      "dBias without a bias",
      { returns: { dBias: true } },
      "OptionError",
      "returns.dBias needs the option bias, which the call does not have",
    ],
    [
      "dSinks without sinks",
      { returns: { dSinks: true } },
      "OptionError",
      "returns.dSinks needs the option sinks, which the call does not have",
    ],
    [
      "dAlibiSlopes without slopes",
      { returns: { dAlibiSlopes: true } },
      "OptionError",
      "returns.dAlibiSlopes needs the option alibiSlopes, which the call does not have",
    ],
    [
      "dTables without a score",
      { returns: { dTables: true }, visible: formula("k <= q") },
      "OptionError",
      "returns.dTables needs the option score, which the call does not have",
    ],
    ["an unknown gradient", { returns: { dMask: true } }, "OptionError", 'unknown option "dMask" in returns'],
    [
      "a gradient that is no boolean",
      { returns: { dQuery: 1 } },
      "OptionError",
      "returns.dQuery must be true or false, got 1",
    ],
    ["results of the forward call", { returns: { output: true } }, "OptionError", 'unknown option "output" in returns'],
    ["into", { into: randomTensor(1, [B, HQ, SQ, D]) }, "OptionError", 'unknown option "into"'],
    [
      "PyTorch's name",
      { grad_out: randomTensor(1, [1]) },
      "OptionError",
      'unknown option "grad_out"; did you mean "dOutput"?',
    ],
    ["a misspelt option", { causl: true }, "OptionError", 'unknown option "causl"; did you mean "causal"?'],
    ["location gpu", { location: "gpu" }, "UnsupportedError", 'location "gpu" needs the WebGPU backend, this is wasm'],
    ["softcap below 0", { softcap: -1 }, "OptionError", "softcap must be at least 0, got -1"],
    ["too many key lengths", { keyLengths: [1, 2, 3] }, "ShapeError", "keyLengths must have length 2, got 3"],
    ["a bias that does not broadcast", { bias: randomTensor(1, [3, SKV]) }, "ShapeError", "bias.shape must broadcast"],
    [
      "emptyRows throw with score",
      { score: formula("s"), emptyRows: "throw" },
      "UnsupportedError",
      'emptyRows "throw" is not supported with score',
    ],
  ])("%s", async (...[, changes, name, message, hint]) => {
    // oxfmt-ignore
    const error = await errorOf(changes);
    expect([error.name, error.message]).toEqual([name, expect.stringContaining(`attentionBackward: ${message}`)]);
    if (hint) expect(error.hint).toContain(hint);
  });

  test.each([undefined, null, 3, "query"])("%p in place of its object", async (given) => {
    const call = hw.attentionBackward(given as never) as Promise<unknown>;
    await expect(call).rejects.toThrow(/^attentionBackward: /);
  });

  test("an lse that was computed with sinks, if the call has none", async () => {
    const { query, key, value, dOutput } = legal();
    const sinks = [1, 2, 3, 4];
    const { output, lse } = await hw.scaledDotProductAttention(query, key, value, { sinks, returns: { lse: true } });
    const error = await errorOf({ output, lse, dOutput });
    expect(error.message).toBe(
      "attentionBackward: lse was computed with sinks: give the same sinks to attentionBackward",
    );
    await hw.attentionBackward({ query, key, value, output, lse, dOutput, sinks });
  });

  test("a formula whose derivatives have more than 1024 operations", async () => {
    const names = Array.from({ length: 60 }, (_, n) => `p${n}`);
    const text = names.reduce((inner, name) => `tanh(${inner} * ${name})`, "s");
    const error = await errorOf({ score: formula(text, Object.fromEntries(names.map((name) => [name, 1.5]))) });
    expect([error.name, error.message]).toEqual([
      "UnsupportedError",
      expect.stringMatching(
        /^attentionBackward: the derivatives of score must have at most 1024 operations, got \d+: /,
      ),
    ]);
  });
});

test('a row without keys is an EmptyRowError with emptyRows "throw", and the instance computes as before', async () => {
  const before = bits(await hw.attentionBackward(legal()));
  const error = await errorOf({ causal: true, queryOffset: -1, emptyRows: "throw" });
  expect(EmptyRowError.is(error)).toBe(true);
  expect(bits(await hw.attentionBackward(legal()))).toEqual(before);
});

test("without returns there are the gradients of query, key and value; with it those that it names", async () => {
  expect(Object.keys(await hw.attentionBackward(legal()))).toEqual(["dQuery", "dKey", "dValue"]);
  expect(Object.keys(await hw.attentionBackward({ ...legal(), returns: { dHeadGain: true, dKey: false } }))).toEqual([
    "dHeadGain",
  ]);
  expect(await hw.attentionBackward({ ...legal(), returns: {} })).toEqual({});
});

test("lists of numbers as in a notebook", async () => {
  const x = [[1, 2], [3, 4]]; // oxfmt-ignore
  const { output, lse } = await hw.scaledDotProductAttention(x, x, x, { returns: { lse: true } });
  const { dValue } = await hw.attentionBackward({ query: x, key: x, value: x, output, lse, dOutput: [[1, 1], [1, 1]] }); // oxfmt-ignore
  expect(dValue.shape).toEqual([2, 2]);
  expect(dValue.data[0]! + dValue.data[2]!).toBeCloseTo(2, 5);
});
