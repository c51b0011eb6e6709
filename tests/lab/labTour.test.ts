import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createAttention, type Attention } from "headwise";

import { exactAttention } from "../../web/demo/lab/engine/exact.js";
import type { Engine } from "../../web/demo/lab/engine/engine.js";
import { calculate } from "../../web/demo/lab/rooms/positions/calculation.js";
import { fields } from "../../web/demo/lab/rooms/positions/settings.js";
import { rowsApart } from "../../web/demo/lab/rooms/positions/words.js";
import { randomNormal } from "../../web/demo/lab/shell/random.js";
import { State } from "../../web/demo/lab/shell/state.js";
import { nearest } from "../../web/demo/lab/tour/step.js";
import * as copies from "../../web/demo/lab/tour/steps/copies.js";
import * as distance from "../../web/demo/lab/tour/steps/distance.js";
import * as favourite from "../../web/demo/lab/tour/steps/favourite.js";
import * as meaning from "../../web/demo/lab/tour/steps/meaning.js";
import * as pairs from "../../web/demo/lab/tour/steps/pairs.js";
import * as tiles from "../../web/demo/lab/tour/steps/tiles.js";
import * as twins from "../../web/demo/lab/tour/steps/twins.js";
import { STEPS, stepAddress } from "../../web/demo/lab/tour/steps.js";
import { Encoder } from "../../web/demo/model/encoder.js";
import { PARK, PHONE } from "../../web/demo/model/story.js";
import { modelFiles } from "./demoModel.js";

let engine: Engine;
let encoder: Encoder;
let hw: Attention;
beforeAll(async () => {
  hw = await createAttention({ backend: "wasm", threads: 1 });
  encoder = await Encoder.load(hw, modelFiles);
  // What the tour asks of the lab's engine, without its worker.
  engine = {
    scaledDotProductAttention: hw.scaledDotProductAttention.bind(hw),
    rotaryEmbedding: hw.rotaryEmbedding.bind(hw),
    encode: (texts: readonly string[], options: Parameters<Encoder["encode"]>[1]) =>
      Promise.all(texts.map((text) => encoder.encode(text, options))),
  } as unknown as Engine;
});
afterAll(() => hw.dispose());

/** The numbers that stand in a sentence. */
const numbersIn = (sentence: string) =>
  [...sentence.matchAll(/−?\d[\d,]*(\.\d+)?/g)].map(([text]) => Number(text.replaceAll(",", "").replace("−", "-")));

/** The settings of the room Positions that a step opens. */
const settingsOf = (query: string) => new State(fields, new URLSearchParams(query)).values;

describe("the tour says what headwise computes:", () => {
  test("without positions the rows of equal words are equal, with positions they differ", async () => {
    const rows = await twins.twinRows(engine);
    expect(rows.unplaced).toBe(0);
    const room = await calculate(engine, settingsOf(twins.twins.after));
    expect(rows.placed).toBeCloseTo(rowsApart(room.placed, room.names.length, [1, 4]), 6);
    const { right, said } = twins.outcome(rows);
    expect(twins.twins.answers[right]).toBe("Not at all");
    expect(numbersIn(said)).toEqual([Number((100 * rows.placed).toFixed(1)), 0]);
  });

  test("rotary weights stay when all words move, those of added sinusoids do not", async () => {
    const change = await distance.moved(engine);
    expect(change.rotary).toBeLessThan(1e-4);
    const { changes } = await calculate(engine, settingsOf(distance.distance.after));
    expect(change.sinusoidal).toBeCloseTo(changes.sinusoidal, 6);
    const { right, said } = distance.outcome(change);
    expect(distance.distance.answers[right]).toMatch(/only distances count/);
    const [rotary, sinusoidal] = numbersIn(said);
    expect(Math.abs(rotary! - change.rotary)).toBeLessThanOrEqual(change.rotary / 2);
    expect(sinusoidal).toBe(Number((100 * change.sinusoidal).toFixed(1)));
  });

  test("without 1/√D the favourite key takes nearly all", async () => {
    const found = await favourite.favouriteShare(engine);
    const tensor = (seed: number) => ({ data: randomNormal(seed, 64 * 64), shape: [1, 1, 64, 64] });
    const peak = (scale: number) => {
      const { probs } = exactAttention(tensor(1), tensor(2), tensor(2), { scale });
      const rows = Array.from({ length: 64 }, (_, row) => Math.max(...probs.subarray(64 * row, 64 * row + 64)));
      return rows.reduce((sum, share) => sum + share, 0) / 64;
    };
    expect(found.unscaled).toBeCloseTo(peak(1), 4);
    expect(found.scaled).toBeCloseTo(peak(1 / 8), 5);
    const { right, said } = favourite.outcome(found);
    expect(Number(/\d+/.exec(favourite.favourite.answers[right]!)![0])).toBe(80);
    const percent = (share: number) => Number((100 * share).toFixed(0));
    expect(numbersIn(said)).toEqual([
      64,
      percent(found.unscaled),
      Number(found.variance.toFixed(1)),
      percent(found.scaled),
    ]);
  });

  test("a causal mask leaves n(n + 1)/2 pairs", async () => {
    const left = await pairs.pairsLeft(engine);
    expect(left).toBe((24 * 25) / 2);
    const { right, said } = pairs.outcome(left);
    expect(pairs.pairs.answers[right]).toBe("300");
    expect(numbersIn(said)).toEqual([300, 576, 52, 24]);
  });

  test("of m × m tiles, m(m − 1)/2 are never touched", async () => {
    const untouched = await tiles.untouchedTiles(engine);
    expect(untouched).toBe((8 * 7) / 2);
    const { right, said } = tiles.outcome(untouched);
    expect(tiles.tiles.answers[right]).toBe("28");
    expect(numbersIn(said)).toEqual([28, 64, 36, 8]);
  });

  test("without one head the sentence is another, but nearer than another sentence", async () => {
    const found = await meaning.cosines(engine);
    const embedding = async (text: string, headGain: number[][] = []) =>
      (await encoder.encode(text, { headGain })).embedding;
    const whole = await embedding(PARK);
    const cosine = (other: Float32Array) => whole.reduce((sum, value, i) => sum + value * other[i]!, 0);
    expect(found.without).toBeCloseTo(
      cosine(
        await embedding(PARK, [
          [1, 1, 1, 1],
          [1, 0, 1, 1],
        ]),
      ),
      5,
    );
    expect(found.other).toBeCloseTo(cosine(await embedding(PHONE)), 5);
    const { right, said } = meaning.outcome(found);
    expect(meaning.meaning.answers[right]).toBe("Clearly, but it is the same sentence");
    const rounded = (cosine: number) => Number(cosine.toFixed(2));
    expect(numbersIn(said)).toEqual([
      ...[rounded(found.without), 1, rounded(found.other)],
      ...[Math.min(...found.others), Math.max(...found.others)].map(rounded),
    ]);
  });

  test("the head that is switched off is the one that is missed most, and the tour says so", async () => {
    const found = await meaning.cosines(engine);
    const whole = (await encoder.encode(PARK, {})).embedding;
    const all = [];
    for (const [layer, head] of [0, 1].flatMap((l) => [0, 1, 2, 3].map((h) => [l, h] as const))) {
      const headGain = [0, 1].map((l) => [0, 1, 2, 3].map((h) => Number(l !== layer || h !== head)));
      const { embedding } = await encoder.encode(PARK, { headGain });
      all.push(whole.reduce((sum, value, i) => sum + value * embedding[i]!, 0));
    }
    expect(found.without).toBeCloseTo(all[5]!, 5);
    expect(found.others).toHaveLength(7);
    expect(Math.min(...found.others)).toBeCloseTo(Math.min(...all.filter((_, at) => at !== 5)), 5);
    const isMost = all[5] === Math.min(...all);
    expect(meaning.outcome(found).said.includes("Of the eight heads it is the one that is missed most")).toBe(isMost);
    expect(isMost).toBe(true);
    expect(meaning.outcome({ ...found, without: 1 }).said).not.toContain("missed most");
  });
});

test("the tour says what headwise computes: two layers predict what is repeated, one does not", async () => {
  const found = await copies.copies(engine);
  expect(found).toEqual({ two: 15, one: 0, all: 15 });
  const { right, said } = copies.outcome(found);
  expect(copies.copiesStep.answers[right]).toBe("Two are enough, one is not");
  expect(numbersIn(said)).toEqual([15, 15, 0]);
});

describe("the outcome follows the numbers, whatever they are:", () => {
  test("each answer can be the right one", () => {
    const rights = (outcomes: { right: number }[]) => outcomes.map(({ right }) => right);
    expect(rights([0.2, 0.05, 0].map((unplaced) => twins.outcome({ placed: 0.1, unplaced })))).toEqual([0, 1, 2]);
    expect(rights([0.2, 0].map((rotary) => distance.outcome({ rotary, sinusoidal: 0.1 })))).toEqual([0, 1]);
    const shares = [0.02, 0.28, 0.55, 0.95];
    expect(rights(shares.map((unscaled) => favourite.outcome({ unscaled, scaled: 0.1, variance: 64 })))).toEqual([
      0, 1, 2, 3,
    ]);
    expect(rights([270, 287, 301, 560].map(pairs.outcome))).toEqual([0, 1, 2, 3]);
    expect(rights([1, 15, 29, 40].map(tiles.outcome))).toEqual([0, 1, 2, 3]);
    expect(
      rights([0.99, 0.7, 0.1].map((without) => meaning.outcome({ without, others: [0.3, 0.9], other: 0.2 }))),
    ).toEqual([0, 1, 2]);
    expect(rights([[15, 15], [15, 0], [3, 0]].map(([two, one]) => copies.outcome({ two: two!, one: one!, all: 15 })))).toEqual([0, 1, 2]); // oxfmt-ignore
    expect(nearest([1, 2], 1.4)).toBe(0);
  });
});

describe("a step", () => {
  test.each(STEPS.map((step, index) => [index + 1, step] as const))(
    "%i has an address and says no odd words",
    async (number, step) => {
      expect(stepAddress(number)).toBe(`#/${step.room}?${step.before}&tour=${number}`);
      expect(step.before).not.toBe(step.after);
      expect(step.answers.length).toBeGreaterThanOrEqual(2);
      expect(step.answers.length).toBeLessThanOrEqual(4);
      expect(new Set(step.answers).size).toBe(step.answers.length);
      const { said } = await step.reveal(engine);
      for (const words of [step.question, said]) {
        expect(words).not.toMatch(/\b(\w+) \1\b/); // "to to"
        expect(words).not.toMatch(/\d[eE][-+]|NaN|undefined|\.\.|\b1 \w+s\b/);
      }
    },
  );
});
