// The sentences of the positions room, over all its settings: every number in them is a number that is drawn.

import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createAttention, sinusoidalPositions, type Attention } from "headwise";

import { calculate, REACH, type Calculation } from "../../web/demo/lab/rooms/positions/calculation.js";
import { aimOf, HANDS } from "../../web/demo/lab/rooms/positions/handmade.js";
import { FIRST, KINDS, type Computer } from "../../web/demo/lab/rooms/positions/placing.js";
import { fields, settled, type Settings } from "../../web/demo/lab/rooms/positions/settings.js";
import { DIM, embeddings, LONGEST, splitText, wordsOf } from "../../web/demo/lab/rooms/positions/vocabulary.js";
import {
  addedWords,
  beginning,
  curvesWords,
  filterWords,
  finding,
  handWords,
  kindsWords,
  largestDifference,
  planeWords,
  rowsApart,
  splitting,
  twinsOf,
  waveWords,
} from "../../web/demo/lab/rooms/positions/words.js";
import { State } from "../../web/demo/lab/shell/state.js";

let hw: Attention;
beforeAll(async () => {
  hw = await createAttention({ backend: "wasm", threads: 1 });
});
afterAll(() => hw.dispose());

const TEXTS = [
  "They decided to park the car in the park.",
  "the park by the park",
  "park",
  "",
  "a a a",
  "No word stands twice here",
  "One two three four five six seven eight nine ten eleven twelve one two three",
  "One two three four five six seven eight nine ten eleven one twelve",
];
const INITIAL = new State(fields).values;
const settingsOf = (changes: Partial<Settings>): Settings => settled({ ...INITIAL, ...changes });
const ends = (name: "base" | "offset" | "pair" | "sharpness" | "word") => {
  const { min, max, initial } = fields[name];
  return [min, initial, max];
};

/** Every choice, and the ends and the middle of every slider. What is not in the product is walked through in it. */
function* grid(): Generator<Settings> {
  let n = 0;
  const turn = (values: readonly number[], by: number) => values[Math.floor(n / by) % values.length]!;
  for (const words of TEXTS)
    for (const kind of KINDS)
      for (const base of ends("base"))
        for (const offset of [0, 1, ...ends("offset").slice(1)]) {
          yield settingsOf({
            words,
            kind,
            base,
            offset,
            word: turn(ends("word"), 1),
            other: turn(ends("word"), 3),
            query: turn(ends("word"), 1),
            key: turn(ends("word"), 2),
            pair: turn(ends("pair"), 1),
            hand: HANDS[n % HANDS.length]!,
            sharpness: turn(ends("sharpness"), 3),
          });
          ++n;
        }
}

const allWords = (found: Calculation, settings: Settings) => ({
  finding: finding(found, settings),
  splitting: splitting(settings),
  beginning: beginning(found, settings),
  curves: curvesWords(found, settings),
  added: addedWords(found, settings),
  wave: waveWords(settings),
  plane: planeWords(found, settings),
  hand: handWords(found, settings),
  filter: filterWords(found, settings) || "There is no filter.",
  kinds: kindsWords(found, settings) || "Nothing is moved.",
});

const numberOf = (text: string) => Number(text.replaceAll(",", "").replace("−", "-"));
const matched = (text: string, pattern: RegExp) => {
  const found = pattern.exec(text);
  expect([text, found !== null]).toEqual([text, true]);
  return found!.slice(1);
};
/** Asserts a difference in percentage points as the sentences write it. */
function expectPoints(said: string, share: number): void {
  if (share === 0) return expect(said).toMatch(/the same, number for number/);
  const points = 100 * share;
  if (points < 0.05) return expect(said).toContain("less than 0.1 percentage points");
  expect(Math.abs(numberOf(matched(said, /up to ([\d.]+) percentage points/)[0]!) - points)).toBeLessThanOrEqual(
    0.0501,
  );
}
/** Asserts a number with three significant digits. */
const expectSignificant = (said: string, value: number) =>
  expect(Math.abs(numberOf(said) - value)).toBeLessThanOrEqual(0.00501 * Math.abs(value));

let all: readonly { settings: Settings; found: Calculation; said: ReturnType<typeof allWords> }[];
beforeAll(async () => {
  const cases = [];
  for (const settings of grid()) {
    const found = await calculate(hw as unknown as Computer, settings);
    cases.push({ settings, found, said: allWords(found, settings) });
  }
  all = cases;
});

test("no sentence has a power of ten, a wrong plural, a doubled word or a missing value, in any setting", () => {
  expect(all).toHaveLength(TEXTS.length * KINDS.length * 3 * 4);
  for (const { said } of all)
    for (const sentence of Object.values(said)) {
      expect(sentence).not.toMatch(/\de[+-]?\d|\b1 (words|places)\b|\b(?!1\b)\d+ (word|place)\b(?! )/);
      expect(sentence).not.toMatch(/\b([a-z]{2,}) \1\b|undefined|NaN|Infinity|−0\.00?\b| {2}/);
      expect(sentence).toMatch(/\.$/);
    }
});

test("the finding compares the rows of two equal words, without and with positions", () => {
  for (const { settings, found, said } of all) {
    const words = splitText(settings.words).slice(0, LONGEST);
    const twins = twinsOf(words);
    if (!twins) {
      expect(new Set(words).size).toBe(words.length);
      expect(said.finding).toMatch(/^No word stands twice/);
      continue;
    }
    expect(words[twins[0]]).toBe(words[twins[1]]);
    const [without, withThem] = said.finding.split("; ") as [string, string];
    const names = twins.map((word) => found.names[word]!);
    expect(without).toBe(
      `Without positions the rows of “${names[0]}” and “${names[1]}” are the same, number for number`,
    );
    expect(rowsApart(found.plain, found.names.length, twins)).toBe(0);
    expect(withThem).toContain(`with ${settings.kind} positions`);
    expectPoints(withThem, rowsApart(found.placed, found.names.length, twins));
  }
});

test("the sentence that everybody tries compares park with park", async () => {
  const found = await calculate(hw as unknown as Computer, INITIAL);
  expect(found.names).toEqual(["they", "decided", "to", "park₄", "the₅", "car", "in", "the₈", "park₉", "."]);
  expect(finding(found, INITIAL)).toMatch(/^Without positions the rows of “park₄” and “park₉” are the same, number for number; with sinusoidal positions they differ by up to \d/); // oxfmt-ignore
});

test("words: punctuation stands alone, capitals do not matter, and what is left out is told", () => {
  expect(splitText("Don't park, it's well-known: “A3”!")).toEqual(["don't", "park", ",", "it's", "well-known", ":", "“", "a3", "”", "!"]); // oxfmt-ignore
  expect(embeddings(["park"])).toEqual(embeddings(wordsOf("Park")));
  for (const { settings, found, said } of all) {
    const total = splitText(settings.words).length;
    expect(found.names).toHaveLength(Math.max(1, Math.min(total, LONGEST)));
    if (total === 0) expect(said.splitting).toMatch(/no word, so “word” stands/);
    else if (total <= LONGEST) expect(numberOf(matched(said.splitting, /^(\d+) words?\./)[0]!)).toBe(total);
    else {
      const [shown, of, left] = matched(said.splitting, /^The first (\d+) of (\d+) words are shown; the last (\d+|one) (?:is|are) left out/); // oxfmt-ignore
      expect([numberOf(shown!), numberOf(of!), left === "one" ? 1 : numberOf(left!)]).toEqual([
        LONGEST,
        total,
        total - LONGEST,
      ]);
    }
  }
});

test("whether the beginning matters is what the weights say, and only rounding is called rounding", () => {
  for (const { settings, found, said } of all) {
    const change = largestDifference(found.placed, found.moved);
    if (settings.offset === 0) {
      expect([change, said.beginning]).toEqual([0, expect.stringMatching(/^Both texts begin at place 1/)]);
      continue;
    }
    expect(numberOf(matched(said.beginning, /(\d+) places? later/)[0]!)).toBe(settings.offset);
    if (settings.kind === "rotary" || change === 0) {
      expect(said.beginning).toMatch(/^No: /);
      // rotations in float32 at places up to 76, on scores of about 10: see "rounding" in the room's words
      expect(change).toBeLessThan(1e-4);
    } else {
      expect(said.beginning).toMatch(/^Yes: /);
      expectPoints(said.beginning, change);
      if (found.names.length > 2) expect(change).toBeGreaterThan(1e-4);
    }
  }
});

test("learned, sinusoidal and rotary positions stand side by side: only rotary ones stay when the text moves", () => {
  for (const { settings, found, said } of all) {
    const { changes } = found;
    expect(changes[settings.kind]).toBeCloseTo(largestDifference(found.placed, found.moved), 7);
    expect(changes.rotary).toBeLessThan(1e-4);
    if (settings.offset === 0) {
      expect([said.kinds, Math.max(...Object.values(changes))]).toEqual(["Nothing is moved.", 0]);
      continue;
    }
    const told = said.kinds.split(", ");
    KINDS.forEach((kind, i) => changes[kind] > 0 && expectPoints(told[i]!, changes[kind]));
  }
});

test("the curves part where the sentence says so", () => {
  for (const { settings, found, said } of all) {
    const [here, there] = found.curves;
    expect([here.length, there.length]).toEqual([2 * REACH + 1, 2 * REACH + 1]);
    const difference = largestDifference(here, there);
    if (settings.offset === 0) {
      expect([difference, said.curves]).toEqual([0, expect.stringContaining("so they are one")]);
      continue;
    }
    expect(numberOf(matched(said.curves, /Dashed: it begins at place (\d+)/)[0]!)).toBe(FIRST + settings.offset);
    if (/The curves are one/.test(said.curves)) {
      expect(settings.kind).toBe("rotary");
      expect(difference).toBeLessThan(1e-3); // of scores of about 10
    } else
      expect(Math.abs(numberOf(matched(said.curves, /by up to ([\d.]+):/)[0]!) - difference)).toBeLessThan(0.00501);
  }
});

test("two words in one place are moved by the same row", () => {
  for (const { settings, found, said } of all) {
    const { place, words, row, sums } = found.added;
    const moves = sums.map((sum, i) => sum.data.map((value, column) => value - words[i]!.data[column]!));
    expect(largestDifference(moves[0]!, moves[1]!)).toBeLessThan(1e-12);
    expect(largestDifference(moves[0]!, row.data)).toBeLessThan(1e-12);
    if (settings.kind !== "learned") {
      const table = sinusoidalPositions(place + 1, DIM, { base: 10 ** settings.base }).data;
      expect(row.data).toEqual([...table.subarray(place * DIM)]);
    }
    expect(place).toBe(FIRST + settings.offset + settings.word);
    const [at, table, count, size] = matched(said.added, /^Place (\d+) has one row in the (\w+) table.* (\d+) numbers, the largest of size ([\d.]+)\.$/); // oxfmt-ignore
    expect([numberOf(at!), table, numberOf(count!)]).toEqual([
      place,
      settings.kind === "learned" ? "learned" : "sinusoidal",
      DIM,
    ]);
    expect(Math.abs(numberOf(size!) - Math.max(...row.data.map(Math.abs)))).toBeLessThan(0.00501);
    for (const index of [settings.word, settings.other]) expect(said.added).toContain(`“${found.names[index]}”`);
  }
});

test("the waves are those of sinusoidalPositions", () => {
  for (const base of ends("base"))
    for (let pair = 0; pair < DIM / 2; ++pair) {
      const settings = settingsOf({ base, pair });
      const [m, sine, cosine, frequency, period] = matched(
        waveWords(settings),
        /^Pair (\d+), features (\d+) and (\d+): .* place × ([\d.,]+)\. The wave repeats every ([\d.,]+) places\.$/,
      ).map(numberOf) as [number, number, number, number, number];
      expect([m, sine, cosine]).toEqual([pair + 1, 2 * pair + 1, 2 * pair + 2]);
      const { data } = sinusoidalPositions(2, DIM, { base: 10 ** base });
      const exact = Math.atan2(data[DIM + sine - 1]!, data[DIM + cosine - 1]!);
      expectSignificant(String(frequency), exact);
      expectSignificant(String(period), (2 * Math.PI) / exact);
    }
  for (const { settings, found } of all) {
    const { data } = sinusoidalPositions(found.table.rows, DIM, { base: 10 ** settings.base });
    expect(largestDifference(found.table.data, data)).toBe(0);
  }
});

test("rotations: places, angles and the product are those drawn, and the product is the same wherever the text begins", () => {
  for (const { settings, found, said } of all) {
    const { query, key, product, productAtStart } = found.turned;
    const theta = (10 ** settings.base) ** ((-2 * settings.pair) / DIM);
    const names = [found.names[settings.query]!, found.names[settings.key]!] as const;
    expect(said.plane).toContain(`The query of “${names[0]}” at place ${query.place} turns by `);
    expect(said.plane).toContain(`the key of “${names[1]}” at place ${key.place} by `);
    expect([query.place, key.place]).toEqual([settings.query, settings.key].map((word) => FIRST + settings.offset + word)); // oxfmt-ignore
    const [first, second] = matched(said.plane, /turns by ([\d.,]+)\u00a0rad, the key of .*? by ([\d.,]+)\u00a0rad\. /);
    expectSignificant(first!, query.place * theta);
    expectSignificant(second!, key.place * theta);
    for (const { place, before, after } of [query, key]) {
      const angle = place * theta;
      const exact = [
        before[0] * Math.cos(angle) - before[1] * Math.sin(angle),
        before[0] * Math.sin(angle) + before[1] * Math.cos(angle),
      ];
      expect(largestDifference(after, exact)).toBeLessThan(1e-4);
    }
    const distance = query.place - key.place;
    if (distance === 0) expect(said.plane).toContain("Both stand in one place");
    else {
      const [places, order, angle] = matched(said.plane, /stands (\d+) places? (before|after) the query, .* by ([\d.,]+)\u00a0rad\. Their/); // oxfmt-ignore
      expect([numberOf(places!), order]).toEqual([Math.abs(distance), distance > 0 ? "before" : "after"]);
      expectSignificant(angle!, Math.abs(distance) * theta);
    }
    expect(Math.abs(numberOf(matched(said.plane, /in this plane is (−?[\d.]+),/)[0]!) - product)).toBeLessThan(0.00501);
    expect(Math.abs(product - productAtStart)).toBeLessThan(1e-4);
  }
});

describe("the hand-made heads", () => {
  test("look one back, at the first word and at themselves: no row has a larger weight elsewhere", () => {
    for (const { found } of all) {
      const size = found.names.length;
      HANDS.forEach((hand, head) => {
        for (let word = 0; word < size; ++word) {
          const row = [...found.hands.subarray((head * size + word) * size, (head * size + word + 1) * size)];
          expect(row.indexOf(Math.max(...row))).toBe(aimOf(hand, word));
        }
      });
    }
  });

  test("stand beside the filter of a convolution that does the same", () => {
    for (const { settings, found, said } of all) {
      const [size, head] = [found.names.length, HANDS.indexOf(settings.hand)];
      if (size === 1) continue;
      if (settings.hand === "first") {
        expect(said.filter).toMatch(/^No filter of a convolution does this/);
        continue;
      }
      const back = settings.hand === "back" ? 1 : 0;
      const filter = (word: number, key: number) => Number(key === word - back);
      const apart = found.names.flatMap((_, word) =>
        word < back
          ? []
          : found.names.map((__, key) => Math.abs(found.hands[(head * size + word) * size + key]! - filter(word, key))),
      );
      expectPoints(said.filter, Math.max(...apart));
    }
  });

  test("are told with their smallest shares", () => {
    for (const { settings, found, said } of all) {
      const size = found.names.length;
      if (size === 1) {
        expect(said.hand).toMatch(/one word only/);
        continue;
      }
      const head = HANDS.indexOf(settings.hand);
      const shares = found.names.map(
        (_, word) => 100 * found.hands[(head * size + word) * size + aimOf(settings.hand, word)]!,
      );
      const told = [...said.hand.matchAll(/at least ([\d.]+)\u00a0%/g)].map(([, number]) => numberOf(number!));
      const least = settings.hand === "back" ? [Math.min(...shares.slice(1)), shares[0]!] : [Math.min(...shares)];
      expect(told).toHaveLength(least.length);
      told.forEach((number, i) => {
        expect(number).toBeLessThanOrEqual(least[i]! + 1e-9);
        expect(number).toBeGreaterThan(least[i]! - 0.1 - 1e-9);
      });
    }
  });

  test("are sharper with more sharpness, and see no word at all", async () => {
    const least = async (sharpness: number, words = INITIAL.words) => {
      const { hands, names } = await calculate(hw as unknown as Computer, settingsOf({ sharpness, words }));
      return { hands, share: Math.min(...names.map((_, word) => hands[word * names.length + aimOf("back", word)]!)) };
    };
    const [blunt, usual, sharp] = [await least(1), await least(40), await least(80)];
    expect(blunt.share).toBeLessThan(0.2);
    expect(usual.share).toBeGreaterThan(0.95);
    expect(sharp.share).toBeGreaterThan(usual.share);
    const others = await least(40, "nine ten one two three four five six seven eight");
    expect(others.hands).toEqual(usual.hands);
  });
});

test("settings beyond the words are brought back to words that are there", () => {
  const odd = { words: "one two", word: 11, other: 1, query: 7, key: 0 };
  expect(settingsOf(odd)).toMatchObject({ word: 1, other: 1, query: 1, key: 0 });
  expect(settled(INITIAL)).toEqual(INITIAL);
});
