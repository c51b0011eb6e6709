// The data, files and options of the models that the lab trains.

import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

import { afterAll, describe, expect, test } from "@jest/globals";
import { flatten, random } from "headwise/train";

import { UsageError } from "../../web/build/usage.mjs";
import { Characters } from "../../web/demo/train/characters.js";
import { Checkpoint } from "../../web/demo/train/cli/checkpoint.js";
import { parseTrainOptions } from "../../web/demo/train/cli/options.mjs";
import { initialParameters, type Architecture } from "../../web/demo/train/model.js";
import { drawStory, isHeldOut as isHeldOutStory } from "../../web/demo/stories/story.js";
import { repeatedBatch, STORY_WORDS, storiesBatch, storyBatch, storyIds } from "../../web/demo/train/storyBatch.js";
import { repeatBatch, repeatSequence, type Batch } from "../../web/demo/train/repeat.js";
import { readStored, storeWeights } from "../../web/demo/train/storedWeights.js";
import { drawPair, isHeldOut, SUM_CHARACTERS, sumBatch, sumText } from "../../web/demo/train/sums.js";
import { corpusOf, partsOf, textBatch } from "../../web/demo/train/text.js";
import { thrownBy } from "../web/thrownBy.js";

const ARCHITECTURE: Architecture = {
  ...{ vocabulary: 11, width: 8, layers: 2, heads: 2 },
  ...{ position: "learned", length: 6, feedForward: 16 },
};

describe("Sequences that repeat", () => {
  const task = { tokens: 64, vocabulary: 40 };

  test("have a second half that is the first, of tokens that occur once in a half", () => {
    for (let seed = 0; seed < 200; seed++) {
      const { tokens, half } = repeatSequence({ seed, ...task });
      expect(tokens.length).toBe(2 * half);
      expect(tokens.subarray(half)).toEqual(tokens.subarray(0, half));
      expect(new Set(tokens).size).toBe(half);
      expect(tokens.every((token) => token >= 0 && token < 40)).toBe(true);
    }
  });

  test("have halves of all lengths from an eighth to a half of the longest sequence", () => {
    const halves = new Set(Array.from({ length: 500 }, (_, seed) => repeatSequence({ seed, ...task }).half));
    expect([...halves].sort((a, b) => a - b)).toEqual(Array.from({ length: 25 }, (_, n) => 8 + n));
  });

  test("count from the second repeated token on, and nowhere else", () => {
    const { tokens, targets } = repeatBatch(random(1), 8, task);
    expect([tokens.shape, targets.shape]).toEqual([
      [8, 64],
      [8, 64],
    ]);
    for (let row = 0; row < 8; row++) {
      const [given, wanted] = [tokens, targets].map(({ data }) => [...data.subarray(row * 64, (row + 1) * 64)]);
      const first = wanted!.findIndex((target) => target >= 0);
      const counted = wanted!.filter((target) => target >= 0);
      expect(given!.slice(1, first)).not.toContain(given![0]); // the first half
      expect(given![first]).toBe(given![0]); // the first repeated token is given
      expect(counted).toEqual(given!.slice(1, first));
    }
  });
});

describe("Sums", () => {
  test("are written with the answer's digits from the last one on", () => {
    expect(sumText([7, 85])).toBe("7+85=29\n");
    expect(sumText([999, 1])).toBe("999+1=0001\n");
  });

  test("of held-out pairs are never trained on, in neither order", () => {
    const source = random(1);
    for (let n = 0; n < 2000; n++) {
      const [a, b] = drawPair(source, true);
      expect([isHeldOut([a, b]), isHeldOut([b, a])]).toEqual([true, true]);
    }
    const { tokens } = sumBatch(source, 500);
    for (let row = 0; row < 500; row++) {
      const text = SUM_CHARACTERS.text(tokens.data.subarray(row * 12, (row + 1) * 12));
      const [, a, b] = /^(\d+)\+(\d+)=/.exec(text)!;
      expect(isHeldOut([Number(a), Number(b)])).toBe(false);
    }
  });

  test("hold out about a tenth of all pairs", () => {
    let count = 0;
    for (let a = 0; a < 1000; a++) for (let b = a; b < 1000; b++) count += Number(isHeldOut([a, b]));
    expect(Math.abs(count / 500_500 - 0.1)).toBeLessThan(0.005);
  });

  test("count in the answer only, with its end", () => {
    const { tokens, targets } = sumBatch(random(2), 50);
    for (let row = 0; row < 50; row++) {
      const [given, wanted] = [tokens, targets].map(({ data }) => data.subarray(row * 12, (row + 1) * 12));
      const answer = SUM_CHARACTERS.text([...wanted!].filter((target) => target >= 0));
      const [question] = SUM_CHARACTERS.text(given!).split("=") as [string];
      const [a, b] = question.split("+").map(Number) as [number, number];
      expect(`${question}=${answer}`).toBe(sumText([a, b]));
      expect(wanted!.findIndex((target) => target >= 0)).toBe(question.length);
    }
  });
});

describe("Batches of stories", () => {
  /** The words of a row, and the words that count in it. */
  const rowsOf = ({ tokens, targets }: Batch) =>
    Array.from({ length: tokens.shape[0]! }, (_, row) => {
      const [given, wanted] = [tokens, targets].map(({ data, shape }) => [...data.subarray(row * shape[1]!, (row + 1) * shape[1]!)]); // oxfmt-ignore
      return { given: given!, wanted: wanted! };
    });
  const [gap] = storyIds({ words: [] });

  test("have one story in a row, and every next word counts, up to the break", () => {
    for (const { given, wanted } of rowsOf(storyBatch(random(1), 6, "all"))) {
      const end = wanted.indexOf(gap!);
      expect(given[0]).toBe(gap);
      expect(wanted.slice(0, end)).toEqual(given.slice(1, end + 1));
      expect(new Set(wanted.slice(end + 1))).toEqual(new Set(end + 1 < wanted.length ? [-1] : []));
      const words = given.slice(1, end + 1).map((id) => STORY_WORDS.tokens[id]!);
      expect(isHeldOutStory({ words })).toBe(false);
    }
  });

  test("can count only the words that have a true answer", () => {
    const source = random(2);
    const stories = Array.from({ length: 5 }, () => drawStory(source, false));
    rowsOf(storyBatch(random(2), 5, "facts")).forEach(({ wanted }, row) => {
      const counted = wanted.flatMap((id) => (id < 0 ? [] : [STORY_WORDS.tokens[id]]));
      expect(counted).toEqual(stories[row]!.facts.map(({ right }) => right));
    });
  });

  test("ask aside, at the noun of each thing and animal, who has it, and nowhere else", () => {
    const source = random(2);
    const stories = Array.from({ length: 5 }, () => drawStory(source, false));
    for (const counts of ["all", "facts"] as const) {
      const { tokens, asides } = storyBatch(random(2), 5, counts);
      const length = tokens.shape[1]!;
      stories.forEach(({ words, named }, row) => {
        const asked = [...asides!.data.subarray(row * length, (row + 1) * length).entries()].filter(
          ([, id]) => id >= 0,
        );
        const given = tokens.data.subarray(row * length);
        expect(asked.map(([at, id]) => [given[at], id].map((each) => STORY_WORDS.tokens[each!]))).toEqual(named.map(({ at, holder }) => [words[at], holder])); // oxfmt-ignore
      });
    }
    expect(stories.flatMap(({ named }) => named).length).toBeGreaterThan(20);
    expect(storiesBatch(source, 2, 256).asides!.data.every((id) => id === -1)).toBe(true);
  });

  test("fill long rows with stories one after another", () => {
    for (const { given, wanted } of rowsOf(storiesBatch(random(3), 4, 256))) {
      expect(wanted.slice(0, -1)).toEqual(given.slice(1));
      expect(given.filter((id) => id === gap).length).toBeGreaterThan(1);
    }
  });

  test("of repeats count from the second round on: bare words, and lists with commas", () => {
    for (const lists of [0, 1])
      for (const { given: row, wanted } of rowsOf(
        repeatedBatch(random(4), { ...{ rows: 20, length: 40 }, words: 24, lists }),
      )) {
        // oxfmt-ignore
        const given = row.filter((id) => id !== gap); // a row may be a word shorter than the longest
        const again = wanted.findIndex((id) => id >= 0); // the first word of the second round is given
        const round = given.slice(0, again);
        given.forEach((id, at) => expect(id).toBe(round[at % round.length]));
        expect(wanted.slice(again, given.length)).toEqual([
          ...given.slice(again + 1),
          round[given.length % round.length],
        ]);
        expect(given.includes(STORY_WORDS.ids(",")[0]!)).toBe(lists === 1);
      }
  });
});

describe("Texts", () => {
  test("become ids and text again; unknown characters are left out", () => {
    const characters = Characters.of("banana");
    expect(characters.all).toBe("abn");
    expect([...characters.ids("nab!")]).toEqual([2, 0, 1]);
    expect(characters.text([1, 0, 2])).toBe("ban");
  });

  test("name an unknown emoji of several characters as one", () => {
    const signs = ["👩‍🚀", "🇩🇪", "❤️", "👍🏽", "x"];
    const text = `${signs.join(" ")} ${signs.join("")}`;
    expect(STORY_WORDS.unknown(text)).toEqual(signs);
    expect(Characters.of(" ").unknown(text)).toEqual(signs);
  });

  test("hold out whole parts, which the model never sees", () => {
    const parts = Array.from({ length: 80 }, (_, n) => `part ${n} `.repeat(3));
    const { characters, train, heldOut } = corpusOf(parts);
    expect(heldOut).toEqual([parts[20], parts[60]]);
    const seen = characters.text(train);
    expect(seen).toContain(parts[21]);
    for (const part of heldOut) expect(seen).not.toContain(part);
  });

  test("of one's own are cut at ends of lines", () => {
    const text = Array.from({ length: 900 }, (_, n) => `line ${n} of a text`).join("\r\n");
    const parts = partsOf(text);
    expect(parts.length).toBeGreaterThan(3);
    expect(parts.join("\n")).toBe(text.replaceAll("\r\n", "\n"));
  });

  test("give pieces whose targets are the characters that follow", () => {
    const text = Int32Array.from({ length: 100 }, (_, n) => n);
    const { tokens, targets } = textBatch(random(1), text, 5, 16);
    expect(tokens.shape).toEqual([5, 16]);
    tokens.data.forEach((token, n) => expect(targets.data[n]).toBe(token + 1));
  });
});

describe("Stored weights", () => {
  const parameters = initialParameters(ARCHITECTURE, random(1), 0.1);
  const stored = storeWeights(parameters);

  test("keep names and shapes; a number of a matrix is off by at most half of its row's unit", () => {
    const before = flatten(parameters);
    const after = flatten(readStored(stored));
    expect(Object.keys(after).sort()).toEqual(Object.keys(before).sort());
    for (const [name, { data, shape }] of Object.entries(before)) {
      const read = after[name]!;
      expect(read.shape).toEqual(shape);
      if (shape.length < 2) expect(read.data).toEqual(data);
      const width = shape.at(-1)!;
      for (let at = 0; at < data.length; at += width) {
        const [row, other] = [data, read.data].map((each) => each.subarray(at, at + width));
        const unit = Math.max(...row!.map(Math.abs)) / 127;
        row!.forEach((value, n) => expect(Math.abs(value - other![n]!)).toBeLessThanOrEqual(unit * 0.5001));
      }
    }
  });

  test("take about a byte for each number of a matrix", () => {
    const sizes = Object.values(flatten(parameters)).map(({ data, shape }) =>
      shape.length < 2 ? 4 * data.length : data.length + 4 * shape[0]!,
    );
    const header = 8 + Number(new DataView(stored.buffer).getBigUint64(0, true));
    expect(stored.length - header).toBe(sizes.reduce((sum, size) => sum + size, 0));
  });
});

describe("A checkpoint", () => {
  const folder = mkdtempSync(path.join(tmpdir(), "headwise-"));
  afterAll(() => rmSync(folder, { recursive: true }));

  test("comes back with weights, the optimizer's state, random numbers and time", () => {
    const source = random(3);
    const parameters = initialParameters(ARCHITECTURE, source, 0.1);
    const standing = { parameters, optimizer: { mean: source.normal([2]) }, random: source.state, seconds: 12.5 };
    const checkpoint = new Checkpoint(folder, "text", { seed: 1 });
    expect(checkpoint.read()).toBeUndefined();
    checkpoint.write(standing);
    expect(new Checkpoint(folder, "text", { seed: 1 }).read()).toEqual(standing);
    expect(new Checkpoint(folder, "text", { seed: 2 }).read()).toBeUndefined();
    expect(readdirSync(folder)).toHaveLength(1);
  });
});

describe("The options of train:demo", () => {
  test("have defaults", () => {
    expect(parseTrainOptions([])).toEqual({
      ...{ task: "text", text: undefined, budget: { minutes: 60 }, seed: 1, threads: "auto" },
      ...{ out: "web/demo/decoders", fresh: false, help: false },
    });
    expect(parseTrainOptions(["--task", "sums"]).budget).toEqual({ minutes: 10 });
    expect(parseTrainOptions(["--steps", "50"]).budget).toEqual({ steps: 50 });
  });

  test.each([
    [["--task", "poems"], '--task must be one of text, sums, repeat, got "poems"'],
    [["--task", "sums", "--text", "a.txt"], "--text is for --task text"],
    [["--minutes", "1", "--steps", "2"], "give --minutes or --steps, not both"],
    [["--minutes", "soon"], '--minutes must be a number from 0.01 to 10000, got "soon"'],
    [["--seed", "1.5"], '--seed must be a whole number from 0 to 4294967295, got "1.5"'],
    [["--threads", "0"], "--threads must be a whole number from 1 to 1024"],
    [["--weight"], "--weight"],
  ])("%j is refused", (args, message) => {
    const error = thrownBy(() => parseTrainOptions(args));
    expect(error.message).toContain(message);
    expect(error).toBeInstanceOf(UsageError);
  });
});
