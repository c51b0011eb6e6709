// The experiments of the room Generate: what each changes, what is seen, and its control, with the stored decoder.

import { readFileSync } from "node:fs";

import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createAttention, type Attention } from "headwise";

import { Decoder } from "../../web/demo/generate/decoder.js";
import { readDecoder, tokensOf, vocabularyOf } from "../../web/demo/generate/decoderFile.js";
import { candidates } from "../../web/demo/generate/sampling.js";
import type { CopyingResult, ExperimentOrder, ExperimentResult, SwapResult, WeightResult } from "../../web/demo/lab/engine/experimentProtocol.js"; // oxfmt-ignore
import { Experimenter } from "../../web/demo/lab/engine/experimenter.js";
import { orderOf, settingsOf, trials, type Trials } from "../../web/demo/lab/rooms/generate/experiments.js";
import { experimentWords } from "../../web/demo/lab/rooms/generate/experimentWords.js";
import { fields, gainsOf, placesOf } from "../../web/demo/lab/rooms/generate/settings.js";
import { State } from "../../web/demo/lab/shell/state.js";
import { faults } from "./labGrid.js";

let hw: Attention;
let decoder: Decoder;
const results = new Map<ExperimentResult["kind"], ExperimentResult>();
const found = <T extends ExperimentResult>(kind: T["kind"]) => results.get(kind) as T;
const said = (kind: ExperimentResult["kind"]) => experimentWords(results.get(kind)!, decoder.config.heads);

const WRITTEN = new State(trials).values;

/** What an experiment finds, with the texts of the room or others. */
async function tried(kind: ExperimentOrder["kind"], own: Partial<Trials> = {}): Promise<ExperimentResult> {
  const order = orderOf(kind, { ...WRITTEN, ...own }, decoder.config);
  if (typeof order === "string") throw new Error(order);
  return new Experimenter(decoder, order.taking).run(order);
}

beforeAll(async () => {
  hw = await createAttention({ backend: "wasm", threads: 1 });
  const read = (name: string) => readFileSync(new URL(`../../web/demo/decoders/${name}`, import.meta.url));
  decoder = await Decoder.create(hw, readDecoder(JSON.parse(read("text.json").toString()), read("text.safetensors")));
  for (const kind of ["swap", "copying", "weight"] as const) results.set(kind, await tried(kind));
});
afterAll(() => {
  decoder.dispose();
  hw.dispose();
});

test("one word is swapped: the head that moves most moves to the word that comes next, and not for the control", () => {
  const { moved, before, after, control } = found<SwapResult>("swap");
  expect([before.on, before.word, after.on, after.word]).toEqual(["star", "star", "rain", "rain"]);
  expect(moved).toBeGreaterThan(0.9);
  expect(control.moved).toBeLessThan(0.05);
  expect(control.word).toBe(before.word);
  expect(said("swap").seen).toMatch(/^The last “moon” is now “star”\. Of all heads layer 2 head \d moves most: 9\d\u00a0% of its weight\. It looked at “star” \(8\d\u00a0%\), and looks at “rain” now \(more than 99\u00a0%\)\. The model expected “star” \(9\d\u00a0%\), and expects “rain” \([^)]+\) now\.$/); // oxfmt-ignore
  expect(said("swap").control).toMatch(/^The control: another word, “beach”, becomes “station” instead\./);
});

test("without the heads that copy a list does not go on; without one of them, or without as many others, it does", () => {
  const { heads, others, alone, left, control, without, expected } = found<CopyingResult>("copying");
  expect(heads.length).toBeGreaterThan(1);
  expect(others).toHaveLength(heads.length);
  expect(Math.min(alone, control)).toBeGreaterThan(0.9);
  expect(left).toBeLessThan(0.05);
  expect(without.word).not.toBe(expected.word);
  expect(said("copying").seen).toContain("of their weight there: all heads of layer 2.");
  expect(said("copying").control).toMatch(
    /^The control: as many other heads are off, all heads of layer 3\. “rice” has/,
  );
});

test("of two heads that look at the answer one is needed; without it the other one looks there as before", () => {
  const { needed, spared, still, expected, without, control } = found<WeightResult>("weight");
  expect(Math.min(needed.share, spared.share, still)).toBeGreaterThan(0.9);
  expect([expected.word, without.word, control.word]).toEqual(["chair", "bench", "chair"]);
  expect(said("weight").seen).toMatch(/the model expects “bench” \(9\d\u00a0%\), though layer 2 head \d has .* on “chair” then, too\.$/); // oxfmt-ignore
});

test("the model knows every word of the texts that stand there first", () => {
  for (const text of Object.values(WRITTEN)) expect(vocabularyOf(decoder.config).unknown(text)).toEqual([]);
});

describe("a text of the visitor's", () => {
  const words = (result: ExperimentResult) => experimentWords(result, decoder.config.heads);

  test("swaps the words that he names, at the latest place of the word", async () => {
    const song = "One day Emma met Tom at the farm. Emma sang: “Wind snow fire sand.” Tom sang: “Wind snow";
    const result = (await tried("swap", { song, from: "SNOW", to: "fire" })) as SwapResult;
    expect(result.order.swap).toEqual({ from: "snow", to: "fire", text: song.replace(/snow$/, "fire") });
    expect(result.order.control).toMatchObject({ from: "farm", to: "station" });
    expect([result.before.word, result.after.word]).toEqual(["fire", "sand"]);
    expect(words(result).seen).toMatch(/^The last “snow” is now “fire”\./);
    expect(words(result).control).toMatch(/“farm”, becomes “station” instead/);
  });

  test.each<[string, Partial<Trials>, RegExp]>([
    ["a word that the model does not know", { to: "rocket" }, /does not know “rocket” as one word/],
    ["two words", { to: "red ball" }, /does not know “red ball” as one word/],
    ["no word", { to: "" }, /as one word/],
    ["a sign", { to: "?" }, /does not know “\?” as one word/],
    ["the same word", { from: "star", to: "Star" }, /Both words are “star”/],
    ["a word that the text does not have", { from: "kite" }, /“kite” is no word of the text/],
    ["a word inside another one", { song: "Anna sang: “Moonlight star", from: "moon", to: "rain" }, /is no word of the text/], // oxfmt-ignore
    ["a text without another word", { song: "“Sun moon star rain. Sun moon" }, /no other word for the control/],
    ["a text that cannot be read", { song: "Волк 🐺" }, /Nothing of this text can be read/],
    ["a text that is too long", { song: "moon ".repeat(200) }, /has 1,000 signs\. At most 600 are read/],
  ])("is refused with the reason: %s", (_, own, reason) => {
    expect(orderOf("swap", { ...WRITTEN, ...own }, decoder.config)).toMatch(reason);
  });

  test("is told that nothing is copied where the next word is new", async () => {
    for (const kind of ["copying", "weight"] as const) {
      const story = "Kate and Ben lived near the";
      const result = await tried(kind, { list: story, question: story });
      expect(result.kind).toBe("tooFew");
      expect(words(result).seen).toMatch(
        /^With all heads the model expects “\w+” \([^)]+\)\. The text does not have that word/,
      );
      expect(words(result).control).toBe("");
    }
  });

  test("is never said to be changed by a head whose loss does not change it", async () => {
    const texts = [
      "Tom sang: “Sun moon star rain.” Mary sang: “Sun moon star",
      "Kate had a red ball. Ben had blue socks. Kate gave the red",
      "Ida bought milk, rice and milk, rice",
      "sun sun sun sun sun",
      "Kate.",
    ];
    for (const own of texts)
      for (const kind of ["copying", "weight"] as const) {
        const result = await tried(kind, { list: own, question: own });
        const { seen, control } = words(result);
        for (const sentence of [seen, control])
          expect(faults(sentence.replaceAll(/layer \d head \d/gi, "this head"))).toEqual([]);
        if (result.kind === "weight")
          expect(seen.includes("all the same")).toBe(result.without.word === result.expected.word);
        if (result.kind === "copying") {
          expect(seen.includes("instead")).toBe(result.without.word !== result.expected.word);
          expect(/as many|another head is/.test(control)).toBe(result.others.length === result.heads.length);
        }
      }
  });
});

test("no sentence of an experiment has a fault", () => {
  for (const kind of results.keys()) {
    const { seen, control } = said(kind);
    for (const sentence of [seen, control])
      // "layer 2 head 5" is a name, not two heads.
      expect(faults(sentence.replaceAll(/layer \d head \d/gi, "this head"))).toEqual([]);
  }
});

test("the settings of an experiment show what it says: the room's bars have its word and its chance", async () => {
  for (const result of results.values()) {
    const state = new State(fields);
    state.set(settingsOf(result));
    const { values } = new State(fields, state.query); // as from a shared address
    const tokens = tokensOf(values.begin, decoder.config);
    const gains = Array.from({ length: decoder.config.layers }, (_, layer) =>
      Array.from({ length: decoder.config.heads }, (__, head) => gainsOf(values)[layer]?.[head] ?? 1),
    );
    const [looked] = await decoder.look(tokens, [tokens.length - 1], gains);
    const { token, chance } = candidates(looked!.scores, values)[0]!;
    const shown = result.kind === "swap" ? result.after : (result as CopyingResult | WeightResult).without;
    expect(vocabularyOf(decoder.config).tokens[token]).toBe(shown.word);
    expect(chance).toBeCloseTo(shown.chance, 6);
    expect(placesOf(values.head)).toHaveLength(1);
  }
});
