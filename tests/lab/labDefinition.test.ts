import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createAttention, type Attention } from "headwise";

import { attentionDifferences, difference } from "../../web/demo/lab/engine/difference.js";
import { exactAttention, type ExactOptions } from "../../web/demo/lab/engine/exact.js";
import { exactLayers } from "../../web/demo/lab/engine/exactLayers.js";
import { roofline } from "../../web/demo/lab/engine/roofline.js";
import { finished, rowHistory, rowsOf, visibleTiles } from "../../web/demo/lab/rooms/flash/online.js";
import { tiling, visibility, visibleIn } from "../../web/demo/lab/rooms/masks/tiles.js";
import { headMatrix } from "../../web/demo/lab/shell/matrix.js";
import { randomNormal } from "../../web/demo/lab/shell/random.js";
import { movedByHead } from "../../web/demo/model/change.js";
import { Encoder } from "../../web/demo/model/encoder.js";
import { rollout } from "../../web/demo/model/rollout.js";
import { modelFiles } from "./demoModel.js";
import { referenceAttention } from "../attention-conformance/reference/reference.js";

let hw: Attention;
beforeAll(async () => {
  hw = await createAttention({ backend: "wasm", threads: 1 });
});
afterAll(() => hw.dispose());

const tensor = (seed: number, ...shape: number[]) => ({
  data: randomNormal(
    seed,
    shape.reduce((n, extent) => n * extent, 1),
  ),
  shape,
});
const call = { query: tensor(1, 2, 4, 9, 6), key: tensor(2, 2, 2, 11, 6), value: tensor(3, 2, 2, 11, 5) };
const mask = { data: Uint8Array.from({ length: 11 }, (_, key) => Number(key !== 4)), shape: [1, 1, 1, 11] };

const OPTIONS: readonly ExactOptions[] = [
  {},
  { causal: true, scale: 1 },
  { causal: "upper-left", excludeSelf: true },
  { causal: "lower-right", keyLengths: [7, 3], queryLengths: [9, 5] },
  { window: { left: 2, right: 1 }, queryOffset: -3 },
  { softcap: 0.7, alibiSlopes: [1, 0.5, 0.25, 0.125], sinks: [0, -Infinity, 1, 2] },
  { mask, headGain: [1, 0, 2, -1] },
  { causal: true, queryOffset: -4, emptyRows: "nan" },
  { causal: true, queryOffset: -4, emptyRows: "uniform", keyLengths: [8, 0] },
];

test.each(OPTIONS)("the lab's definition is the tests' reference: %j", (options) => {
  const expected = referenceAttention(call.query, call.key, call.value, options);
  const exact = exactAttention(call.query, call.key, call.value, options);
  const close = (what: string, values: ArrayLike<number>, wanted: ArrayLike<number>) =>
    expect(difference(what, values, wanted).largest).toBeLessThan(1e-12);
  close("output", exact.output, expected.output.values);
  close("probs", exact.probs, expected.probs.values);
});

test("a difference is seen, wherever it is", async () => {
  const { output, probs } = await hw.scaledDotProductAttention(call.query, call.key, call.value, {
    returns: { probs: true },
  });
  const found = () => attentionDifferences({ ...call, options: {} }, { output, probs }).map(({ largest }) => largest);
  expect(Math.max(...found())).toBeLessThan(1e-6);
  output.data[17]! += 0.25;
  probs.data[5] = NaN;
  expect(found()[0]).toBeCloseTo(0.25, 5);
  expect(found()[1]).toBeNaN();
});

test("the tiled computation of the page ends in headwise's output", async () => {
  const [query, key, value] = [tensor(4, 1, 1, 17, 4), tensor(5, 1, 1, 17, 4), tensor(6, 1, 1, 17, 4)];
  const { output, scores } = await hw.scaledDotProductAttention(query, key, value, {
    causal: true,
    returns: { scores: "biased" },
  });
  const [s, v] = [headMatrix(scores), headMatrix(value)];
  const tile = { queries: 5, keys: 3 };
  const steps = visibleTiles(s, tile);
  expect(steps).toHaveLength(2 + 4 + 5 + 6); // of 4 × 6 tiles: those above the diagonal are left out
  for (let rowTile = 0; rowTile < 4; rowTile++)
    for (const row of rowsOf(rowTile, tile, s)) {
      const mine = steps.filter((step) => step.rowTile === rowTile);
      const result = finished(rowHistory(s, v, row, mine, tile).at(-1)!.after);
      result.forEach((number, d) => expect(Math.abs(number - output.data[row * 4 + d]!)).toBeLessThan(1e-6));
    }
});

describe("which keys are visible", () => {
  const rules = {
    queries: 9,
    keys: 11,
    keyLength: 11,
    causal: "off",
    left: Infinity,
    right: Infinity,
    excludeSelf: false,
  };
  test.each([
    [rules, {}],
    [{ ...rules, causal: "lower-right" }, { causal: "lower-right" }],
    [
      { ...rules, causal: "upper-left", excludeSelf: true },
      { causal: "upper-left", excludeSelf: true },
    ],
    [
      { ...rules, causal: "lower-right", keyLength: 4 },
      { causal: "lower-right", keyLengths: [4, 4], queryOffset: -5 },
    ],
    [{ ...rules, left: 2, right: 1 }, { window: { left: 2, right: 1 } }],
  ] as const)("is what headwise sees: %j", async (given, options) => {
    const { scores } = await hw.scaledDotProductAttention(call.query, call.key, call.value, {
      ...options,
      returns: { output: false, scores: "biased" },
    });
    const seen = visibility(given);
    for (let query = 0; query < 9; query++)
      for (let key = 0; key < 11; key++)
        expect(visibleIn(seen, query, key, key + 1)).toBe(Number(scores.data[query * 11 + key] !== -Infinity));
  });

  test("makes tiles that are whole, on an edge, or skipped", () => {
    const { states, rows, columns } = tiling(
      visibility({ ...rules, queries: 8, keys: 8, causal: "lower-right" }),
      4,
      4,
    );
    expect([rows, columns]).toEqual([2, 2]);
    expect(states).toEqual(["edge", "skipped", "whole", "edge"]);
  });
});

describe("the encoder", () => {
  const TEXT = "They decided to park the car in the park.";
  let encoder: Encoder;
  let exact: Encoder;
  beforeAll(async () => {
    encoder = await Encoder.load(hw, modelFiles);
    exact = await Encoder.load(exactLayers, modelFiles);
  });

  test("computes by headwise what its definition in double precision says, also with changes", async () => {
    for (const options of [{}, { headGain: [[1, 0, 1.5, 1]], hiddenTokens: [5] }]) {
      const [mine, theirs] = [await encoder.encode(TEXT, options), await exact.encode(TEXT, options)];
      expect(difference("embedding", mine.embedding, theirs.embedding).largest).toBeLessThan(1e-6);
      mine.layers.forEach(({ probs, scores }, layer) => {
        expect(difference("probs", probs, theirs.layers[layer]!.probs).largest).toBeLessThan(1e-5);
        expect(difference("scores", scores, theirs.layers[layer]!.scores).largest).toBeLessThan(1e-4);
      });
    }
  });

  test("a hidden token is looked at by nobody, a head of layer 2 that is off moves no head", async () => {
    const original = await encoder.encode(TEXT);
    const hidden = await encoder.encode(TEXT, { hiddenTokens: [5] });
    const size = hidden.tokens.length;
    for (const { probs } of hidden.layers)
      for (let row = 0; row < probs.length / size; row++) expect(probs[row * size + 5]).toBe(0);
    expect(Math.max(...movedByHead(original, original))).toBe(0);
    expect(Math.min(...movedByHead(original, hidden))).toBeGreaterThan(0);
    const off = await encoder.encode(TEXT, {
      headGain: [
        [1, 1, 1, 1],
        [0, 1, 1, 1],
      ],
    });
    expect(Math.max(...movedByHead(original, off))).toBe(0);
    expect(off.embedding).not.toEqual(original.embedding);
    const firstLayer = await encoder.encode(TEXT, { headGain: [[0, 1, 1, 1]] });
    const moved = movedByHead(original, firstLayer);
    expect(Math.max(...moved.slice(0, 4))).toBe(0);
    expect(Math.min(...moved.slice(4))).toBeGreaterThan(0);
  });

  test("rollout tells where information comes from: rows sum to 1", async () => {
    const encoding = await encoder.encode(TEXT);
    const size = encoding.tokens.length;
    const mixed = rollout(encoding);
    for (let row = 0; row < size; row++) {
      const sum = mixed.subarray(row * size, (row + 1) * size).reduce((total, share) => total + share, 0);
      expect(sum).toBeCloseTo(1, 5);
    }
    const own = {
      tokens: ["a", "b"],
      layers: [{ numHeads: 1, probs: Float32Array.of(0, 1, 1, 0), scores: new Float32Array(4) }],
    };
    expect([...rollout(own)]).toEqual([0.5, 0.5, 0.5, 0.5]);
  });
});

test("the roofline runs, and gives between 1e9 and 1e12 operations a second", async () => {
  const rate = await roofline(false);
  expect(rate).toBeGreaterThan(1e9);
  expect(rate).toBeLessThan(1e12);
});
