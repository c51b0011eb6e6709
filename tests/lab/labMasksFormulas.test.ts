// The Masks room with rules as formulas: the same pictures as with options, and words for what is wrong.

import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createAttention, relativePositionBias, tensor, type Attention } from "headwise";

import { compile, keeping } from "../../web/demo/lab/rooms/masks/compile.js";
import { differences, drawing, headsAgree } from "../../web/demo/lab/rooms/masks/drawing.js";
import { formulasOf, shownFormulas } from "../../web/demo/lab/rooms/masks/formulas.js";
import { optionsOf, tensorsOf } from "../../web/demo/lab/rooms/masks/options.js";
import { readParameters } from "../../web/demo/lab/rooms/masks/parameters.js";
import { PRESETS, presetOf } from "../../web/demo/lab/rooms/masks/presets.js";
import { RECIPES } from "../../web/demo/lab/rooms/masks/recipes.js";
import { fields, type Settings } from "../../web/demo/lab/rooms/masks/settings.js";
import { visibleIn, type Seen } from "../../web/demo/lab/rooms/masks/tiles.js";
import * as words from "../../web/demo/lab/rooms/masks/words.js";
import type { Engine } from "../../web/demo/lab/engine/engine.js";
import { formatAddress, parseAddress } from "../../web/demo/lab/shell/address.js";
import { State } from "../../web/demo/lab/shell/state.js";
import { combinations, faults, initial, numbersIn } from "./labGrid.js";

let hw: Attention;
beforeAll(async () => {
  hw = await createAttention({ backend: "wasm", threads: 1 });
});
afterAll(() => hw.dispose());

/** The room computes through the lab's engine, which has the methods of the package. */
const engine = () => hw as unknown as Engine;
const asFormulas = (settings: Settings): Settings => ({ ...settings, ...formulasOf(settings), rules: "formulas" });

async function drawn(settings: Settings) {
  const { compiled, faults: wrong } = settings.rules === "formulas" ? compile(settings) : { compiled: {}, faults: {} };
  expect(wrong).toEqual({});
  const { drawn: picture, refused } = await drawing(engine(), settings, [compiled, {}]);
  expect(refused).toBeUndefined();
  return picture;
}

const matrixOf = (seen: Seen): boolean[][] =>
  Array.from({ length: seen.queries }, (_, i) =>
    Array.from({ length: seen.keys }, (__, j) => visibleIn(seen, i, j, j + 1) === 1),
  );

function farthest(found: Float32Array, wanted: Float32Array): number {
  expect(found).toHaveLength(wanted.length);
  return found.reduce((far, p, at) => (Object.is(p, wanted[at]) ? far : Math.max(far, Math.abs(p - wanted[at]!))), 0);
}

async function expectSamePicture(settings: Settings): Promise<void> {
  const [option, own] = [await drawn(settings), await drawn(asFormulas(settings))];
  const { visible, score, parameters } = formulasOf(settings);
  const what = { visible, score, parameters, settings };
  expect({ ...what, seen: own.seen.map(matrixOf) }).toEqual({ ...what, seen: option.seen.map(matrixOf) });
  expect({ ...what, far: farthest(own.probs, option.probs) < 1e-5 }).toEqual({ ...what, far: true });
  expect(own.computed.map(matrixOf)).toEqual(option.computed.map(matrixOf));
}

describe("options as formulas", () => {
  test("every combination of options gives the same picture", async () => {
    const some = { ...initial(fields), heads: 2, kvHeads: 2 };
    const sizes = [
      { queries: 24, keys: 24 },
      { queries: 5, keys: 13 },
      { queries: 9, keys: 4 },
    ];
    const names = ["causal", "keyLength", "excludeSelf", "alibi", "softcap"] as const;
    for (const size of sizes)
      for (const rules of combinations(fields, names))
        for (const [left, right] of [
          [48, 48],
          [2, 48],
          [48, 1],
          [3, 0],
        ] as const)
          await expectSamePicture({ ...some, ...size, ...rules, left, right });
  });

  test.each(Object.keys(PRESETS))("%s is the same picture, with the same words", async (name) => {
    const { rules } = PRESETS[name]!;
    await expectSamePicture(rules);
    const own = asFormulas(rules);
    expect(presetOf(own)).toBe(name);
    const [seen] = (await drawn(own)).seen;
    expect(words.finding(own, seen!)).toBe(words.finding(rules, words.seenBy(rules)));
    expect(words.tileWords(words.tilesOf(seen!))).toBe(words.tileWords(words.tilesOf(words.seenBy(rules))));
  });

  test("are written as a person would", () => {
    expect(formulasOf(PRESETS["GPT"]!.rules)).toEqual({ visible: "k <= q", score: "", parameters: "" });
    expect(formulasOf(PRESETS["GPT, next tokens"]!.rules).visible).toBe("k <= q + Skv - Sq");
    expect(formulasOf(PRESETS["BERT, padded"]!.rules)).toMatchObject({
      visible: "k < length",
      parameters: "length = 17",
    });
    expect(formulasOf(PRESETS["BLOOM"]!.rules)).toEqual({
      visible: "k <= q",
      score: "s - slope[h] * abs(q - k)",
      parameters: "slope = [0.25, 0.0625, 0.015625, 0.00390625]",
    });
  });

  test("formulas are pressed as a preset only while they are the preset's", () => {
    const gpt = asFormulas(PRESETS["GPT"]!.rules);
    expect(presetOf(gpt)).toBe("GPT");
    expect(presetOf({ ...gpt, visible: " k <= q " })).toBe("GPT");
    expect(presetOf({ ...gpt, visible: "k < q" })).toBeUndefined();
    expect(presetOf({ ...gpt, sink: 1 })).toBeUndefined();
    expect(shownFormulas(PRESETS["GPT"]!.rules).visible).toBe("k <= q");
  });
});

describe("rules that need a formula", () => {
  const bucketed = (rules: Settings) => {
    const { bias } = readParameters(rules.parameters) as { bias: number[][] };
    return relativePositionBias(tensor(Float32Array.from(bias.flat()), [8, 2]), {
      queryLength: 24,
      keyLength: 24,
      maxDistance: 16,
    });
  };
  const text = (at: number) => [7, 16, 24].findIndex((end) => at < end);
  const [column, row] = [(at: number) => at % 6, (at: number) => Math.floor(at / 6)];
  const near = (a: number, b: number) => Math.abs(a - b) <= 1;
  /** Written from the papers, not from the formulas. */
  const SEES: Readonly<Record<string, (i: number, j: number, h: number) => boolean>> = {
    "Packed documents": (i, j) => j <= i && text(i) === text(j),
    "Prefix-LM": (i, j) => j <= i || j < 8,
    "First tokens and a window": (i, j) => j <= i && (j > i - 6 || j < 2),
    Dilated: (i, j) => j <= i && (i - j) % 3 === 0,
    "A window for each head": (i, j, h) => j <= i && j > i - 2 ** (h + 1),
    "Neighbours in an image": (i, j) => near(column(i), column(j)) && near(row(i), row(j)),
    "T5 buckets": () => true,
  };

  test("are all compared with their meaning", () => expect(Object.keys(SEES)).toEqual(Object.keys(RECIPES)));

  test.each(Object.keys(SEES))("%s sees what it says", async (name) => {
    const { rules, story } = RECIPES[name]!;
    expect(presetOf(rules)).toBe(name);
    expect(faults(story())).toEqual([]);
    const { seen, computed } = await drawn(rules);
    seen.forEach((own, h) => {
      expect(matrixOf(own)).toEqual(matrixOf(own).map((keys, i) => keys.map((_, j) => SEES[name]!(i, j, h))));
    });
    expect(computed.map(matrixOf)).toEqual(seen.map(matrixOf));
    expect(headsAgree(seen)).toBe(name !== "A window for each head");
  });

  test("T5's buckets are its bias", async () => {
    const { rules } = RECIPES["T5 buckets"]!;
    const { query, key, value } = tensorsOf(rules);
    const { probs } = await hw.scaledDotProductAttention(query, key, value, {
      ...optionsOf(rules),
      bias: bucketed(rules),
      returns: { output: false, probs: true },
    });
    expect(farthest((await drawn(rules)).probs, probs.data)).toBeLessThan(1e-5);
  });
});

describe("words about formulas", () => {
  const own = (changes: Partial<Settings>): Settings => ({
    ...asFormulas(PRESETS["GPT"]!.rules),
    visible: "",
    parameters: "",
    ...changes,
  });

  test("the tiles are those of visible, and not of a score that hides", async () => {
    const { seen, computed } = await drawn(own({ visible: "k <= q", score: "q - k > 3 ? -Infinity : s" }));
    expect(matrixOf(seen[0]!)).toEqual(matrixOf(seen[0]!).map((keys, i) => keys.map((_, j) => j <= i && i - j <= 3)));
    const tiles = words.tilesOf(computed[0]!);
    expect(numbersIn(words.tileWords(tiles))).toEqual([36, 15, 6, 15]);
    expect(faults(words.tileWords(tiles))).toEqual([]);
  });

  test("the table says what the picture shows", async () => {
    const { computed } = await drawn(own({ queries: 9, keys: 5, visible: "k <= q" }));
    const tiles = words.tilesOf(computed[0]!);
    expect([0, 1, 2].map((at) => words.tileRow(tiles, at))).toEqual([
      ["mixed", "none"],
      ["all", "all"],
      ["all", "all"],
    ]);
    expect([0, 1, 2].map((at) => words.tileSpan("query", at, 9))).toEqual([
      "queries 0 to 3",
      "queries 4 to 7",
      "query 8",
    ]);
    expect(words.tileSpan("key", 1, 5)).toBe("key 4");
  });

  test.each([
    ["s", ""],
    ["q == 2 && h == 0 ? NaN : s", "1 row of all 48 rows of all heads is spoiled"],
    ["q == 2 ? Infinity : s", "2 rows of all 48 rows of all heads are spoiled"],
  ])("a score of %s spoils what it says", async (score, said) => {
    const settings = own({ visible: "k <= q", score });
    const { probs, seen } = await drawn(settings);
    const sentence = words.spoiledWords(probs, settings, seen);
    expect(sentence).toContain(said);
    expect(sentence === "").toBe(said === "");
    if (sentence) expect(faults(sentence)).toEqual([]);
    expect(faults(words.spreadWords(probs, settings, seen[0]!))).toEqual([]);
  });

  test("are whole sentences", () => {
    for (const rules of ["options", "formulas"] as const)
      expect(faults(words.modeWords({ ...initial(fields), rules }))).toEqual([]);
    for (const isPlain of [false, true]) expect(faults(words.staleWords({ isWrong: true, isPlain }))).toEqual([]);
    expect(words.staleWords({ isWrong: false, isPlain: true })).toBe("");
    expect(words.ofHead("A query sees 1 to 2 of 24 keys.", 3)).toBe("Head 4: A query sees 1 to 2 of 24 keys.");
    expect(faults(words.longWords({ ...initial(fields), rules: "formulas" }))).toEqual([]);
  });

  test("the comparison in double precision says where it begins", async () => {
    const settings = own({ visible: "k <= q", score: "s - 0.3 * abs(q - k)" });
    const found = await differences(engine(), settings, compile(settings).compiled);
    expect(found.map(({ what }) => what)).toEqual([
      "output from the scores after the formulas",
      "probabilities from the scores after the formulas",
    ]);
    expect(Math.max(...found.map(({ largest }) => largest))).toBeLessThan(1e-6);
  });
});

describe("parameters", () => {
  test.each([
    ["window = 7", { window: 7 }],
    [" a=-2.5e-1 \n\n b = [1, 2]\r\n", { a: -0.25, b: [1, 2] }],
    ["slope = 0.5, 0.25", { slope: [0.5, 0.25] }],
    ["one = 3,", { one: [3] }],
    [
      "t = [[1, 2], [3, 4]]",
      {
        t: [
          [1, 2],
          [3, 4],
        ],
      },
    ],
    ["", {}],
  ])("%j are read", (text, given) => expect(readParameters(text)).toEqual(given));

  test.each([
    ["a name alone", "window", "Line 1 of the parameters is not like “window = 7” or “slope = [0.5, 0.25]”."],
    ["a prototype", "a = 1\n__proto__ = 2", "Line 2 of the parameters is not like"],
    ["a name twice", "a = 1\na = 2", "Line 2 of the parameters gives a again."],
    ["a word", "a = x", "Line 1 of the parameters gives a neither a number nor a list of numbers."],
    ["an empty list", "a = []", "neither a number nor a list"],
    ["rows of two lengths", "a = [[1], [1, 2]]", "neither a number nor a list"],
    ["three axes", "a = [[[1]]]", "neither a number nor a list"],
    ["a text", 'a = "1"', "neither a number nor a list"],
    ["a number that is too large", "a = 1e999", "neither a number nor a list"],
    ["deep brackets", `a = ${"[".repeat(2000)}`, "neither a number nor a list"],
    ["too many numbers", `a = [${"0,".repeat(4096)}0]`, "The parameters have more than 4,096 numbers."],
  ])("%s is refused in words", (_, text, said) => {
    const { compiled, faults: wrong } = compile({ visible: "k <= q", score: "s", parameters: text });
    expect(wrong.parameters!.words).toContain(said);
    expect(compiled).toEqual({}); // formulas are not read without their parameters
  });
});

describe("a formula that is wrong", () => {
  test("is shown with the place, and what was meant", () => {
    const { compiled, faults: wrong } = compile({
      visible: "k <= q",
      score: "s - slop[h] * abs(q - k)",
      parameters: "slope = [0.5, 0.25]",
    });
    expect(wrong.score!.words).toMatch(/^Character 5: slop is not a parameter; did you mean slope\?/);
    expect(wrong.score!.excerpt).toBe("  s - slop[h] * abs(q - k)\n      ^");
    expect(Object.keys(compiled)).toEqual(["visible"]);
  });

  const HOSTILE: Readonly<Record<string, string>> = {
    "an open parenthesis": "(k <= q",
    nothing: "()",
    "a long one": Array.from({ length: 300 }, (_, n) => `k != q + ${n}`).join("&&"),
    "one longer than the field": "1+".repeat(5000),
    "a nested one": `${"(".repeat(2000)}k${")".repeat(2000)}`,
    "nested signs": `${"-".repeat(4000)}k`,
    "a call of something else": "alert(1)",
    "the constructor": "constructor.constructor('return 1')()",
    "a prototype": "__proto__[0]",
    "an assignment": "k = 1",
    markup: "<img src=x onerror=alert(1)>",
    "a control character": "k \u0000 q",
    "other signs": "k ≤ q",
    "an emoji": "🙂",
  };
  test.each(Object.entries(HOSTILE))("%s is an error in words, and nothing else", (_, text) => {
    const { values } = new State(fields, new URLSearchParams({ rules: "formulas", visible: text, score: text }));
    const { compiled, faults: wrong } = compile(values);
    expect(compiled).toEqual({});
    for (const field of ["visible", "score"] as const) {
      expect(wrong[field]!.words).toMatch(/^\S.*[.!?]/s);
      expect(wrong[field]!.words).not.toMatch(/undefined|node_modules|\[object/);
      expect(wrong[field]!.words.length).toBeLessThan(600);
    }
  });

  test("at the call is refused there, and the last right one is drawn", async () => {
    const settings = { ...asFormulas(PRESETS["GPT"]!.rules), score: "s * m[h]", parameters: "m = [1]" };
    const right = compile({ visible: "k <= q", score: "", parameters: "" }).compiled;
    const { compiled, faults: wrong } = compile(settings);
    expect(wrong).toEqual({});
    const { drawn: picture, refused } = await drawing(engine(), settings, [compiled, right, {}]);
    expect(refused!.words).toMatch(/m\b/);
    expect(picture.formulas).toBe(right);
    expect(visibleIn(picture.seen[0]!, 3)).toBe(4);
  });
});

test("each field keeps its last right formula while it is wrong", () => {
  const { compiled: right } = compile({ visible: "k <= q", score: "2 * s", parameters: "" });
  const next = (changes: object) => {
    const { compiled, faults: wrong } = compile({ visible: "k < q", score: "", parameters: "", ...changes });
    const { visible, score } = keeping(compiled, wrong, right);
    return [visible?.text, score?.text];
  };
  expect(next({})).toEqual(["k < q", undefined]);
  expect(next({ score: "2 *" })).toEqual(["k < q", "2 * s"]);
  expect(next({ visible: "k <", score: "3 * s" })).toEqual(["k <= q", "3 * s"]);
  expect(next({ parameters: "=" })).toEqual(["k <= q", "2 * s"]);
});

test("formulas and parameters survive the way through the address", () => {
  const state = new State(fields);
  for (const { rules } of Object.values(RECIPES)) {
    state.set(rules);
    const { query } = parseAddress(formatAddress({ room: "masks", query: state.query }));
    expect(new State(fields, query).values).toEqual(rules);
  }
});
