import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createAttention, type Attention } from "headwise";

import { comparedHead } from "../../web/demo/lab/rooms/sentence/beforeAfter.js";
import { compute, type Computed } from "../../web/demo/lab/rooms/sentence/compute.js";
import { EXAMPLE, pairOf } from "../../web/demo/lab/rooms/sentence/directions.js";
import { MOST_NUMBERS, picture } from "../../web/demo/lab/rooms/sentence/picture.js";
import { isBlind, isChanged, namesOf } from "../../web/demo/lab/rooms/sentence/seen.js";
import { fields, MOST_SENTENCES, type Settings } from "../../web/demo/lab/rooms/sentence/settings.js";
import * as words from "../../web/demo/lab/rooms/sentence/words.js";
import { State } from "../../web/demo/lab/shell/state.js";
import { movedByHead } from "../../web/demo/model/change.js";
import { Encoder, type EncodeOptions, type Encoding } from "../../web/demo/model/encoder.js";
import { HABITS, habitsOf } from "../../web/demo/model/habits.js";
import { headName, headsOf, rowOf } from "../../web/demo/model/heads.js";
import { percent } from "../../web/demo/model/links.js";
import { spoken } from "../../web/demo/model/names.js";
import { packed, unpacked } from "../../web/demo/model/packed.js";
import { similarity } from "../../web/demo/model/similarity.js";
import { firstRepetition, PARK, PHONE, tellingHead } from "../../web/demo/model/story.js";
import { knownWords } from "../../web/demo/model/writtenWords.js";
import { modelFiles } from "./demoModel.js";

let hw: Attention;
let encoder: Encoder;
beforeAll(async () => {
  hw = await createAttention({ backend: "wasm", threads: 1 });
  encoder = await Encoder.load(hw, modelFiles);
});
afterAll(() => {
  encoder.dispose();
  hw.dispose();
});

const known = new Map<string, Promise<Encoding>>();
/** Encodes each sentence once for the same options. */
const read = (texts: readonly string[], options: EncodeOptions) =>
  Promise.all(
    texts.map((text) => {
      const key = JSON.stringify([text, options]);
      if (!known.has(key)) known.set(key, encoder.encode(text, options));
      return known.get(key)!;
    }),
  );
const settings = (changes: Partial<Settings> = {}): Settings => ({ ...new State(fields).values, ...changes });
const computed = (changes: Partial<Settings> = {}) => compute(settings(changes), read, () => undefined);

const TEXTS = [
  PARK,
  PHONE,
  "",
  "hello",
  "to to",
  "to give to the to",
  "< & > “the” the",
  "日本語 park, 日本語",
  "日本語",
  "日本語 ☃ park",
  "one word and then another word and some more words than numbers fit",
];
/** More tokens than the model reads. */
const LONG = "word ".repeat(129).trim();
const GAINS = ["", "0", "1,1,1,1,0,1,1,1", "2,0.3,1,1,1,1,1,1.7", "0,0,0,0,0,0,0,0"];
const HIDDEN = ["", "0", "3", "1,2,3,4,5,6,7,8,9,10", Array.from({ length: 128 }, (_, token) => token).join(",")];

/** The room with every text and switch and some gains and hidden tokens; with all heads as long as nothing is changed. */
async function everySetting(): Promise<{ seen: Computed; label: string }[]> {
  const all: { seen: Computed; label: string }[] = [];
  const see = async (changes: Partial<Settings>) => {
    const seen = await computed(changes);
    const heads = isChanged(seen) ? [0, 6] : [0, 1, 2, 3, 4, 5, 6, 7];
    all.push(...heads.map((head) => ({ seen: { ...seen, head }, label: JSON.stringify({ ...changes, head }) })));
  };
  for (const positions of [true, false]) {
    for (const texts of TEXTS)
      for (const gains of GAINS) for (const hidden of HIDDEN) await see({ texts, positions, gains, hidden });
    await see({ texts: LONG, positions });
  }
  await see({ texts: LONG, hidden: HIDDEN.at(-1)! });
  return all;
}

/** Every sentence that the room can show for these numbers. Of long sentences only some cells are described. */
function allWords(seen: Computed): string[] {
  const { shown, given, encodings, head } = seen;
  const names = namesOf(seen);
  const said = [
    words.question(seen),
    words.finding(seen),
    words.tokensRead(shown),
    words.sentencesRead(encodings.length, given),
    words.effect(seen),
    words.hint(seen),
    words.storageNote({ megabytes: 12.3, sentences: 20, cosine: 0.99999876, weight: 0.00123 }),
    words.compared(shown, shown),
    ...words.linksInWords(seen, 5),
  ];
  if (names.length === 0) return said;
  const twins = firstRepetition(shown);
  if (twins) said.push(...Object.values(words.twinRows(seen, twins)));
  const cells = names.slice(0, 5).flatMap((_, from) => names.slice(0, 5).map((__, to) => [from, to] as const));
  for (const [from, to] of cells) {
    said.push(words.cellWords(seen, from, to), words.directionWords(seen, from, to));
    said.push(words.rolloutWords(names, from, to, rowOf(headsOf(shown)[head]!.probs, from)[to]!));
  }
  return [...said, words.changedLink(seen, head), ...HABITS.map((habit) => words.habitWords(shown, habit))];
}

/** The percent of a sentence as shares that it may stand for. */
const standsFor = (text: string, share: number) => expect(text).toBe(percent(share));

describe("in every setting of the sentence room", () => {
  let settingsSeen: { seen: Computed; label: string }[];
  beforeAll(async () => {
    settingsSeen = await everySetting();
  });

  test("no sentence says “1 tokens”, a word twice, or a number that is no number", () => {
    expect(settingsSeen.length).toBeGreaterThan(800);
    const faults = new Set<string>();
    for (const { seen, label } of settingsSeen)
      for (const sentence of allWords(seen)) {
        const fault =
          /\b1 (tokens|sentences|points|percentage points)\b|\b([\p{L}]+) \2\b|e[+-]\d|NaN|undefined|Infinity/u.exec(
            sentence,
          );
        if (fault) faults.add(`${fault[0]} in: ${sentence} (${label})`);
      }
    expect([...faults]).toEqual([]);
  });

  test("the question is about a word that occurs twice, if there is one", () => {
    for (const { seen } of settingsSeen) {
      const asked = /^Which “(.+)” is which\?$/.exec(words.question(seen))?.[1];
      const { tokens, unknown } = seen.shown;
      const isWord = (i: number) =>
        /^▁.*[\p{L}\p{N}]/u.test(tokens[i]!) &&
        !unknown.includes(i) &&
        !/^[^▁]*[\p{L}\p{N}]/u.test(tokens.slice(i + 1).join(""));
      const again = tokens.find(
        (token, i) => isWord(i) && tokens.some((other, j) => j > i && other === token && isWord(j)),
      );
      expect(asked).toBe(again?.replace(/^▁(?=.)/u, ""));
    }
  });

  test("the finding's links are the strongest of their rows, with the numbers of the map", () => {
    let checked = 0;
    for (const { seen, label } of settingsSeen) {
      const names = namesOf(seen);
      const { probs } = headsOf(seen.shown)[seen.head] ?? { probs: new Float32Array() };
      for (const [, from, to, share] of words
        .finding(seen)
        .matchAll(/“([^”]+)” (?:looks most )?at “([^”]+)” \(([^)]+)\)/g)) {
        const places = names.flatMap((name, i) => (name === from ? [i] : []));
        // “and “park₉” at “the₈”” names the row just before it.
        const row = rowOf(probs, places[0]!);
        const others = Array.from(row, (prob, i) => (i === places[0] ? 0 : prob));
        expect([label, names[others.indexOf(Math.max(...others))]]).toEqual([label, to]);
        standsFor(share!, Math.max(...others));
        checked++;
      }
    }
    expect(checked).toBeGreaterThan(300);
  });

  test("a headline is about words that the model knows", () => {
    let headlines = 0;
    for (const { seen, label } of settingsSeen) {
      const names = namesOf(seen);
      const { tokens, unknown } = seen.shown;
      const others = names.filter((_, i) => unknown.includes(i) || !/[\p{L}\p{N}]/u.test(tokens[i]!));
      const said = `${words.question(seen)} ${words.finding(seen)}`;
      const asks = [...said.matchAll(/Which “([^”]+)”|“([^”]+)” (?:looks|→)/g)].map(
        ([, which, asker]) => which ?? asker!,
      );
      expect([label, asks.filter((name) => others.includes(name))]).toEqual([label, []]);
      const own = knownWords(seen.shown);
      expect([label, said]).toEqual([label, expect.not.stringMatching(/“([^”]+)” → itself/)]);
      if (/is the only word here/.test(said)) {
        expect([label, own.length]).toEqual([label, 1]);
        headlines++;
      }
      const [, from, to, share] = /word to word in .* is “([^”]+)” → “([^”]+)” (.+)\.$/.exec(said) ?? [];
      if (from === undefined) continue;
      const { probs } = headsOf(seen.shown)[seen.head]!;
      standsFor(share!, Math.max(...own.flatMap((i) => own.filter((j) => j !== i).map((j) => rowOf(probs, i)[j]!))));
      standsFor(share!, rowOf(probs, names.indexOf(from))[names.indexOf(to!)]!);
      headlines++;
    }
    expect(headlines).toBeGreaterThan(100);
  });

  test("what the finding says of positions is so", () => {
    for (const { seen, label } of settingsSeen) {
      const twins = firstRepetition(seen.shown);
      const said = words.finding(seen);
      if (!twins || isBlind(seen)) {
        expect([label, /positions/.test(said)]).toEqual([label, false]);
        continue;
      }
      const apart = (encoding: typeof seen.shown) => {
        const { probs } = headsOf(encoding)[seen.head]!;
        return Math.max(...rowOf(probs, twins[0]).map((prob, i) => Math.abs(prob - rowOf(probs, twins[1])[i]!)));
      };
      expect(apart(seen.unplaced)).toBeLessThan(1e-6);
      expect(said).toMatch(seen.options.positions ? /Without positions their rows are equal\.$/ : /look alike/);
      const { on, off } = words.twinRows(seen, twins);
      expect(off).toBe("Positions off: the rows are equal");
      const wanted = apart(seen.placed) < 1e-6 ? "are equal" : `differ by up to ${words.points(apart(seen.placed))}`;
      expect(on).toBe(`Positions on: the rows ${wanted}`);
      if (!seen.options.positions) expect(said).toContain(`Told where they stand, they ${wanted}.`);
    }
  });

  test("hidden tokens leave no link to them, and all of them leave none at all", () => {
    for (const { seen } of settingsSeen) {
      const links = words.linksInWords(seen, 5);
      expect(links.filter((link) => / 0\u00a0%$/.test(link))).toEqual([]);
      if (!isBlind(seen)) continue;
      expect(links).toEqual([]);
      expect(words.finding(seen)).toMatch(
        seen.shown.tokens.length === 1 ? /^The only token is hidden/ : /^All \d+ tokens are hidden: no token looks/,
      );
      expect(words.hint(seen)).toBe("No word spreads any attention, as every token is hidden.");
      expect(words.effect(seen)).toContain("no token looks at anything, and every weight is 0\u00a0%.");
      expect(Math.max(...headsOf(seen.shown)[seen.head]!.probs)).toBe(0);
      expect(Math.min(...movedByHead(seen.original, seen.shown))).toBeCloseTo(1, 5);
    }
  });

  test("a cell's words have its numbers, in both directions", () => {
    for (const { seen } of settingsSeen) {
      const names = namesOf(seen).slice(0, 4).map(spoken);
      const { probs, scores } = headsOf(seen.shown)[seen.head] ?? {};
      names.forEach((name, from) =>
        names.forEach((other, to) => {
          const said = [...words.cellWords(seen, from, to).matchAll(/“([^”]+)” gives (.+?) of its attention to (.+?) \(score (.+?)\)/g)]; // oxfmt-ignore
          expect(said).toHaveLength(from === to ? 1 : 2);
          [
            [from, to],
            [to, from],
          ]
            .slice(0, said.length)
            .forEach(([i, j], index) => {
              const [, giver, share, taker, score] = said[index]!;
              expect(giver).toBe(index === 0 ? name : other);
              expect(taker).toBe(i === j ? "itself" : `“${index === 0 ? other : name}”`);
              standsFor(share!, rowOf(probs!, i!)[j!]!);
              expect(Number(score!.replace("−", "-"))).toBeCloseTo(rowOf(scores!, i!)[j!]!, 1);
            });
        }),
      );
    }
  });

  test("the effect of a change is the embedding's cosine and the head that moved most", () => {
    for (const { seen, label } of settingsSeen) {
      const said = words.effect(seen);
      expect([label, said.startsWith("Nothing is changed.")]).toEqual([label, !isChanged(seen)]);
      if (!isChanged(seen)) continue;
      const cosine = Number(/original is (−?[\d.]+)\./.exec(said)![1]!.replace("−", "-"));
      expect(cosine).toBeCloseTo(similarity(seen.original.embedding, seen.shown.embedding), 3);
      const moved = movedByHead(seen.original, seen.shown);
      const named = /(Layer \d head \d) changes most: (.+) of its attention/.exec(said);
      if (named) {
        expect(named[1]!.toLowerCase()).toBe(headName(headsOf(seen.shown)[moved.indexOf(Math.max(...moved))]!));
        standsFor(named[2]!, Math.max(...moved));
      } else if (!isBlind(seen)) expect([label, Math.max(...moved, 0) < 1e-6]).toEqual([label, true]);
      const head = comparedHead(seen);
      expect(head === undefined).toBe(Math.max(...moved, 0) === 0);
      if (head === undefined) continue;
      const link = /from (.+\u00a0%) to (.+\u00a0%)\.$/.exec(words.changedLink(seen, head))!;
      const before = headsOf(seen.original)[head]!.probs;
      const apart = Array.from(before, (prob, i) => Math.abs(prob - headsOf(seen.shown)[head]!.probs[i]!));
      const most = apart.indexOf(Math.max(...apart));
      standsFor(link[1]!, before[most]!);
      standsFor(link[2]!, headsOf(seen.shown)[head]!.probs[most]!);
    }
  });

  test("the cells of the picture are the weights in percent, and rows have one name", () => {
    for (const { seen } of settingsSeen.filter((_, i) => i % 3 === 0)) {
      const names = namesOf(seen);
      const tables = picture(seen).split("<table").slice(1);
      expect(tables).toHaveLength((names.length > 0 && names.length <= MOST_NUMBERS ? 1 : 0) + (firstRepetition(seen.shown) ? 1 : 0)); // oxfmt-ignore
      const rows = tables.map((table) =>
        [
          ...table.matchAll(
            /<th scope="row" title="[^"]*">(?:<span class="unknown-word">)?(.*?)(?:<\/span>)?<\/th>(.*?)<\/tr>/g,
          ),
        ].map(([, name, cells]) => ({
          name: name!.replace(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code))),
          cells: [...cells!.matchAll(/>(\d+)<\/td>/g)].map(([, number]) => Number(number)),
        })),
      );
      const row = (encoding: typeof seen.shown, token: number) => ({
        name: names[token],
        cells: Array.from(rowOf(headsOf(encoding)[seen.head]!.probs, token), (prob) => Math.round(100 * prob)),
      });
      if (names.length > 0 && names.length <= MOST_NUMBERS)
        expect(rows.shift()).toEqual(names.map((_, token) => row(seen.shown, token)));
      const [first, second] = firstRepetition(seen.shown) ?? [];
      if (first !== undefined)
        expect(rows.shift()).toEqual([
          row(seen.placed, first),
          row(seen.placed, second!),
          row(seen.unplaced, first),
          row(seen.unplaced, second!),
        ]);
    }
  });

  test("habits are means over the map, and the jump goes to the head with most of one", () => {
    for (const { seen } of settingsSeen.filter(({ seen }) => seen.head === 0 && seen.shown.tokens.length > 0)) {
      const heads = headsOf(seen.shown);
      const n = seen.shown.tokens.length;
      const mean = (probs: Float32Array, cells: readonly number[]) =>
        cells.reduce((sum, cell) => sum + probs[cell]!, 0) / Math.max(cells.length, 1);
      const later = Array.from({ length: n - 1 }, (_, i) => i + 1);
      const cells = {
        previous: later.map((i) => i * n + i - 1),
        first: later.map((i) => i * n),
        self: [0, ...later].map((i) => i * n + i),
      };
      for (const habit of HABITS) {
        const means = heads.map(({ probs }) => mean(probs, cells[habit]));
        heads.forEach((head, i) => expect(habitsOf(head)[habit]).toBeCloseTo(means[i]!, 6));
        const said = /: (layer \d head \d) \((.+)\)$/.exec(words.habitWords(seen.shown, habit))!;
        const most = heads.findIndex((head) => headName(head) === said[1]);
        expect(means[most]).toBeCloseTo(Math.max(...means), 6);
        standsFor(said[2]!, habitsOf(heads[most]!)[habit]);
      }
    }
  });
});

test.each(["cat", "Cat.", "cat 日本語 ☃", "Katzenklappe cat"])(
  "one known word is told so, not that it looks at itself: %s",
  async (texts) => {
    const said = words.finding(await computed({ texts }));
    expect(said).toBe("“cat” is the only word here that the model knows: there is no other one to look at.".replace("cat", /cat/i.exec(texts)![0])); // oxfmt-ignore
  },
);

test("what the model does not know is told, with its language", async () => {
  const { shown } = await computed({ texts: "日本語 ☃ park" });
  expect(shown.unknown.map((token) => shown.tokens[token])).toEqual(["日本語", "☃"]);
  expect(words.tokensRead(shown)).toMatch(
    /The model was trained on English\. It does not know “日本語”, “☃”: it reads them all as the same unknown token\.$/,
  );
  expect(words.tokensRead((await computed()).shown)).not.toMatch(/English/);
});

describe("a text in another language", () => {
  const GERMAN = "Das Schloss hat ein Schloss.";

  test.each([
    [GERMAN, "What does each word look at?", ["hat"]],
    ["qwzxv and the qwzxv", "What does each word look at?", ["and", "the"]],
    ["The bank lends; the bank lends.", "Which “bank” is which?", ["The", "bank", "the", "bank"]],
    ["park-park don't don't", "What does each word look at?", []],
  ])("%s: pieces are no words that occur twice", async (texts, question, known) => {
    const { shown } = await computed({ texts });
    expect(words.question({ shown })).toBe(question);
    expect(knownWords(shown).map((token) => shown.tokens[token]!.slice(1))).toEqual(known);
  });

  test("a piece of a longer word is no occurrence of a word", () => {
    const tokens = ["▁park", "▁park", "ing", "▁park"];
    expect(firstRepetition({ tokens, unknown: [], tokensLeftOut: 0 })).toEqual([0, 3]);
    // the word at the end may go on
    expect(firstRepetition({ tokens, unknown: [], tokensLeftOut: 1 })).toBeUndefined();
  });

  test("no sentence names a space by its sign", async () => {
    for (const texts of ["qwzxv and the qwzxv and the", "日本語 park, 日本語 park"])
      for (let head = 0; head < 8; head++)
        expect(allWords({ ...(await computed({ texts })), head }).filter((said) => said.includes("▁"))).toEqual([]);
  });

  test.each([
    [GERMAN, "It reads 4 of 5 words in pieces, such as “Schloss”."],
    ["Der Hund läuft im Park, und die Katze schläft.", "It reads 6 of 9 words in pieces, such as “schläft”."],
    ["Le chat dort sur le canapé et le chien aussi.", "It reads 5 of 10 words in pieces, such as “canapé”."],
    ["El perro corre por el parque con su amigo.", "It reads 4 of 9 words in pieces, such as “parque”."],
  ])("%s: it is told that the model reads pieces", async (texts, told) => {
    expect(words.tokensRead((await computed({ texts })).shown)).toMatch(
      new RegExp(`^\\d+ tokens\\. The model was trained on English\\. ${told}$`),
    );
  });

  test("the language is told once, and not of English", async () => {
    const { shown } = await computed({ texts: "日本語 Das Schloss" });
    expect(words.tokensRead(shown)).toMatch(
      /English\. It reads 2 of 3 words in pieces, .* It does not know “日本語”\.$/,
    );
    for (const texts of [
      "The bank lends money by the bank.",
      "The cat sat on the mat and purred.",
      "I'm sure it's well-known.",
    ])
      expect(words.tokensRead((await computed({ texts })).shown)).not.toMatch(/English/);
  });
});

test("a word that the model does not know is marked where it heads a row or a column", async () => {
  const html = picture(await computed({ texts: "日本語 park" }));
  const marks = [...html.matchAll(/title="([^"]*)"[^>]*><span class="unknown-word">([^<]*)</g)];
  expect(marks.map(([, title, name]) => `${name}, ${title}`)).toEqual(
    Array.from({ length: 2 }, () => "日本語, 日本語: the model does not know this. It reads it as its unknown token."),
  );
  expect(picture(await computed())).not.toContain("unknown-word");
});

test("the note on the size says which model it is", () => {
  const note = words.storageNote({ megabytes: 12.3, sentences: 20, cosine: 0.99999876, weight: 0.00123 });
  expect(note).toMatch(
    /^The model is the Universal Sentence Encoder Lite \(Google, 2018\), trained on English\. Its licence is Apache 2\.0\./,
  );
});

test("the first settings show the head that tells most about the two “park”", async () => {
  const { placed, head } = await computed();
  const [first, second] = firstRepetition(placed)!;
  expect([first, second]).toEqual([3, 8]);
  expect(head).toBe(tellingHead(placed, first, second));
});

test("“phone” and “RAM” score each other differently, and both scores are shown", async () => {
  const seen = await computed({ sentence: 1 });
  expect(EXAMPLE.map((token) => seen.shown.tokens[token])).toEqual(["▁phone", "▁RAM"]);
  for (let head = 0; head < 8; head++) {
    const { scores } = headsOf(seen.shown)[head]!;
    const scoreOf = (i: number, j: number) => Number(rowOf(scores, i)[j]!.toFixed(2)); // as it is shown
    for (let i = 0; i < 8; i++)
      for (let j = 0; j < i; j++) {
        const apart = Math.abs(scoreOf(i, j) - scoreOf(j, i)).toFixed(2);
        const compared = apart === "0.00" ? "nearly equal" : `${apart} apart`;
        expect(words.directionWords({ ...seen, head }, i, j)).toContain(`The two scores are ${compared}.`);
      }
  }
  const chosen = pairOf(seen, { from: -1, to: -1 });
  const apart = ([i, j]: readonly [number, number]) =>
    Math.abs(rowOf(headsOf(seen.shown)[0]!.scores, i)[j]! - rowOf(headsOf(seen.shown)[0]!.scores, j)[i]!);
  for (let i = 0; i < 8; i++)
    for (let j = 0; j < 8; j++)
      if (/\p{L}/u.test(seen.shown.tokens[i]!) && /\p{L}/u.test(seen.shown.tokens[j]!))
        expect(apart(chosen)).toBeGreaterThanOrEqual(apart([i, j]));
  expect(pairOf(seen, { from: 99, to: 1 })).toEqual(chosen);
});

test.each([400, 4000])("%d lines are read up to a bound, and the room says so", async (lines) => {
  const seen = await computed({ texts: Array.from({ length: lines }, (_, i) => `Line ${i}`).join("\n"), sentence: 99 });
  expect(seen.encodings).toHaveLength(MOST_SENTENCES);
  expect(seen.chosen).toBe(MOST_SENTENCES - 1);
  expect(words.sentencesRead(seen.encodings.length, seen.given)).toBe(
    `The first ${MOST_SENTENCES} sentences of ${lines} are read.`,
  );
});

test("what came with the page is used only where it says all", async () => {
  const asked: string[] = [];
  const reader = (texts: readonly string[], options: EncodeOptions) => {
    asked.push(...texts);
    return read(texts, options);
  };
  const first = await Promise.all(
    settings()
      .texts.split("\n")
      .flatMap((text) =>
        [true, false].map(async (positions) => ({
          positions,
          encoding: unpacked(packed(await encoder.encode(text, { positions }), positions)),
        })),
      ),
  );
  const firstEncoding = (text: string, positions: boolean) =>
    first.find((each) => each.positions === positions && each.encoding.text === text)?.encoding;
  for (const changes of [{}, { positions: false }, { sentence: 2 }, { head: 5, show: "scores" as const }]) {
    const seen = await compute(settings(changes), reader, firstEncoding);
    expect(asked).toEqual([]);
    expect(seen).toEqual(await computed(changes));
  }
  for (const changes of [{ gains: "0" }, { hidden: "3" }, { texts: `${PARK}\nx` }]) {
    await compute(settings(changes), reader, firstEncoding);
    expect(asked.splice(0)).toContain(PARK); // all from one engine
  }
});
