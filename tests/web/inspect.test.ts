// Scores of heads: detectors, detect and summaries.

import { describe, expect, test } from "@jest/globals";
import { createAttention, OptionError, ShapeError } from "headwise";
import {
  detect,
  distanceSummary,
  duplicateToken,
  entropySummary,
  firstToken,
  induction,
  massSummary,
  positional,
  previousToken,
  selfToken,
  type Floats,
} from "headwise/inspect";
import { random } from "headwise/train";

import { createTrainer, USUAL_SETTINGS } from "../../web/demo/train/trainer.js";
import { repeatSequence } from "../../web/demo/train/repeat.js";
import { batch, floats, head, layer, pointing, uniform } from "./inspectMaps.js";
import { thrownBy } from "./thrownBy.js";

const UNIT = 2 ** -24; // float32 rounds a number by at most this part of it

const values = ({ data }: { readonly data: ArrayLike<number> }) => Array.from(data);
const mean = (numbers: readonly number[]) => numbers.reduce((sum, each) => sum + each, 0) / numbers.length;

/** Scores that are means of rounded weights of at most 1. */
function expectNear(scores: Floats, expected: readonly number[]) {
  expect(scores.data.length).toBe(expected.length);
  expected.forEach((each, n) => expect(Math.abs(scores.data[n]! - each)).toBeLessThanOrEqual(2 * UNIT));
}

/** A sequence of four tokens, twice. */
const TWICE = Int32Array.of(7, 3, 9, 5, 7, 3, 9, 5);
const LENGTH = TWICE.length;

const HEADS = {
  self: pointing(LENGTH, (i) => i),
  previous: pointing(LENGTH, (i) => Math.max(0, i - 1)),
  first: pointing(LENGTH, () => 0),
  duplicate: pointing(LENGTH, (i) => (i < 4 ? 0 : i - 4)),
  induction: pointing(LENGTH, (i) => (i < 4 ? 0 : i - 3)),
  uniform: uniform(LENGTH),
};
const ALL = layer(...Object.values(HEADS));

describe("A head that does one thing scores 1, and one with equal weights what its rows give:", () => {
  // rows 1 to 7 count; their keys have weight 1/(i + 1)
  const equal = mean([1, 2, 3, 4, 5, 6, 7].map((i) => 1 / (i + 1)));

  test("self, previous and first token", () => {
    expectNear(selfToken(layer(HEADS.self, HEADS.previous, HEADS.uniform)), [1, 0, equal]);
    expectNear(previousToken(layer(HEADS.self, HEADS.previous, HEADS.uniform)), [0, 1, equal]);
    // row 1 of the head of previous tokens looks at token 0
    expectNear(firstToken(layer(HEADS.first, HEADS.previous, HEADS.uniform)), [1, 1 / 7, equal]);
  });

  test("duplicate token and induction, over the rows whose token has occurred before", () => {
    const repeated = mean([4, 5, 6, 7].map((i) => 1 / (i + 1)));
    expectNear(duplicateToken(layer(HEADS.duplicate, HEADS.induction, HEADS.uniform), TWICE), [1, 0, repeated]);
    expectNear(induction(layer(HEADS.duplicate, HEADS.induction, HEADS.uniform), TWICE), [0, 1, repeated]);
  });

  test("one offset, and which one", () => {
    const { score, offset } = positional(
      layer(
        HEADS.self,
        HEADS.previous,
        pointing(LENGTH, (i) => i - 3),
      ),
    );
    // the last head has no key in rows 0 to 2, which see nothing and do not count
    expectNear(score, [1, 1, 1]);
    expect(values(offset)).toEqual([0, -1, -3]);
  });
});

describe("Rows and keys that count:", () => {
  test("weights on all earlier occurrences are added", () => {
    const tokens = Int32Array.of(4, 4, 1, 4); // row 1: key 0; row 3: keys 0 and 1
    const probs = head(4, 4, (_, key) => [0.1, 0.2, 0.3, 0.4][key]!);
    expectNear(duplicateToken(probs, tokens), [mean([0.1, 0.1 + 0.2])]);
    // after them: row 1: key 1, which is the query itself; row 3: keys 1 and 2
    expectNear(induction(probs, tokens), [mean([0.2, 0.2 + 0.3])]);
  });

  test("a row without keys does not count", () => {
    const padded = head(6, 6, (query, key) => (query < 4 && key === query - 1 ? 1 : 0));
    expectNear(previousToken(padded), [1]);
    expect(values(entropySummary(padded).count)).toEqual([3]);
  });

  test("the row at position 0 counts in no pattern", () => {
    const probs = head(2, 2, (query, key) => (query === 0 ? Number(key === 0) : 0.5));
    expectNear(selfToken(probs), [0.5]);
    expectNear(firstToken(probs), [0.5]);
    expectNear(positional(probs).score, [0.5]);
  });

  test("the last query stands at the last key, or where queryOffset says", () => {
    const lastTwo = head(2, 8, (query, key) => Number(key === query + 5)); // tokens 6 and 7 of a cache
    expectNear(previousToken(lastTwo), [1]);
    expectNear(selfToken(lastTwo, { queryOffset: 5 }), [1]);
    expect(values(positional(lastTwo, { queryOffset: 3 }).offset)).toEqual([2]);
    const both = batch(lastTwo, lastTwo);
    expectNear(previousToken(both, { queryOffset: [6, 5] }), [1, 0]);
  });

  test("a score is 0 if no row counts", () => {
    expect(values(duplicateToken(uniform(3), Int32Array.of(1, 2, 3)))).toEqual([0]);
    expect(values(selfToken(pointing(1, () => 0)))).toEqual([0]);
    expect(values(previousToken(floats([], [2, 0, 0])))).toEqual([0, 0]);
    expect(positional(pointing(1, () => 0))).toEqual({
      score: floats([0], [1]),
      offset: { data: Int32Array.of(0), shape: [1] },
    });
  });

  test("an offset that only a few of the rows have is not found", () => {
    // the last row looks at key 0, so its offset, −7, has a mean of 1 over one row
    expect(values(positional(HEADS.first).offset)).not.toContain(-7);
    // of equal offsets it is the nearest: each of them is met by one row, and has 7 + offset rows
    const { score, offset } = positional(HEADS.first);
    expect(values(offset)).toEqual([-4]); // rows 4 to 7 have such a key, more have those of nearer offsets
    expectNear(score, [1 / 4]);
  });

  test("NaN shows in its head only", () => {
    const data = ALL.data.slice();
    data[LENGTH * LENGTH + 5 * LENGTH + 4] = NaN; // head 1, row 5, the key before
    const broken = { data, shape: ALL.shape };
    expect(values(previousToken(broken)).map(Number.isNaN)).toEqual([false, true, false, false, false, false]);
    expect(values(positional(broken).score).map(Number.isNaN)).toEqual([false, true, false, false, false, false]);
    expect(values(entropySummary(broken).min).map(Number.isNaN)).toEqual([false, true, false, false, false, false]);
    expect(detect([broken], TWICE).filter(({ head: n, kind }) => n === 1 && kind === "previousToken")).toEqual([]);
  });
});

describe("Shapes:", () => {
  test("scores have the axes before queries and keys", () => {
    const rank4 = batch(ALL, ALL);
    expect(previousToken(rank4).shape).toEqual([2, 6]);
    expect(previousToken(ALL).shape).toEqual([6]);
    expect(previousToken({ data: HEADS.self.data, shape: [LENGTH, LENGTH] }).shape).toEqual([]);
    expect(massSummary(rank4, [0]).max.shape).toEqual([2, 6]);
    expect(positional(rank4).offset.shape).toEqual([2, 6]);
  });

  test("sequences may have tokens of their own", () => {
    const other = Int32Array.of(1, 2, 3, 4, 5, 6, 7, 1); // only the last token has occurred before
    const both = batch(HEADS.induction, HEADS.induction);
    expectNear(induction(both, { data: Int32Array.of(...TWICE, ...other), shape: [2, LENGTH] }), [1, 0]);
    expectNear(induction(both, TWICE), [1, 1]);
  });
});

describe("detect", () => {
  test("names heads by layer and head, the highest score first", () => {
    expect(detect([layer(HEADS.previous, HEADS.uniform), layer(HEADS.self, HEADS.first)], TWICE)).toEqual([
      { layer: 0, head: 0, kind: "previousToken", score: 1 },
      { layer: 1, head: 0, kind: "selfToken", score: 1 },
      { layer: 1, head: 1, kind: "firstToken", score: 1 },
    ]);
  });

  test("says the offset of a positional head, which an induction head is in one repeated text", () => {
    // row 3, too, looks three places back: at token 0
    expect(detect([HEADS.induction], TWICE)).toEqual([
      { layer: 0, head: 0, kind: "induction", score: 1 },
      { layer: 0, head: 0, kind: "positional", score: 1, offset: -3 },
    ]);
  });

  test("takes the rows of all sequences together", () => {
    // Sequence 0 has four rows whose token has occurred before, sequence 1 has one.
    const tokens = { data: Int32Array.of(...TWICE, 1, 2, 3, 4, 5, 6, 7, 7), shape: [2, LENGTH] };
    const found = detect([batch(HEADS.duplicate, HEADS.self)], tokens, { threshold: 0.75 });
    expect(found.filter(({ kind }) => kind === "duplicateToken")).toEqual([
      { layer: 0, head: 0, kind: "duplicateToken", score: 4 / 5 },
    ]);
  });

  test("lists scores from the threshold on", () => {
    const half = head(3, 3, (query, key) => (key === query || key === query - 1 ? 0.5 : 0));
    const tokens = Int32Array.of(1, 2, 3);
    expect(detect([half], tokens).map(({ kind }) => kind)).toEqual(["previousToken", "selfToken"]);
    expect(detect([half], tokens, { threshold: 0.6 })).toEqual([]);
  });

  test("finds the circuit that two trained layers have built: a previous-token head under an induction head", async () => {
    const hw = await createAttention({ backend: "wasm", variant: "simd", threads: 1 });
    const settings = {
      ...USUAL_SETTINGS,
      width: 32,
      heads: 2,
      tokens: 24,
      vocabulary: 24,
      batch: 16,
      learningRate: 0.005,
    };
    const trainer = await createTrainer(hw, { ...settings, layers: 2 });
    const sequences = Array.from({ length: 4 }, (_, n) => repeatSequence({ ...settings, seed: 900_000 + n }));
    const kindsOf = async () => {
      const found = [];
      for (const { tokens } of sequences)
        found.push(...detect((await trainer.look(tokens)).probs, tokens, { threshold: 0.5 }));
      return found;
    };
    expect((await kindsOf()).filter(({ kind }) => kind === "induction")).toEqual([]);
    for (let step = 0; step < 450; step++) await trainer.step();
    const found = await kindsOf();
    trainer.dispose();
    hw.dispose();
    const layersWith = (kind: string) => new Set(found.filter((each) => each.kind === kind).map((each) => each.layer));
    expect(layersWith("previousToken")).toEqual(new Set([0]));
    expect(layersWith("induction")).toEqual(new Set([1]));
  });
});

describe("Summaries of rows:", () => {
  test("entropy is ln n for n equal weights, and 0 for one key", () => {
    const {
      mean: average,
      min,
      max,
      count,
    } = entropySummary(
      layer(
        uniform(4),
        pointing(4, (i) => i),
      ),
    );
    const entropies = [0, Math.log(2), Math.log(3), Math.log(4)];
    // ln 4 has two bits before the point: its float32 is off by at most 2 ** -24, and so are the weights' logarithms
    [average, min, max].forEach(({ data }, n) => {
      const expected = [mean(entropies), 0, Math.log(4)][n]!;
      expect(Math.abs(data[0]! - expected)).toBeLessThan(8 * UNIT);
      expect(data[1]).toBe(0);
    });
    expect(values(count)).toEqual([4, 4]);
  });

  test("entropy is that of a call", async () => {
    const hw = await createAttention({ backend: "wasm", threads: 1 });
    const x = random(1).normal([2, 3, 9, 4]);
    const returns = { probs: true, entropy: true } as const;
    const { probs, entropy } = await hw.scaledDotProductAttention(x, x, x, { causal: true, returns });
    hw.dispose();
    const { mean: average, max } = entropySummary(probs);
    for (let n = 0; n < 6; n++) {
      const rows = [...entropy.data.subarray(n * 9, n * 9 + 9)];
      expect(Math.abs(average.data[n]! - mean(rows))).toBeLessThan(1e-6);
      expect(Math.abs(max.data[n]! - Math.max(...rows))).toBeLessThan(1e-6);
    }
  });

  test("distance is that to the keys, in tokens, whatever the sum of the row", () => {
    const { mean: average, min, max } = distanceSummary(pointing(6, (i) => Math.max(0, i - 2)));
    expect([average, min, max].map(({ data }) => data[0])).toEqual(
      [(0 + 1 + 2 + 2 + 2 + 2) / 6, 0, 2].map(Math.fround),
    );
    const withSink = head(1, 5, (_, key) => (key === 0 || key === 2 ? 0.25 : 0)); // the query stands at key 4
    expect(values(distanceSummary(withSink).mean)).toEqual([3]);
    expect(values(distanceSummary(withSink, { queryOffset: 1 }).mean)).toEqual([1]);
  });

  test("mass is the weight on the chosen keys together, each counted once", () => {
    const probs = head(2, 4, (query, key) => (query === 0 ? [0.5, 0.25, 0.25, 0] : [0, 0, 0.5, 0.5])[key]!);
    const { mean: average, min, max } = massSummary(probs, [0, 2, 2]);
    expect([average, min, max].map(({ data }) => data[0])).toEqual([0.625, 0.5, 0.75]);
    expect(values(massSummary(probs, Int32Array.of()).max)).toEqual([0]);
  });

  test("are 0 if no row counts", () => {
    const { mean: average, min, max, count } = distanceSummary(head(3, 3, () => 0));
    expect([average, min, max, count].map(({ data }) => data[0])).toEqual([0, 0, 0, 0]);
  });
});

describe("Wrong arguments are refused before any work:", () => {
  const refused: readonly [string, () => unknown, typeof OptionError | typeof ShapeError, string][] = [
    [
      "no tensor",
      () => selfToken([[1]] as never),
      OptionError,
      "selfToken: probs must be a tensor { data, shape } with a Float32Array",
    ],
    [
      "float16",
      () => firstToken({ data: new Uint16Array(4), shape: [2, 2] } as never),
      OptionError,
      "whose data is a Uint16Array of 4",
    ],
    [
      "one axis",
      () => previousToken(floats([1])),
      ShapeError,
      "previousToken: probs.shape must be [B, H, Sq, Skv], [H, Sq, Skv] or [Sq, Skv], got [1]",
    ],
    [
      "tokens of another length",
      () => induction(uniform(3), Int32Array.of(1, 2)),
      ShapeError,
      "induction: tokens.shape must be [Skv], [3], got [2]",
    ],
    [
      "tokens of another batch",
      () => duplicateToken(uniform(3), { data: new Int32Array(6), shape: [2, 3] }),
      ShapeError,
      "duplicateToken: tokens.shape must be [B, Skv], [1, 3], got [2, 3]",
    ],
    [
      "tokens that are no integers",
      () => induction(uniform(3), floats([1, 2, 3]) as never),
      OptionError,
      "induction: tokens must be a tensor { data, shape } with an Int32Array",
    ],
    [
      "an offset beyond the keys",
      () => positional(uniform(3), { queryOffset: 4 }),
      OptionError,
      "positional: queryOffset must be integers from -3 to 3, got [4]",
    ],
    [
      "offsets of another batch",
      () => distanceSummary(uniform(3), { queryOffset: [0, 0] }),
      ShapeError,
      "distanceSummary: queryOffset must have one number for each of 1 sequences, got 2",
    ],
    [
      "an unknown option",
      () => detect([uniform(2)], Int32Array.of(1, 2), { treshold: 1 } as never),
      OptionError,
      'detect: option "treshold" must be one of queryOffset, threshold',
    ],
    [
      "a threshold above 1",
      () => detect([uniform(2)], Int32Array.of(1, 2), { threshold: 50 }),
      OptionError,
      "detect: threshold must be a number above 0 and up to 1, got 50",
    ],
    [
      "a tensor instead of a list",
      () => detect(uniform(2) as never, Int32Array.of(1, 2)),
      OptionError,
      "detect: probsPerLayer must be a list with a tensor for each layer, got an object with data, shape",
    ],
    [
      "a layer that is no tensor",
      () => detect([uniform(2), null as never], Int32Array.of(1, 2)),
      OptionError,
      "detect: probsPerLayer[1] must be a tensor { data, shape } with a Float32Array, got null",
    ],
    [
      "a key that is not there",
      () => massSummary(uniform(2), [0, 2]),
      OptionError,
      "massSummary: keys must be integers from 0 to 1, got [0, 2]",
    ],
    [
      "a key instead of a list",
      () => massSummary(uniform(2), 0 as never),
      OptionError,
      "massSummary: keys must be a list of at most 1048576 integers, got 0",
    ],
    [
      "an offset that is no number",
      () => positional(uniform(3), { queryOffset: "0" as never }),
      OptionError,
      'positional: queryOffset must be an integer or a list of at most 1048576 integers, got "0"',
    ],
  ];

  test.each(refused)("%s", (_, call, Class, message) => {
    const error = thrownBy(call);
    expect(error.message).toContain(message);
    expect(Class.is(error)).toBe(true);
  });
});
