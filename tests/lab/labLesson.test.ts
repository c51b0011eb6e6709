import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createAttention, type Attention } from "headwise";

import { exactLayers } from "../../web/demo/lab/engine/exactLayers.js";
import { flow } from "../../web/demo/lab/rooms/lesson/flow.js";
import * as lesson from "../../web/demo/lab/rooms/lesson/lesson.js";
import { paneOf } from "../../web/demo/lab/rooms/lesson/panes.js";
import { planeOf } from "../../web/demo/lab/rooms/lesson/plane.js";
import { optionsOf, read, sentenceOf, type Reading } from "../../web/demo/lab/rooms/lesson/reading.js";
import { scenesOf } from "../../web/demo/lab/rooms/lesson/scenes.js";
import { MOST_TOKENS, SCENES } from "../../web/demo/lab/rooms/lesson/settings.js";
import { readWords } from "../../web/demo/lab/rooms/lesson/words.js";
import { cards, controls, stage } from "../../web/demo/lab/rooms/lesson/stage.js";
import { defined } from "../../web/demo/lab/rooms/matrix/definition.js";
import { fields as matrix, inputsOf } from "../../web/demo/lab/rooms/matrix/settings.js";
import { fields as positions } from "../../web/demo/lab/rooms/positions/settings.js";
import { DOORS } from "../../web/demo/lab/rooms/rooms.js";
import { fields as sentence } from "../../web/demo/lab/rooms/sentence/settings.js";
import { at } from "../../web/demo/lab/shell/matrix.js";
import { State } from "../../web/demo/lab/shell/state.js";
import { written, type Field, type Fields } from "../../web/demo/lab/shell/field.js";
import { anatomyOf, SHOWN, type Anatomy } from "../../web/demo/model/anatomy.js";
import { Encoder, LAYERS, type EncodeOptions, type Encoding } from "../../web/demo/model/encoder.js";
import { packedAnatomy, unpackedAnatomy } from "../../web/demo/model/packedAnatomy.js";
import { type LayerShape } from "../../web/demo/model/transformerLayer.js";
import { PARK, PHONE } from "../../web/demo/model/story.js";
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

const TEXTS = [PARK, PHONE, "", "hello", "to to", "< & > “the” the", "The bank lends money by the bank of the river."];
const LONG = "one word and then another word and some more words than the lesson has rows for";
const HEADS = [0, 1, 2, 3, 4, 5, 6, 7];

const inside = (text: string, positions = true): Promise<Encoding> =>
  encoder.encode(text, { ...optionsOf(positions), inside: true });
const anatomy = async (text: string, options: EncodeOptions): Promise<Anatomy> =>
  anatomyOf(await encoder.encode(text, { ...options, inside: true }));
const reading = (text: string): Promise<Reading> => read(text, anatomy);
const seenIn = async (text: string, head = 0, word = -1) => {
  const { placed, unplaced } = await reading(text);
  return lesson.lessonOf(placed, unplaced, { head, word });
};

/** Some sums are of 128 or 512 products in float32. */
const near = (found: ArrayLike<number>, wanted: ArrayLike<number>, tolerance = 1e-4) => {
  expect(found).toHaveLength(wanted.length);
  const size = Math.max(1, ...Array.from(wanted, Math.abs));
  const apart = Array.from(found, (number, i) => Math.abs(number - wanted[i]!));
  expect(Math.max(0, ...apart) / size).toBeLessThanOrEqual(tolerance);
};

describe.each(HEADS)("head %i", (head) => {
  test("gives weights that sum to 1: the softmax of its scores", async () => {
    const seen = await seenIn(PARK, head);
    for (let word = 0; word < seen.placed.tokens.length; word++) {
      const { scores, weights } = lesson.asking({ ...seen, word });
      const powers = Array.from(scores, (score) => Math.exp(score - Math.max(...scores)));
      const sum = powers.reduce((total, power) => total + power);
      near([weights.reduce((total, weight) => total + weight)], [1], 1e-6);
      near(weights, powers.map((power) => power / sum), 1e-5); // oxfmt-ignore
    }
  });

  test("mixes values: the sum of weights times values, in every number that is shown", async () => {
    const seen = await seenIn(PARK, head);
    for (let word = 0; word < seen.placed.tokens.length; word++) {
      const { weights, values, mix } = lesson.asking({ ...seen, word });
      const sums = Array.from({ length: SHOWN }, (_, i) =>
        values.reduce((total, value, token) => total + weights[token]! * value[i]!, 0),
      );
      near(mix, sums, 1e-5);
    }
  });

  test("draws each key at its true angle to the query", async () => {
    const { layers, tokens } = await inside(PARK);
    const { inside: parts, numHeads } = layers[Math.floor(head / 4)]!;
    const dim = parts!.query.length / numHeads / tokens.length;
    const vector = (data: Float32Array, token: number) => {
      const at = ((head % 4) * tokens.length + token) * dim;
      return data.subarray(at, at + dim);
    };
    const product = (a: Float32Array, b: Float32Array) => a.reduce((sum, number, i) => sum + number * b[i]!, 0);
    const seen = await seenIn(PARK, head);
    const query = vector(parts!.query, seen.word);
    const wanted = tokens.map((_, token) => {
      const key = vector(parts!.key, token);
      return product(query, key) / Math.sqrt(product(query, query) * product(key, key));
    });
    near(lesson.angles(seen).map(Math.cos), wanted);
  });
});

test("the enriched vector is the word and its mix: before + the parts of all heads + the bias = after", async () => {
  const one = await inside(PARK);
  for (const { inside: parts, numHeads } of one.layers) {
    const { before, after, contributions } = parts!;
    const width = before.length / one.tokens.length;
    const rest = after.map((number, i) => {
      const heads = Array.from({ length: numHeads }, (_, head) => contributions[head * before.length + i]!);
      return number - before[i]! - heads.reduce((sum, part) => sum + part);
    });
    // What is left is the bias: the same for every token.
    for (let token = 1; token < one.tokens.length; token++)
      near(rest.subarray(token * width, (token + 1) * width), rest.subarray(0, width));
  }
});

test("distances are those of the whole vectors, and the shares of heads are parts of the move", async () => {
  const { layers, tokens } = await inside(PARK);
  const seen = await seenIn(PARK);
  const { before, after, contributions } = layers[0]!.inside!;
  const width = before.length / tokens.length;
  const row = (data: Float32Array, token: number) => data.subarray(token * width, (token + 1) * width);
  const distance = (a: Float32Array, b: Float32Array) => Math.hypot(...a.map((number, i) => number - b[i]!));
  const [first, second] = lesson.pairOf(seen);
  const moves = lesson.movesOf(seen.placed, 0, [first, second]);
  near([moves.before, moves.after], [distance(row(before, first), row(before, second)), distance(row(after, first), row(after, second))]); // oxfmt-ignore
  near([moves.moved[0]], [distance(row(before, first), row(after, first))]);
  const move = row(after, first).map((number, i) => number - row(before, first)[i]!);
  const along = (part: Float32Array) => part.reduce((sum, number, i) => sum + number * move[i]!, 0);
  const shares = [0, 1, 2, 3].map((head) => along(row(contributions, head * tokens.length + first)) / along(move));
  near(lesson.sharesOf(seen, first), shares);
});

test("the two parks differ only when positions are on", async () => {
  for (const head of HEADS) {
    const seen = await seenIn(PARK, head);
    const twins = lesson.twinsOf(seen.placed)!;
    expect(twins.map((token) => seen.placed.tokens[token])).toEqual(["▁park", "▁park"]);
    const weights = (kind: "placed" | "unplaced") => twins.map((token) => lesson.weightsOf(seen, seen[kind], token));
    const [first, second] = weights("unplaced");
    expect(first).toEqual(second); // in every bit
    const [one, other] = weights("placed");
    expect(one).not.toEqual(other);
    const scale = lesson.movesOf(seen.placed, head, twins).after;
    expect(scale).toBeGreaterThan(10);
    expect(lesson.movesOf(seen.unplaced, head, twins).after).toBeLessThan(1e-2 * scale);
  }
});

test("attention moves park apart from park, in both layers", async () => {
  for (const head of [0, 4]) {
    const seen = await seenIn(PARK, head);
    const { before, after } = lesson.movesOf(seen.placed, head, lesson.pairOf(seen));
    expect(after).toBeGreaterThan(1.1 * before);
  }
});

describe("a plane", () => {
  test("of points that lie in one keeps all distances", () => {
    const points = [[0, 0, 1], [3, 0, 1], [3, 4, 1], [-2, 1, 1]]; // oxfmt-ignore
    const plane = planeOf(4, (a, b) => points[a]!.reduce((sum, number, i) => sum + number * points[b]![i]!, 0));
    const distances = (rows: readonly (readonly number[])[]) =>
      rows.flatMap((a) => rows.map((b) => Math.hypot(...a.map((number, i) => number - b[i]!))));
    near(distances(plane.points), distances(points), 1e-9);
    near([plane.share], [1], 1e-12);
  });

  test("says how much it holds: two thirds of four corners that are equally far from each other", () => {
    const plane = planeOf(4, (a, b) => Number(a === b));
    near([plane.share], [2 / 3], 1e-9);
  });

  test("of one point, of equal points and of points on a line has no numbers that are not numbers", () => {
    for (const product of [() => 0, () => 1, (a: number, b: number) => a * b])
      for (const count of [1, 4]) expect(planeOf(count, product).points.flat().every(Number.isFinite)).toBe(true);
  });
});

test.each([...TEXTS, LONG])(
  "every scene of %p can be drawn, without undefined numbers, and its markup is whole",
  async (text) => {
    for (const [head, word] of [
      [0, -1],
      [7, 1],
      [3, 13],
    ] as const) {
      // oxfmt-ignore
      const seen = await seenIn(text, head, word);
      expect(seen.placed.tokens.length).toBeLessThanOrEqual(MOST_TOKENS);
      if (seen.placed.tokens.length === 0) continue;
      for (let scene = 1; scene <= SCENES; scene++) {
        const markup = stage(seen, scene);
        expect(markup).not.toMatch(/undefined|NaN|Infinity/);
        expect(paneOf(seen, scene).title).not.toBe("");
        const opened = [...markup.matchAll(/<(?!\/|br|input|line|circle|path)([a-z]+\d?)[^>]*?(\/?)>/g)].filter(([, , end]) => end === ""); // oxfmt-ignore
        const closed = [...markup.matchAll(/<\/([a-z]+\d?)>/g)];
        const names = (tags: RegExpMatchArray[]) => tags.map(([, name]) => name!).filter((name) => !["line", "circle", "path"].includes(name)).sort(); // oxfmt-ignore
        expect(names(opened)).toEqual(names(closed));
      }
    }
  },
);

describe("a question", () => {
  test("has one right answer among its answers, and is about the numbers of the sentence", async () => {
    for (const text of TEXTS.slice(0, 2).concat(TEXTS.slice(-1)))
      for (const head of HEADS) {
        const quizzes = scenesOf(await seenIn(text, head)).flatMap(({ quiz }) => quiz ?? []);
        expect(quizzes.length).toBeGreaterThanOrEqual(5);
        for (const { answers, right, said } of quizzes) {
          expect(answers[right]).toBeDefined();
          expect(new Set(answers).size).toBe(answers.length);
          expect(said).not.toMatch(/undefined|NaN/);
        }
      }
  });

  test("gives what headwise computes: directions differ, a shift of scores changes nothing, twins stay together", async () => {
    const right = scenesOf(await seenIn(PARK)).map(({ quiz }) => quiz?.answers[quiz.right]);
    expect(right.slice(1)).toEqual(["No, another one", "They stay as they are", "The value of “park₄”", "“park₄”", "66\u00a0%", "Not apart"]); // oxfmt-ignore
  });
});

describe("what is said of the moving words", () => {
  const said = async (text: string) => scenesOf(await seenIn(text))[4]!.words[1]!;

  test("two meanings are said of the page’s own sentence only", async () => {
    expect(await said(PARK)).toMatch(/^“park₄” and “park₉” are one word with two meanings\. Layer 1 moves “park₄” and “park₉” /); // oxfmt-ignore
    expect(await said("to to")).toMatch(/^“to₁” and “to₂” are the same word twice\. Layer 1 moves “to₁” and “to₂” /);
  });

  test("both words are named, also where no word stands twice", async () => {
    expect(await said("The bank lends money.")).toMatch(/^Layer 1 moves “The” and “[^”]+” (further|nearer|as far)/);
  });

  test("one word is compared with nothing", async () => {
    expect(await said("Park")).toMatch(/^Layer 1 moves “Park” by \d+\.\d\.$/);
    const asked = scenesOf(await seenIn("Park")).map(({ quiz }) => quiz !== undefined);
    expect(asked).toEqual([false, false, true, false, false, true, false]);
  });

  test("no head is said to look elsewhere than another one", async () => {
    expect(scenesOf(await seenIn("Park"))[5]!.words[0]).not.toMatch(/looks elsewhere/);
    expect(scenesOf(await seenIn("Park"))[0]!.words[1]).toMatch(/^Follow one word: “Park”\. It stands alone/);
    expect(scenesOf(await seenIn(PARK))[0]!.words[1]).toMatch(/the other words/);
  });
});

test("the first scene says how wide the vectors are, and the fifth why they are wider there", async () => {
  const seen = await seenIn(PARK);
  const [{ inputDim, outputDim }] = LAYERS as [LayerShape];
  expect(scenesOf(seen)[0]!.words[0]).toContain(`gets ${inputDim} numbers`);
  expect(paneOf(seen, 5).note).toContain(`The first layer makes ${outputDim} numbers of the ${inputDim}.`);
});

test("a sentence of spaces is an empty one", () => {
  expect([" ", "   \t", ""].map((text) => sentenceOf({ text }))).toEqual(["", "", ""]);
  expect(sentenceOf({ text: " a b " })).toBe(" a b ");
});

test("follows a word that the model knows, and says what it does not know", async () => {
  const seen = await seenIn("日本語 the park, 日本語");
  expect(seen.placed.tokens[seen.word]).toBe("▁the");
  expect(lesson.twinsOf(seen.placed)).toBeUndefined();
  expect(readWords(seen.placed)).toMatch(
    /^\d+ tokens\. The model was trained on English\. It does not know “日本語”\.$/,
  );
});

test("pieces of words are not the same word twice", async () => {
  const seen = await seenIn("Das Schloss hat ein Schloss.");
  expect(seen.placed.tokens[seen.word]).toBe("▁hat");
  expect(lesson.twinsOf(seen.placed)).toBeUndefined();
  expect(scenesOf(seen)[0]!.words[0]).not.toContain("the same word");
  expect(readWords(seen.placed)).toBe(
    "14 tokens. The model was trained on English. It reads 4 of 5 words in pieces, such as “Schloss”.",
  );
  expect(readWords((await seenIn("I'm sure it's well-known.")).placed)).not.toContain("pieces");
});

test("no scene names a space by its sign", async () => {
  for (const text of ["qwzxv", "☃ park ☃", "Él y Él"])
    for (const head of HEADS) {
      const said = scenesOf(await seenIn(text, head)).flatMap(({ title, words, quiz }) => [title, ...words, ...(quiz ? [quiz.question, quiz.said, ...quiz.answers] : [])]); // oxfmt-ignore
      expect(said.filter((words) => words.includes("▁"))).toEqual([]);
    }
});

test("a word that the model does not know is marked in the diagram and in the pictures", async () => {
  const seen = await seenIn("日本語 the park, the ☃");
  const marks = (html: string) => [...html.matchAll(/title="([^"]*)" class="unknown-word">([^<]*)</g)].map(([, title, name]) => `${name}, ${title}`); // oxfmt-ignore
  const wanted = ["日本語", "☃"].map((name) => `${name}, ${name}: the model does not know this. It reads it as its unknown token.`); // oxfmt-ignore
  expect(marks(flow(seen, 1))).toEqual(wanted);
  for (const scene of [3, 6, 7]) expect(marks(paneOf(seen, scene).markup)).toEqual(wanted);
  expect(stage(await seenIn(PARK), 1)).not.toContain("unknown-word");
});

test("a name that has no room is cut inside its quotation marks", async () => {
  const seen = await seenIn(PARK);
  expect(paneOf(seen, 4).markup).toMatch(/<span class="cut">\d+\u00a0% of “<span>[^<”]+<\/span>”<\/span>/);
  expect(paneOf(seen, 7).markup).toContain('<span class="cut"><span>park₄</span> · on</span>');
  expect(flow(seen, 2)).toContain('<span class="cut">query of “<span>park₄</span>”</span>');
});

test("the first scene names the model, which is not announced with each sentence", async () => {
  const seen = await seenIn(PARK);
  const name = "The model is the Universal Sentence Encoder Lite (Google, 2018), trained on English.";
  expect(cards(seen, 1).split(name)).toHaveLength(2);
  expect(controls(seen)).toContain('<p class="hint" role="status">10 tokens.</p>');
});

test("each scene opens a room that exists, with settings that the room has", async () => {
  const readAndWritten = (field: Field<unknown>, value: string) => written(field, field.parse(value));
  const fieldsOf: Record<string, Fields> = { sentence, matrix, positions };
  for (const { door } of scenesOf(await seenIn(PARK, 5))) {
    expect(DOORS.map(({ id }) => id)).toContain(door.room);
    for (const [name, value] of Object.entries(door.settings))
      expect([name, readAndWritten(fieldsOf[door.room]![name]!, value)]).toEqual([name, value]);
  }
});

describe("the fourth scene opens the room Matrix with its own numbers", () => {
  /** A score or a value in an address is rounded to four decimals; a weight changes by at most twice as much, relatively. */
  const ROUNDING = 0.5e-4;

  test.each(
    [...TEXTS, "a b c d", "He wrote a long letter to the editor of the paper."].filter((text) => text.includes(" ")),
  )("%p", async (text) => {
    const { placed, unplaced } = await reading(text);
    for (const head of HEADS)
      for (let word = 0; word < placed.tokens.length; word++) {
        const seen = lesson.lessonOf(placed, unplaced, { head, word });
        const { weights, scores, mix, values } = lesson.asking(seen);
        const settings = new State(matrix, new URLSearchParams(scenesOf(seen)[3]!.door.settings)).values;
        const inputs = inputsOf(settings);
        const { heads, y } = defined(inputs);
        const names = lesson.namesOf(seen);
        const tokens = inputs.names.slice(0, settings.positions).map((name) => names.indexOf(name));
        const row = tokens.indexOf(word);
        const largest = Math.max(...values.flatMap((value) => [...value.subarray(0, 4)].map(Math.abs)));
        expect(row).toBeGreaterThanOrEqual(0);
        tokens.forEach((token, column) => {
          const isWord = token >= 0;
          const weight = isWord ? weights[token]! : weights.reduce((rest, each, at) => (tokens.includes(at) ? rest : rest + each), 0); // oxfmt-ignore
          expect(Math.abs(at(heads[0]!.weights, row, column) - weight)).toBeLessThan(2 * ROUNDING + 1e-6);
          if (isWord)
            expect(Math.abs(at(heads[0]!.masked, row, column) - scores[token]!)).toBeLessThan(ROUNDING + 1e-6);
        });
        for (let feature = 0; feature < 4; feature++)
          expect(Math.abs(at(y, row, feature) - mix[feature]!)).toBeLessThan(ROUNDING * (1 + 2 * largest) + 1e-5);
        // Of every other word the weights are also its own, and those of the others are the mean of theirs.
        const rest = names.map((_, token) => token).filter((token) => !tokens.includes(token));
        tokens.forEach((token, query) => {
          const asked = token >= 0 ? [token] : rest;
          tokens.forEach((key, column) => {
            const given = asked.map((each) => lesson.weightsOf(seen, seen.placed, each));
            const wanted = given.reduce((all, map) => all + (key >= 0 ? map[key]! : rest.reduce((part, each) => part + map[each]!, 0)), 0) / asked.length; // oxfmt-ignore
            expect(Math.abs(at(heads[0]!.weights, query, column) - wanted)).toBeLessThan(2 * ROUNDING + 1e-6);
          });
        });
      }
  });

  test("and a sentence of one word, which has no mix, opens it as it is", async () => {
    expect(scenesOf(await seenIn("the"))[3]!.door.settings).toEqual({ reading: "mixtures" });
  });
});

test("what came with the page is what headwise computes, in every bit", async () => {
  const { placed } = await reading(PARK);
  expect(unpackedAnatomy(JSON.parse(JSON.stringify(packedAnatomy(placed))) as ReturnType<typeof packedAnatomy>)).toEqual(placed); // oxfmt-ignore
});

test("the definition in double precision has the same anatomy", async () => {
  const exact = await Encoder.load(exactLayers, modelFiles);
  const options = { ...optionsOf(true), inside: true };
  const [found, wanted] = [await anatomy(PARK, optionsOf(true)), anatomyOf(await exact.encode(PARK, options))];
  found.layers.forEach((layer, index) => {
    for (const name of ["query", "key", "value", "mixed", "probs", "shares", "products"] as const)
      near(layer[name], wanted.layers[index]![name]);
  });
});

test("the built page has the picture before any script, with the package's numbers", () => {
  const html = readFileSync(fileURLToPath(new URL("../../dist-demo/page/index.html", import.meta.url)), "utf8");
  const main = /<main[^>]*>([\s\S]*)<\/main>/.exec(html)![1]!;
  expect(main).toContain("<h1>What does attention do to a word?</h1>");
  expect(main.match(/class="strip"/g)).toHaveLength(10);
  expect(main.match(/color-mix\(/g)).toHaveLength(10 * SHOWN);
  expect(main.match(/<section class="card scene"/g)).toHaveLength(SCENES);
  expect(html.match(/data-door="/g)!.length).toBeGreaterThan(5);
});
