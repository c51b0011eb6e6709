// The Train room without a browser: what a head is scored, when something has happened, and what is said.

import { describe, expect, test } from "@jest/globals";

import { Checkpoints } from "../../web/demo/lab/engine/checkpoints.js";
import { Checks } from "../../web/demo/lab/engine/checks.js";
import { axisSteps, placeOfStep, placeOfValue, PLOT, points, thinned, type Point } from "../../web/demo/lab/rooms/train/curves.js"; // oxfmt-ignore
import { History } from "../../web/demo/lab/rooms/train/history.js";
import { Moments, type Look } from "../../web/demo/lab/rooms/train/moments.js";
import { headScores, layerScores, type HeadScores } from "../../web/demo/lab/rooms/train/scores.js";
import { fields, gainsOf, modelKey, placeOf, placesOf, switched } from "../../web/demo/lab/rooms/train/settings.js";
import { cellWords, finding, habitOf, lookFor, momentWords, scoreWords, speedWords, tokenNames } from "../../web/demo/lab/rooms/train/words.js"; // oxfmt-ignore
import { State } from "../../web/demo/lab/shell/state.js";
import { faults, initial } from "./labGrid.js";

/** Causal weights that put `share` on one key of each query, and the rest on the first key. */
function looking(tokens: number, key: (query: number) => number, share = 1): Float32Array {
  const data = new Float32Array(tokens ** 2);
  for (let query = 0; query < tokens; query++) {
    const at = key(query);
    const isThere = at >= 0 && at <= query;
    data[query * tokens] = 1 - (isThere ? share : 0);
    if (isThere) data[query * tokens + at]! += share;
  }
  return data;
}

const NONE: HeadScores = { previous: 0, induction: 0, same: 0 };
const TOKENS = 16;
const HALF = 8;

describe("the scores of a head", () => {
  test.each([
    ["the token before", (i: number) => i - 1, "previous"],
    ["what followed the token the last time", (i: number) => i - HALF + 1, "induction"],
    ["the same token the last time", (i: number) => i - HALF, "same"],
  ] as const)("are 1 for a head that looks at %s, and no other score is", (_, key, name) => {
    const scores = headScores({ data: looking(TOKENS, key), tokens: TOKENS });
    expect(scores[name]).toBe(1);
    for (const other of ["previous", "induction", "same"] as const)
      if (other !== name) expect(scores[other]).toBeLessThan(0.2);
  });

  test("are the share of the attention", () => {
    const data = looking(TOKENS, (i) => i - 1, 0.25);
    // Query 1 has the token before it as its first token: it gets both shares.
    expect(headScores({ data, tokens: TOKENS }).previous).toBeCloseTo((14 * 0.25 + 1) / 15, 6);
  });

  test("of even attention are those of chance", () => {
    const data = Float32Array.from({ length: TOKENS ** 2 }, (_, at) => {
      const [i, j] = [Math.floor(at / TOKENS), at % TOKENS];
      return j <= i ? 1 / (i + 1) : 0;
    });
    const mean = (first: number, last: number) => {
      let sum = 0;
      for (let i = first; i <= last; i++) sum += 1 / (i + 1);
      return sum / (last - first + 1);
    };
    const scores = headScores({ data, tokens: TOKENS });
    expect(scores.previous).toBeCloseTo(mean(1, 15), 6);
    expect(scores.induction).toBeCloseTo(mean(8, 14), 6);
    expect(scores.same).toBeCloseTo(mean(8, 15), 6);
  });

  test("of a layer are those of each of its heads", () => {
    const heads = [looking(TOKENS, (i) => i - 1), looking(TOKENS, (i) => i - HALF + 1)];
    const all = new Float32Array(2 * TOKENS ** 2);
    heads.forEach((head, at) => all.set(head, at * TOKENS ** 2));
    expect(layerScores(all, 2)).toEqual(heads.map((data) => headScores({ data, tokens: TOKENS })));
  });
});

describe("moments", () => {
  const look = (step: number, induction: number, copied = 0, previous = 0): Look => ({
    step,
    copied,
    scores: [[], [{ ...NONE, previous }], [NONE, { ...NONE, induction }]],
  });

  test("a head that takes up a habit is told once, with its step", () => {
    const moments = new Moments();
    [0.1, 0.4, 0.55, 0.45, 0.6, 0.9].forEach((score, at) => moments.add(look(10 * at, score)));
    expect(moments.list.map(momentWords)).toEqual([
      "Step 20: layer 2 head 2 now looks at what followed this token last time.",
    ]);
    expect(moments.having("induction")).toEqual([{ layer: 2, head: 1 }]);
  });

  test("a head that loses its habit is told, and that it takes it up again", () => {
    const moments = new Moments();
    [0.6, 0.1, 0.6].forEach((score, at) => moments.add(look(at, score)));
    expect(moments.list.map(({ kind }) => kind)).toEqual(["begins", "ends", "begins"]);
    expect(momentWords(moments.list[1]!)).toBe(
      "Step 1: layer 2 head 2 does not look any more at what followed this token last time.",
    );
  });

  test("each milestone of copying is told once, also if one look passes both", () => {
    const moments = new Moments();
    [0.2, 0.97, 0.4, 0.99].forEach((copied, at) => moments.add(look(at, 0, copied)));
    expect(moments.list.map(momentWords)).toEqual([
      "Step 1: the two layers copy 50\u00a0% of the repeated tokens.",
      "Step 1: the two layers copy 95\u00a0% of the repeated tokens.",
    ]);
  });

  test("what the visitor switched stands between what happened", () => {
    const moments = new Moments();
    moments.add(look(5, 0.9));
    moments.switched(1240, { layer: 1, head: 3 }, false);
    moments.switched(1245, { layer: 1, head: 3 }, true);
    expect(moments.list.slice(1).map(momentWords)).toEqual([
      "Step 1,240: you switched layer 1 head 4 off.",
      "Step 1,245: you switched layer 1 head 4 on.",
    ]);
  });
});

describe("words", () => {
  const after = (previous: number, induction: number) => {
    const moments = new Moments();
    const scores = [[NONE], [{ ...NONE, previous }], [{ ...NONE, induction }]];
    moments.add({ step: 1, scores, copied: 0 });
    return moments;
  };

  test("every sentence is one, whatever has happened", () => {
    const said = [0, 1, 740].flatMap((step) =>
      [undefined, 0, 0.004, 0.5, 0.999, 1].flatMap((copied) =>
        [undefined, 0.02].flatMap((control) =>
          [
            [],
            [{ layer: 1, head: 3 }],
            [
              { layer: 1, head: 3 },
              { layer: 2, head: 0 },
            ],
          ].map((off) => finding(step, copied, control, off)),
        ),
      ),
    );
    const hints = [0, 1, 740].flatMap((step) =>
      [after(0, 0), after(1, 0), after(0, 1), after(1, 1)].flatMap((moments) =>
        [false, true].map((hasControl) => lookFor(step, moments, hasControl)),
      ),
    );
    const plain = [...said, ...hints].map((words) => words.replaceAll(/layer \d head \d/gi, "that head"));
    expect(plain.flatMap(faults)).toEqual([]);
  });

  test("the finding says the step, and both shares", () => {
    expect(finding(740, 0.973, 0.081)).toBe(
      "After 740 steps the two layers copy 97\u00a0% of the repeated tokens, and one layer copies 8\u00a0%.",
    );
    expect(finding(1, 0.5, undefined, [{ layer: 1, head: 3 }])).toBe(
      "Without layer 1 head 4: after 1 step the two layers copy 50\u00a0% of the repeated tokens.",
    );
    expect(finding(0, undefined, undefined)).toMatch(/^Nothing is trained yet/);
  });

  test("what to look for follows what has happened", () => {
    expect(lookFor(0, after(0, 0), true)).toMatch(/random weights/);
    expect(lookFor(50, after(0, 0), true)).toMatch(/^First look for a line beside the diagonal/);
    expect(lookFor(200, after(1, 0), true)).toMatch(/^Layer 1 head 1 tells every token/);
    expect(lookFor(700, after(1, 1), true)).toMatch(
      /^Layer 2 head 1 is an induction head\..*Switch layer 1 head 1 off, /,
    );
    expect(lookFor(700, after(1, 1), false)).not.toMatch(/control/);
  });

  test("a cell says which of the three keys it is", () => {
    const names = tokenNames([0, 1, 2, 3, 0, 1, 2, 3], 4);
    expect(names).toEqual(["A₁", "B₁", "C₁", "D₁", "A₂", "B₂", "C₂", "D₂"]);
    expect(cellWords(names, 4, 5, 2, 0.93)).toBe(
      "“B₂” gives 93\u00a0% of its attention to “C₁”, which followed this token last time.",
    );
    expect(cellWords(names, 4, 5, 1, 0.5)).toMatch(/“B₁”, the same token last time\.$/);
    expect(cellWords(names, 4, 5, 4, 0.5)).toMatch(/“A₂”, the token before\.$/);
    expect(cellWords(names, 4, 5, 5, 0.5)).toMatch(/“B₂”, which is itself\.$/);
    expect(cellWords(names, 4, 5, 0, 0)).toBe("“B₂” gives 0\u00a0% of its attention to “A₁”.");
  });

  test("all tokens of the vocabulary have names of their own", () => {
    const all = Array.from({ length: 64 }, (_, token) => token);
    expect(new Set(tokenNames(all, 64)).size).toBe(64);
    expect(tokenNames(all, 64).join("")).not.toContain("#");
  });

  test("a habit is the strongest score, if it is clear", () => {
    expect(habitOf({ previous: 0.2, induction: 0.1, same: 0.29 })).toBeUndefined();
    expect(habitOf({ previous: 0.2, induction: 0.1, same: 0.4 })).toBe("same");
    expect(habitOf({ previous: 0.4, induction: 0.5, same: 0.4 })).toBe("induction");
    expect(scoreWords({ previous: 0.97, induction: 0.02, same: 0 })).toBe(
      "token before 97\u00a0%, what followed 2\u00a0%, same token 0\u00a0%",
    );
  });

  test("the speed is that of a step", () => {
    expect(speedWords(38.4, 2)).toBe("38 ms a step · 2 threads");
    expect(speedWords(4.26, 1)).toBe("4.3 ms a step · 1 thread");
    expect(speedWords(undefined, 1)).toBe("1 thread");
  });
});

describe("settings", () => {
  const read = (query: string) => new State(fields, new URLSearchParams(query)).values;

  test("an address names what is trained, and which heads are off", () => {
    const state = new State(fields, new URLSearchParams("position=learned&heads=8&seed=7&off=1.4,2.1"));
    expect(state.query.toString()).toBe("position=learned&heads=8&seed=7&off=1.4%2C2.1");
    expect(gainsOf(state.values)).toEqual([
      [1, 1, 1, 0, 1, 1, 1, 1],
      [0, 1, 1, 1, 1, 1, 1, 1],
    ]);
  });

  test("what is no head of the model is left out", () => {
    expect(placesOf("1.1,3.1,2.9,1.0,x,,2.2", 4)).toEqual([
      { layer: 1, head: 0 },
      { layer: 2, head: 1 },
    ]);
    expect(placeOf("2.4", 2)).toBeUndefined();
  });

  test("switching a head twice gives the same list", () => {
    const place = { layer: 1, head: 2 };
    expect(switched("2.2", place, 4)).toBe("1.3,2.2");
    expect(switched(switched("2.2", place, 4), place, 4)).toBe("2.2");
  });

  test("only what a model is made from begins the training anew", () => {
    const key = modelKey(initial(fields));
    for (const same of ["off=1.1", "head=1.3"]) expect(modelKey(read(same))).toBe(key);
    for (const other of ["seed=2", "heads=2", "width=32", "position=none", "spread=0.2", "rate=1", "control=false"])
      expect(modelKey(read(other))).not.toBe(key);
  });

  test("every width has heads of an even width, as rotary embedding needs", () => {
    for (const heads of fields.heads.options)
      for (const width of fields.width.options) expect((Number(width) / Number(heads)) % 2).toBe(0);
  });
});

describe("curves", () => {
  test("long ones are thinned to means of neighbours", () => {
    const kept = thinned(Array.from({ length: 2000 }, (_, at): Point => [at + 1, at]));
    expect(kept.length).toBeLessThanOrEqual(220);
    expect(kept[0]).toEqual([5.5, 4.5]); // steps 1 to 10
    expect(kept.at(-1)![1]).toBeGreaterThan(1990);
    expect(thinned([])).toEqual([]);
    expect(thinned([[1, 3]])).toEqual([[1, 3]]);
  });

  test("points lie in the plot, the first step after its left edge", () => {
    const places = points(
      [0, 0.5, 1, 7].map((value, at): Point => [at + 1, value]),
      100,
      1,
    )
      .split(" ")
      .map((point) => point.split(",").map(Number));
    expect(places.map(([, y]) => y)).toEqual([PLOT.bottom, (PLOT.top + PLOT.bottom) / 2, PLOT.top, PLOT.top]);
    expect(places[0]![0]).toBeCloseTo(placeOfStep(1, 100), 1);
    expect(placeOfValue(0, 4)).toBe(PLOT.bottom);
    expect(placeOfStep(100, 100)).toBe(PLOT.right);
  });

  test.each([
    [0, 100],
    [100, 100],
    [101, 200],
    [1999, 2000],
    [60_000, 100_000],
    [250_000, 300_000],
  ])("an axis for %i steps ends at %i", (steps, end) => expect(axisSteps(steps)).toBe(end));
});

/** What a step tells: its accuracy is not shown. */
const STEP = { loss: 4, accuracy: 0.1 };
const PICTURE = {
  ...{ tokens: new Int32Array(4), half: 2, heads: 1, predictions: new Int32Array(4) },
  ...{ control: new Float32Array(16), layers: [new Float32Array(16), new Float32Array(16)] },
};

test("headline and curve tell one number: what is copied in sequences that are never learned from", () => {
  const history = new History();
  const see = (step: number, copied: number, controlCopied: number) =>
    history.see({ ...PICTURE, step, copied, controlCopied });
  see(0, 0.01, 0.02);
  // What a step says of its own, shorter sequences is not what the headline says.
  history.add(Array.from({ length: 5 }, () => ({ two: STEP, one: STEP })));
  see(5, 0.02, 0.03);
  see(5, 0.5, 0.5); // the same step again, with a head switched off
  expect(history.two.copied).toEqual([[0, 0.01], [5, 0.02]]); // oxfmt-ignore
  expect(history.one.copied).toEqual([[0, 0.02], [5, 0.03]]); // oxfmt-ignore
  expect(history.two.losses.at(-1)).toEqual([5, 4]);

  // What is kept is all of it, and does not change with what goes on.
  history.moments.switched(5, { layer: 1, head: 0 }, false);
  const kept = history.kept;
  const again = new History(structuredClone(kept));
  expect(again.kept).toEqual(kept);
  history.add([{ two: { loss: 1 }, one: undefined }]);
  expect(kept.two.losses).toHaveLength(5);
  again.see({ ...PICTURE, step: 5, copied: 0.9, controlCopied: 0.9 }); // known already
  expect(again.two.copied).toEqual(kept.two.copied);
});

test("checks are answered in their order, and refused when the worker ends", async () => {
  const checks = new Checks();
  const [first, second, third] = [checks.ask(() => {}), checks.ask(() => {}), checks.ask(() => {})];
  const found = [{ what: "scores", numbers: 1, largest: 0 }];
  checks.answer(found);
  checks.answer([]);
  expect(await first).toEqual(found);
  expect(await second).toEqual([]);
  checks.end(new Error("ended"));
  await expect(third).rejects.toThrow("ended");
  await expect(checks.ask(() => {})).rejects.toThrow("ended");
});

describe("checkpoints", () => {
  test("stay within their number, over the whole training, and the first one stays", () => {
    const kept = new Checkpoints<number>(16);
    for (let step = 0; step < 1000; step++) kept.add(step, () => step);
    expect(kept.steps.length).toBeLessThanOrEqual(16);
    expect(kept.steps.length).toBeGreaterThan(7);
    expect(kept.steps[0]).toBe(0);
    const gaps = kept.steps.slice(1).map((step, at) => step - kept.steps[at]!);
    expect(new Set(gaps).size).toBe(1);
  });

  test("the one before a step is found", () => {
    const kept = new Checkpoints<string>(16);
    for (const step of [0, 5, 10]) kept.add(step, () => `at ${step}`);
    expect(kept.at(7)?.what).toBe("at 5");
    expect(kept.at(10)?.step).toBe(10);
    expect(kept.at(-1)).toBeUndefined();
  });

  test("what is not kept is not made", () => {
    const kept = new Checkpoints<number>(2);
    let made = 0;
    for (let step = 0; step < 64; step++) kept.add(step, () => made++);
    expect(made).toBeLessThan(16);
  });
});
