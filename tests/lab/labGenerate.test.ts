// The Generate room without a browser: what is taken, what the caches keep and cost, and what is said.

import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createAttention, type Attention } from "headwise";

import { Decoder } from "../../web/demo/generate/decoder.js";
import {
  readDecoder,
  textOf,
  tokensOf,
  unitOf,
  vocabularyOf,
  type DecoderConfig,
} from "../../web/demo/generate/decoderFile.js";
import { candidates, largestChange, softmax, surprise, taken } from "../../web/demo/generate/sampling.js";
import type { CacheState, Endless, Writing, Written } from "../../web/demo/lab/engine/generateProtocol.js";
import { endlessText, Writer } from "../../web/demo/lab/engine/writer.js";
import { BEGINNINGS, fields, gainsOf, placesOf, ringOf, STORY_BEGINNINGS, switched } from "../../web/demo/lab/rooms/generate/settings.js"; // oxfmt-ignore
import { cacheWords, changeWords, endlessWords, finding, modelWords, sign, speedWords, sumWords, twinWords, unreadWords } from "../../web/demo/lab/rooms/generate/words.js"; // oxfmt-ignore
import { storyWords } from "../../web/demo/stories/words.js";
import { storyVerdict } from "../../web/demo/lab/rooms/generate/verdict.js";
import { choiceWords, jobWords } from "../../web/demo/lab/rooms/generate/jobs.js";
import { State } from "../../web/demo/lab/shell/state.js";
import { randomDecoder } from "../browser/lab/randomDecoder.js";
import { percent } from "../../web/demo/lab/shell/amounts.js";
import { faults } from "./labGrid.js";

const SCORES = [1, 3, 2, -1];

describe("what may come next", () => {
  test("the likeliest token is first, and its probability does not depend on the temperature", () => {
    for (const temperature of [0, 0.5, 1, 2]) {
      const found = candidates(SCORES, { temperature, topK: 40 });
      expect(found.map(({ token }) => token)).toEqual([1, 2, 0, 3]);
      expect(found.map(({ probability }) => probability)).toEqual([1, 2, 0, 3].map((token) => softmax(SCORES)[token]));
    }
  });

  test("chances sum to 1 over the first k, and all others have none", () => {
    for (const topK of [1, 2, 3, 4, 40])
      for (const temperature of [0.1, 0.7, 1, 2]) {
        const chances = candidates(SCORES, { temperature, topK }).map(({ chance }) => chance);
        expect(chances.reduce((a, b) => a + b)).toBeCloseTo(1, 12);
        expect(chances.filter((chance) => chance > 0)).toHaveLength(Math.min(topK, 4));
      }
  });

  test("a higher temperature evens the chances out, and at 0 only the likeliest is taken", () => {
    const first = (temperature: number) => candidates(SCORES, { temperature, topK: 4 })[0]!.chance;
    expect(first(0)).toBe(1);
    expect([first(0.5), first(1), first(2)]).toEqual([first(0.5), first(1), first(2)].sort((a, b) => b - a));
  });

  test("numbers from 0 to 1 take tokens as often as their chances say", () => {
    const found = candidates(SCORES, { temperature: 1, topK: 3 });
    const counts = new Map<number, number>();
    for (let at = 0; at < 10_000; at++) {
      const token = taken(found, at / 10_000);
      counts.set(token, (counts.get(token) ?? 0) + 1);
    }
    for (const { token, chance } of found) expect(Math.abs((counts.get(token) ?? 0) / 10_000 - chance)).toBeLessThan(2e-4); // oxfmt-ignore
    expect(taken(found, 1 - 1e-16)).toBe(0);
  });

  test("surprise is the logarithm of the probability", () => {
    expect(surprise([0, 0], 1)).toBeCloseTo(Math.log(2), 12);
    expect(largestChange([0.25, 0.75], [0.5, 0.5])).toBe(0.25);
  });
});

describe("a decoder with its caches", () => {
  let hw: Attention;
  let decoder: Decoder;
  beforeAll(async () => {
    hw = await createAttention({ backend: "wasm", threads: 1 });
    const { config, bytes } = randomDecoder("text");
    decoder = await Decoder.create(hw, readDecoder(config, bytes));
  });
  afterAll(() => hw.dispose());

  const allOn = [
    [1, 1],
    [1, 1],
  ];
  const writing = (changes: Partial<Writing> = {}): Writing => ({
    ...{ beginning: "the word", seed: 3, dtype: "float32", ring: undefined, gains: [], temperature: 0.8, topK: 10 },
    ...changes,
  });
  const write = async (count: number, changes: Partial<Writing> = {}): Promise<Written> => {
    const writer = await Writer.begin(decoder, writing(changes));
    for (let token = 0; token < count; token++) await writer.write();
    const { written } = writer;
    writer.dispose();
    return written;
  };

  test("characters and tokens are each other's, and unknown characters are left out", () => {
    expect(textOf(tokensOf("In the\nend.", decoder.config), decoder.config)).toBe("In the\nend.");
    expect(textOf(tokensOf("a€b", decoder.config), decoder.config)).toBe("ab");
  });

  test("reading token by token says the same as reading at once", async () => {
    const tokens = tokensOf("the beginning", decoder.config);
    const whole = await decoder.session({ dtype: "float32" });
    const parts = await decoder.session({ dtype: "float32" });
    const said = await whole.read(tokens, allOn);
    let last = said;
    for (const token of tokens) last = await parts.read(Int32Array.of(token), allOn);
    expect(largestChange(last.scores, said.scores)).toBeLessThan(1e-4);
    said.weights.forEach((weights, layer) => expect(largestChange(weights, last.weights[layer]!)).toBeLessThan(1e-5));
  });

  test("the same seed writes the same text, and another seed another one", async () => {
    const [one, same, other] = [await write(20), await write(20), await write(20, { seed: 4 })];
    expect(same.tokens).toEqual(one.tokens);
    expect(other.tokens).not.toEqual(one.tokens);
    expect(one.tokens).toHaveLength("the word".length + 20);
  });

  test("a head that is off leaves the text with all heads beside it", async () => {
    const all = await write(20);
    const { twin, tokens } = await write(20, { gains: [[0, 1]] });
    expect(twin).toEqual(all.tokens);
    expect(tokens).not.toEqual(all.tokens);
    expect(all.twin).toBeUndefined();
  });

  test("smaller types take less memory and change chances more, float32 not at all", async () => {
    const { caches } = await write(30);
    const of = (name: CacheState["name"]) => caches.find((cache) => cache.name === name)!;
    expect(of("float32").change).toBeUndefined();
    expect(of("float16").bytes).toBe(of("float32").bytes / 2);
    expect(of("int8").bytes).toBeLessThan(of("float16").bytes);
    expect(of("int8").change).toBeGreaterThan(of("float16").change!);
    expect(of("float16").change).toBeLessThan(0.01);
    expect(caches.filter(({ isWriter }) => isWriter).map(({ name }) => name)).toEqual(["float32"]);
  });

  test("a ring keeps the first tokens and the last ones, and everything else has another memory", async () => {
    const { places, caches, weights } = await write(40, { ring: { keepFirst: 4, window: 16 } });
    expect(places).toEqual([0, 1, 2, 3, ...Array.from({ length: 16 }, (_, at) => 32 + at)]);
    expect(weights[0]).toHaveLength(2 * 20);
    const [float32, whole] = [caches[0]!, caches.find(({ name }) => name === "whole")!];
    expect([float32.tokens, whole.tokens]).toEqual([20, 48]);
    expect(float32.change).toBeGreaterThan(0);
    expect(whole.change).toBeUndefined();
  });

  test("a ring without first tokens keeps the last ones only", async () => {
    const { places } = await write(40, { ring: { keepFirst: 0, window: 20 } });
    expect(places).toEqual(Array.from({ length: 20 }, (_, at) => 28 + at));
  });

  test("weights are those of the definition, also in a ring that has dropped tokens", async () => {
    for (const ring of [undefined, { keepFirst: 4, window: 16 }]) {
      const writer = await Writer.begin(decoder, writing({ ring }));
      for (let token = 0; token < 30; token++) await writer.write();
      for (const { largest, numbers } of await writer.check()) {
        expect(largest).toBeLessThan(1e-5);
        expect(numbers).toBe(2 * (ring ? 20 : 38));
      }
      writer.dispose();
    }
  });

  test("a token that the visitor chooses is written", async () => {
    const writer = await Writer.begin(decoder, writing());
    await writer.write(7);
    expect(writer.written.tokens.at(-1)).toBe(7);
    writer.dispose();
  });

  test("sums end at the end of their line, and not before an answer", async () => {
    const { config, bytes } = randomDecoder("sums");
    const sums = await Decoder.create(hw, readDecoder(config, bytes));
    const writer = await Writer.begin(sums, writing({ beginning: "1+2=\n" }));
    expect(writer.isAtEnd).toBe(false);
    await writer.write(tokensOf("3", config)[0]);
    expect(writer.isAtEnd).toBe(false);
    await writer.write(tokensOf("\n", config)[0]);
    expect(writer.isAtEnd).toBe(true);
    writer.dispose();
    sums.dispose();
  });

  test("an endless text: the three caches agree until a ring is full", async () => {
    const tokens = tokensOf(decoder.config.sample!, decoder.config).subarray(0, 161);
    let last: Endless | undefined;
    for await (const found of endlessText(decoder, tokens, { window: 60, keepFirst: 4 })) last = found;
    expect([last!.whole.length, last!.sinks.length, last!.window.length]).toEqual([5, 5, 5]);
    for (const group of [0, 1])
      for (const other of [last!.sinks, last!.window]) expect(other[group]).toBeCloseTo(last!.whole[group]!, 4);
    expect(last!.sinks[4]).not.toBeCloseTo(last!.whole[4]!, 4);
  });
});

const STORIES: DecoderConfig = {
  ...{ kind: "text", words: storyWords(), start: "\n", end: "\n", source: "Stories" },
  ...{ layers: 2, heads: 2, width: 16, position: "rotary", context: 128 },
  figures: {
    parameters: 12_345,
    stories: {
      ...{ natsPerWord: 1, seed: 1, stories: 10 },
      choices: { place: 0.8, agreement: 1 },
      asked: { place: 10, agreement: 10 },
      written: { temperature: 0.7, stories: 5, sentences: 50, parse: 0.9, true: 0.8 },
    },
    withoutHead: [
      { layer: 0, head: 0, choices: { place: 0.79, agreement: 1 }, before: 0.9, earlier: 0 },
      { layer: 0, head: 1, choices: { place: 0.7, agreement: 0.94 }, before: 0, earlier: 0 },
      { layer: 1, head: 0, choices: { place: 0.2, agreement: 1 }, before: 0.6, earlier: 0 },
    ],
  },
};

describe("a decoder of words", () => {
  const shown = (text: string) => textOf(tokensOf(text, STORIES), STORIES);

  test("writes spaces, capital letters and quotes as people do", () => {
    for (const text of [
      "Kate and Ben lived near the park. She liked it very much.",
      "The teacher asked: “Who has the red ball?” Ben said: “I have it.” Now Kate had blue socks.",
      "“What colour is the ball?” asked the teacher. “It is red,” said Ben.",
      "Anna came home with tea, milk and salt.",
      "Ida called: “Rex, Rex!” She found Rex at the park.",
    ])
      expect(shown(text)).toBe(text);
  });

  test("reads small and capital letters and straight quotes", () => {
    expect(shown('KATE said: "I have it."')).toBe("Kate said: “I have it.”");
    expect(shown("kate had A ball")).toBe("Kate had a ball");
  });

  test("has one piece of the text for each token; the start has none", () => {
    const pieces = vocabularyOf(STORIES).pieces(tokensOf("Kate had tea, milk.", STORIES));
    expect(pieces).toEqual(["", "Kate", " had", " tea", ",", " milk", "."]);
    expect(unitOf(STORIES)).toBe("word");
  });
});

describe("words", () => {
  const { config } = randomDecoder("text");
  const cache = (name: CacheState["name"], bytes: number, change?: number, tokens = 20): CacheState => ({
    ...{ name, bytes, tokens, change },
    isWriter: name === "float32",
  });
  const caches = [cache("float32", 16_384), cache("float16", 8192, 0.0004), cache("int8", 4352, 0.0123)];
  const written = (tokens: readonly number[], twin?: readonly number[]): Written => ({
    ...{ tokens: Int32Array.from(tokens), begun: 2, twin: twin && Int32Array.from(twin) },
    ...{ scores: new Float32Array(0), weights: [], places: [], caches, speed: 50 },
  });

  test("the finding says what comes next, and what the cache takes", () => {
    const next = candidates([0, 2, 1, -1], { temperature: 1, topK: 4 });
    const said = finding(config, written([1, 2, 3]), next);
    expect(said).toBe(
      "After 3 characters “␣” has 64\u00a0%, “a” has 24\u00a0% to be taken next; keys and values take 16\u00a0KB.",
    );
    expect(faults(said)).toEqual([]);
    expect([sign("\n"), sign(" "), sign("x")]).toEqual(["⏎", "␣", "x"]);
  });

  test("the finding says the chance that the bars say, whatever temperature and top k are", () => {
    for (const temperature of [0, 0.1, 0.7, 1, 2])
      for (const topK of [1, 2, 40]) {
        const next = candidates([0, 2, 1, -1], { temperature, topK });
        const said = finding(config, written([1]), next);
        const shown = next.slice(0, 2).filter(({ chance }) => chance > 0);
        expect(said.match(/has ([^“]*\u00a0%)/g)).toEqual(shown.map(({ chance }) => `has ${percent(chance, 1)}`));
        expect(faults(said)).toEqual([]);
      }
  });

  test("the error of a cache is a change of a chance", () => {
    expect(caches.map(changeWords)).toEqual(["the reference", "4 · 10⁻⁴", "1.2 percentage points"]);
    expect(changeWords(cache("float16", 1, 0))).toBe("no change");
    expect(changeWords(cache("float16", 1, 0.002))).toBe("0.20 percentage points");
  });

  test("what the caches hold", () => {
    expect(cacheWords(caches, config)).toBe(
      "Each token adds 2 layers × 2 × 16 numbers; int8 takes 3.8 times less than float32. Memory comes in blocks, so it grows in steps.",
    );
    expect(cacheWords([...caches, cache("whole", 1, undefined, 300)], config)).toMatch(
      /The ring holds 20 tokens of 300/,
    );
  });

  test("a start that is kept and not shown is named, so that the table and the finding may count differently", () => {
    const started = { ...config, start: "\n" };
    expect(cacheWords(caches, started)).toMatch(
      /One token marks the start of the text\. It is kept too, and is not shown\.$/,
    );
    expect(cacheWords(caches, config)).not.toMatch(/start of the text/);
  });

  test("the twin: where the text goes another way", () => {
    const off = [{ layer: 1, head: 0 }];
    expect(twinWords(config, written([1, 2]), off)).toBe("");
    expect(twinWords(config, written([1, 2], [1, 2]), off)).toMatch(/write on, and compare/);
    expect(twinWords(config, written([1, 2, 3], [1, 2, 3]), off)).toMatch(/the same so far\.$/);
    expect(twinWords(config, written([1, 2, 3], [1, 2, 4]), off)).toBe(
      "Without layer 1 head 1 the text goes another way from character 3 on. With all heads on it is:",
    );
  });

  test.each([
    ["123+456=579", false, "123 + 456 = 579 is right."],
    ["123+456=578\n", false, "123 + 456 is 579, and the model says 578."],
    ["7+5=21", true, "7 + 5 = 12 is right. The answer is written from its last digit to its first, as on paper."],
    ["7+5=", false, ""],
    ["Kate and Ben", false, ""],
  ])("the sum %j", (text, isReversed, said) => expect(sumWords(text, isReversed)).toBe(said));

  test("what the model cannot read is said, not left out in silence", () => {
    const sums = randomDecoder("sums").config;
    for (const sum of ["", "1", "12+", "123+456=", "1+2=3"]) expect([sum, unreadWords(sum, sums)]).toEqual([sum, ""]);
    expect(unreadWords("12x+3=", sums)).toBe("This model does not know “x”, and leaves out what it does not know.");
    expect(unreadWords("1234+5=", sums)).toMatch(/^It reads “1234\+5=”, which is no sum\. A sum is two numbers/);
    expect(unreadWords("hello 👩‍🚀", sums)).toMatch(
      /^This model does not know “h”, “e”, “l”, “o”, “␣” and 1 other character, .* Nothing of this can be read\. A sum is/,
    );
    expect(unreadWords(BEGINNINGS.text, config)).toBe("");
  });

  test("a model of words names the words that it does not know", () => {
    expect(unreadWords(BEGINNINGS.text, STORIES)).toBe("");
    for (const begin of Object.values(STORY_BEGINNINGS))
      expect([begin, unreadWords(begin, STORIES)]).toEqual([begin, ""]);
    expect(unreadWords("Kate had a red dragon.", STORIES)).toBe(
      "This model does not know the word “dragon”, and leaves out what it does not know.",
    );
    expect(unreadWords("In the beginning God said", STORIES)).toMatch(/^This model does not know the words “In”, “beginning” and “God”,/); // oxfmt-ignore
  });

  test("the grammar judges a story so far, and says when it has ended", () => {
    const said = (text: string, begun = 0) => storyVerdict(STORIES, { tokens: tokensOf(text, STORIES), begun });
    const beginning = "Kate and Ben lived near the park. Kate had a red ball.";
    expect(said("Kate and Ben")).toBe("");
    expect(said(`${beginning} Kate had`)).toBe(
      "The grammar finds 2 sentences, and no fault: each is true in its story.",
    );
    expect(said(`${beginning} The red ball belong to Kate. Ben liked it.`)).toBe(
      "The grammar finds 4 sentences: 1 of another grammar, and 1 not true in this story. The first of these is “The red ball belong to Kate.”",
    );
    expect(said(`${beginning} The red ball belong to Kate.`)).toMatch(
      /^The grammar finds 3 sentences: .+\. It is “The red ball belong to Kate\.”$/,
    );
    expect(said(`${beginning}\n`)).toMatch(/The story has ended\. Another seed tells another one\.$/);
    expect(said("\n", 2)).toBe(""); // nothing is written yet
    expect(storyVerdict(config, { tokens: Int32Array.of(0, 0), begun: 0 })).toBe("");
  });

  test("what heads are for: the losses of a head that is off, the largest first, and where it looks", () => {
    expect(choiceWords(STORIES)).toEqual(["agreement (was or were): 100\u00a0%", "the place: 80\u00a0%"]);
    expect(jobWords(STORIES)).toEqual([
      "Layer 2, head 1 looks at the word before: without it “the place” falls from 80\u00a0% to 20\u00a0%.",
      "Layer 1, head 2: without it “the place” falls from 80\u00a0% to 70\u00a0% and “agreement (was or were)” falls from 100\u00a0% to 94\u00a0%.",
    ]);
    for (const words of jobWords(STORIES)) expect(faults(words)).toEqual([]);
    expect(jobWords(config)).toEqual([]);
  });

  const endless: Endless = { whole: [3, 2, 2], sinks: [3, 2.1, 2.3], window: [3, 4, 5], group: 32 };

  test("what rings cost is said once they are full", () => {
    expect(endlessWords(config, endless, 64)).toBe(
      "After character 64, where the rings are full: 2.00 nats a character with all tokens, 2.30 with a ring that keeps the first ones, 5.00 with a ring of the last ones only. Here it helps to keep the first tokens: it saves 2.70 nats.",
    );
    expect(endlessWords(config, endless, 96)).toBe("");
  });

  test("what the first tokens are worth to a ring is said as it was measured", () => {
    const said = (last: number) => endlessWords(config, { ...endless, window: [3, 4, last] }, 64);
    expect(said(2.296)).toMatch(/2\.30 with a ring of the last ones only\. Here it makes no difference/);
    expect(endlessWords({ ...config, context: 64 }, endless, 64)).toMatch(/The model is made for 64 characters\.$/);
    expect(said(2.204)).toMatch(/Here it does not help .+: as many more of the last ones save 0\.10 nats\.$/);
  });

  test("the model says what it is and what it can do", () => {
    expect(modelWords(config)).toMatch(
      /^12.3 thousand parameters: 2 layers of 2 heads, 16 wide.*4\.10 nats a character/,
    );
    expect(modelWords(randomDecoder("sums").config)).toMatch(/it answers 0\u00a0% exactly/);
    expect(speedWords(config, 123.4, 2)).toBe("123 characters a second · 2 threads");
    expect(speedWords(config, undefined, 1)).toBe("1 thread");
  });
});

describe("settings", () => {
  const read = (query: string) => new State(fields, new URLSearchParams(query)).values;

  test("heads that are off become factors of their layers", () => {
    expect(gainsOf(read(""))).toEqual([]);
    expect(gainsOf(read("off=1.2,3.1"))).toEqual([[1, 0], [], [0]]);
    expect(switched("1.2", { layer: 1, head: 1 })).toBe("");
    expect(placesOf("1.2,0.3,x,12.11")).toEqual([
      { layer: 1, head: 1 },
      { layer: 12, head: 10 },
    ]);
  });

  test("both rings keep the same number of tokens", () => {
    expect(ringOf(read("ring=sinks&window=32&keep=4"))).toEqual({ keepFirst: 4, window: 32 });
    expect(ringOf(read("ring=window&window=32&keep=4"))).toEqual({ keepFirst: 0, window: 36 });
    expect(ringOf(read(""))).toBeUndefined();
  });

  test("each model has a beginning", () => {
    expect(read("").begin).toBe(BEGINNINGS.text);
    expect(read("model=sums&begin=1%2B2%3D").begin).toBe("1+2=");
  });
});
