import { describe, expect, test } from "@jest/globals";

import { attentionProblem, OPTION_NAMES } from "../../web/src/attention/attentionProblem.js";
import { CallArguments } from "../../web/src/read/callArguments.js";
import { readOptions } from "../../web/src/read/options.js";
import type { Layout } from "../../web/src/tensor/layout.js";
import { thrownBy } from "./thrownBy.js";

const floats = (...shape: number[]) => ({ data: new Float32Array(shape.reduce((n, x) => n * x, 1)), shape });
const call = () => new CallArguments("scaledDotProductAttention");
const problem = (query: unknown, key: unknown, value: unknown, options?: unknown) =>
  attentionProblem(call(), query, key, value, readOptions(call(), options, OPTION_NAMES));
const message = (...call: Parameters<typeof problem>) => thrownBy(() => problem(...call)).message;

const B = 2;
const Hq = 6;
const Hkv = 3;
const Sq = 5;
const Skv = 7;
const D = 4;
const Dv = 8;

describe("shapes", () => {
  const full = {
    batchSize: B,
    numHeads: Hq,
    numKvHeads: Hkv,
    queryLength: Sq,
    keyLength: Skv,
    headDim: D,
    valueDim: Dv,
  };
  const noBatch = { ...full, batchSize: 1 };
  const oneHead = { ...noBatch, numHeads: 1, numKvHeads: 1 };
  const heads = { numHeads: Hq, numKvHeads: Hkv };

  test.each([
    ["BHSD", full, [B, Hq, Sq, D], [B, Hkv, Skv, D], [B, Hkv, Skv, Dv], {}, [B, Hq, Sq, Dv]],
    ["BHSD", noBatch, [Hq, Sq, D], [Hkv, Skv, D], [Hkv, Skv, Dv], {}, [Hq, Sq, Dv]],
    ["BHSD", oneHead, [Sq, D], [Skv, D], [Skv, Dv], {}, [Sq, Dv]],
    ["BSHD", full, [B, Sq, Hq, D], [B, Skv, Hkv, D], [B, Skv, Hkv, Dv], {}, [B, Sq, Hq, Dv]],
    ["BSHD", noBatch, [Sq, Hq, D], [Skv, Hkv, D], [Skv, Hkv, Dv], {}, [Sq, Hq, Dv]],
    ["BSHD", oneHead, [Sq, D], [Skv, D], [Skv, Dv], {}, [Sq, Dv]],
    ["BSE", full, [B, Sq, Hq * D], [B, Skv, Hkv * D], [B, Skv, Hkv * Dv], heads, [B, Sq, Hq * Dv]],
    ["BSE", oneHead, [Sq, D], [Skv, D], [Skv, Dv], {}, [Sq, Dv]],
    ["BES", full, [B, Hq * D, Sq], [B, Hkv * D, Skv], [B, Hkv * Dv, Skv], heads, [B, Hq * Dv, Sq]],
    ["BES", oneHead, [D, Sq], [D, Skv], [Dv, Skv], {}, [Dv, Sq]],
  ] as const)("%s is read as %o", (layout, shape, query, key, value, options, output) => {
    const read = problem(floats(...query), floats(...key), floats(...value), { layout, ...options });
    expect(read.shape).toEqual(shape);
    expect(read.output.shape).toEqual(output);
  });

  test("of results keep the rank of the inputs", () => {
    const of = (layout: Layout, query: number[], options: object = {}) => {
      const x = floats(...query);
      return problem(x, x, x, { layout, ...options }).keepRank([1, 2, 3, 4]);
    };
    expect(of("BHSD", [1, 2, 3, 4])).toEqual([1, 2, 3, 4]);
    expect(of("BHSD", [2, 3, 4])).toEqual([2, 3, 4]);
    expect(of("BSHD", [3, 2, 4])).toEqual([2, 3, 4]);
    expect(of("BHSD", [3, 4])).toEqual([3, 4]);
    expect(of("BSE", [1, 3, 8], { numHeads: 2 })).toEqual([1, 2, 3, 4]);
  });

  test.each([
    [
      [1, 8, 5, 4],
      [1, 3, 7, 4],
      [1, 3, 7, 4],
      {},
      "key.shape[1] (numKvHeads) must divide query.shape[1] (numHeads), got 3 and 8",
    ],
    [[2, 8, 5, 4], [1, 8, 7, 4], [1, 8, 7, 4], {}, "key.shape[0] (batchSize) must equal query.shape[0], got 1 and 2"],
    [[1, 8, 5, 4], [1, 8, 7, 5], [1, 8, 7, 5], {}, "key.shape[3] (headDim) must equal query.shape[3], got 5 and 4"],
    [[1, 8, 5, 4], [1, 8, 7, 4], [1, 8, 6, 4], {}, "value.shape[2] (length) must equal key.shape[2], got 6 and 7"],
    [[1, 8, 5, 4], [1, 8, 7, 4], [1, 4, 7, 4], {}, "value.shape[1] (numHeads) must equal key.shape[1], got 4 and 8"],
    [[1, 8, 5, 0], [1, 8, 7, 0], [1, 8, 7, 4], {}, "query.shape[3] (headDim) must be at least 1, got 0"],
    [[1, 0, 5, 4], [1, 0, 7, 4], [1, 0, 7, 4], {}, "key.shape[1] (numKvHeads) must be at least 1, got 0"],
    [[5, 4], [1, 7, 4], [1, 7, 4], {}, "key must have the rank of query, got shapes [1, 7, 4] and [5, 4]"],
    [[4], [4], [4], {}, 'query must have rank 2, 3 or 4 in layout "BHSD", got shape [4]'],
    [
      [1, 5, 8],
      [1, 5, 8],
      [1, 5, 8],
      { layout: "BSE" },
      'numHeads must be given with layout "BSE", which packs the heads',
    ],
    [
      [1, 5, 8],
      [1, 5, 8],
      [1, 5, 8],
      { layout: "BSE", numHeads: 3 },
      "numHeads must divide query.shape[2], got 3 and 8",
    ],
    [
      [1, 8, 5],
      [1, 4, 5],
      [1, 4, 5],
      { layout: "BES", numHeads: 2 },
      "key.shape[1] (headDim) must equal query.shape[1], got 2 and 4",
    ],
    [[5, 4], [5, 4], [5, 4], { numHeads: 2 }, "numHeads must be the number of heads of query, got 2 and 1"],
  ])("that do not fit are named: %j %j %j %j", (query, key, value, options, expected) => {
    expect(message(floats(...query), floats(...key), floats(...value), options)).toBe(
      `scaledDotProductAttention: ${expected}`,
    );
  });
});

describe("a mask", () => {
  const mask = (...shape: number[]) => ({ data: new Uint8Array(shape.reduce((n, x) => n * x, 1)), shape });
  const masked =
    (...shape: number[]) =>
    () =>
      problem(floats(B, Hq, Sq, D), floats(B, Hkv, Skv, D), floats(B, Hkv, Skv, D), { mask: mask(...shape) });

  test.each([
    [[Skv], [1, 1, 1, Skv]],
    [
      [Sq, 1],
      [1, 1, Sq, 1],
    ],
    [
      [Hq, 1, Skv],
      [1, Hq, 1, Skv],
    ],
    [
      [B, 1, 1, Skv],
      [B, 1, 1, Skv],
    ],
    [[], [1, 1, 1, 1]],
  ])("of shape %j broadcasts from the right", (shape, extents) => {
    expect(masked(...shape)().settings.mask!.extents).toEqual(extents);
  });

  test("of one row per batch gets the hint how to write it", () => {
    const error = thrownBy(masked(B, Skv));
    expect(error.message).toBe(
      "scaledDotProductAttention: mask.shape must broadcast from the right to " +
        "[batchSize, numHeads, queryLength, keyLength] = [2, 6, 5, 7], got [2, 7]",
    );
    expect(error.hint).toMatch(/^For one row per batch use shape \[2, 1, 1, 7\], or keyLengths for padding\./);
  });

  test.each([[[3, 3]], [[3, Skv]], [[B, 3]], [[Hq, 2, Skv]]])("of shape %j gets no such hint", (shape) => {
    expect(thrownBy(masked(...shape)).hint).toBe(
      "See node_modules/headwise/web/docs/troubleshooting.md#invalid_shape.",
    );
  });
});

describe("options", () => {
  const x = floats(1, 2, 4, 4);
  const settings = (options: object) => problem(x, x, x, options).settings;

  test("left out have their defaults", () => {
    expect(settings({})).toMatchObject({
      scale: undefined,
      softcap: undefined,
      causal: "none",
      window: {},
      emptyRows: "zero",
    });
    expect(problem(x, x, x).wanted).toMatchObject({ output: true, lse: false, probs: undefined, topK: undefined });
  });

  test("causal: true is the lower-right alignment", () => {
    expect([true, false, "upper-left"].map((causal) => settings({ causal }).causal)).toEqual([
      "lower-right",
      "none",
      "upper-left",
    ]);
  });

  test("a single queryOffset stands for every batch", () => {
    const two = floats(2, 1, 3, 4);
    expect(problem(two, two, two, { queryOffset: -3 }).settings.queryOffset).toEqual(new Int32Array([-3, -3]));
  });

  test.each([
    [{ keyLengths: [5] }, "keyLengths[0] must be an integer from 0 to 4, got 5"],
    [{ softcap: -1 }, "softcap must be at least 0, got -1"],
    [{ returns: { probs: { heads: [2] } } }, "returns.probs.heads[0] must be an integer from 0 to 1, got 2"],
    [{ returns: { topK: { heads: [0] } } }, "returns.topK.k must be given: an integer of at least 1"],
    [
      { returns: { scores: { heads: [0] } } },
      'returns.scores.stage must be given: "raw", "softcapped", "biased" or "formula"',
    ],
    [
      { returns: { probs: { average: true, head: [0] } } },
      'unknown option "head" in returns.probs; did you mean "heads"?',
    ],
    [{ into: floats(1, 2, 4, 3) }, "into.shape must be that of the output, [1, 2, 4, 4], got [1, 2, 4, 3]"],
    [
      { into: { data: new Int32Array(32), shape: [1, 2, 4, 4] } },
      "into must be of dtype float32 or float16, got int32",
    ],
    [{ precision: "int8" }, 'unknown option "precision"; sums always run in float32: leave it out'],
    [{ location: "gpu" }, 'location "gpu" needs the WebGPU backend, this is wasm'],
  ])("%j are refused", (options, expected) => {
    expect(message(x, x, x, options)).toBe(`scaledDotProductAttention: ${expected}`);
  });

  test("score slices are not averaged: the mean of scores means nothing", () => {
    expect(message(x, x, x, { returns: { scores: { stage: "raw", average: true } } })).toMatch(
      /unknown option "average"/,
    );
  });
});

describe("a ragged batch", () => {
  const query = floats(1, 5, 2, 4);
  const key = floats(1, 7, 2, 4);
  const ragged = (options: object) => () =>
    problem(query, key, key, { layout: "BSHD", cuSeqLensQuery: [0, 2, 5], cuSeqLensKey: [0, 3, 7], ...options });

  test("is read with one queryOffset for each sequence", () => {
    const { ragged: read, settings } = ragged({ queryOffset: [1, 2] })();
    expect(read).toEqual({ query: new Int32Array([0, 2, 5]), key: new Int32Array([0, 3, 7]) });
    expect(settings.queryOffset).toEqual(new Int32Array([1, 2]));
  });

  test.each([
    [{ cuSeqLensKey: undefined }, /cuSeqLensQuery and cuSeqLensKey must be given together/],
    [{ cuSeqLensKey: [0, 7] }, /cuSeqLensKey must have as many entries as cuSeqLensQuery, got 2 and 3/],
    [{ cuSeqLensQuery: [0, 2, 4] }, /cuSeqLensQuery must ascend from 0 to the packed length 5, got/],
    [{ cuSeqLensQuery: [0, 6, 5] }, /must ascend/],
    [{ cuSeqLensQuery: [1, 2, 5] }, /must ascend/],
    [{ cuSeqLensQuery: [] }, /must ascend/],
    [{ keyLengths: [7] }, /keyLengths must be absent for a ragged batch/],
    [{ queryLengths: [5] }, /queryLengths must be absent for a ragged batch/],
    [{ queryOffset: [1] }, /queryOffset must have length 2, got 1/],
  ])("with %j is refused", (options, expected) => {
    expect(thrownBy(ragged(options)).message).toMatch(expected);
  });

  test("comes in a layout whose rows are tokens, and as one batch", () => {
    const cu = { cuSeqLensQuery: [0, 5], cuSeqLensKey: [0, 5] };
    const x = floats(1, 2, 5, 4);
    expect(message(x, x, x, cu)).toMatch(/layout must be "BSHD" or "BSE" for a ragged batch, got "BHSD"/);
    const y = floats(2, 5, 2, 4);
    expect(message(y, y, y, { ...cu, layout: "BSHD" })).toMatch(
      /query\.shape\[0\] must be 1 for a ragged batch, got 2/,
    );
  });
});
