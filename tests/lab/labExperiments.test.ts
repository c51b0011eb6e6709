// The experiments of the room Generate: what each changes, what is seen, and its control, with the stored decoder.

import { readFileSync } from "node:fs";

import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { createAttention, type Attention } from "headwise";

import { Decoder } from "../../web/demo/generate/decoder.js";
import { readDecoder, tokensOf, vocabularyOf } from "../../web/demo/generate/decoderFile.js";
import { candidates } from "../../web/demo/generate/sampling.js";
import type { CopyingResult, ExperimentOrder, ExperimentResult, SwapResult, WeightResult } from "../../web/demo/lab/engine/experimentProtocol.js"; // oxfmt-ignore
import { Experimenter } from "../../web/demo/lab/engine/experimenter.js";
import { EXPERIMENTS, settingsOf } from "../../web/demo/lab/rooms/generate/experiments.js";
import { experimentWords } from "../../web/demo/lab/rooms/generate/experimentWords.js";
import { fields, gainsOf, placesOf } from "../../web/demo/lab/rooms/generate/settings.js";
import { State } from "../../web/demo/lab/shell/state.js";
import { faults } from "./labGrid.js";

let hw: Attention;
let decoder: Decoder;
const results = new Map<ExperimentOrder["kind"], ExperimentResult>();
const found = <T extends ExperimentResult>(kind: T["kind"]) => results.get(kind) as T;
const said = (kind: ExperimentOrder["kind"]) => experimentWords(results.get(kind)!, decoder.config.heads);

beforeAll(async () => {
  hw = await createAttention({ backend: "wasm", threads: 1 });
  const read = (name: string) => readFileSync(new URL(`../../web/demo/decoders/${name}`, import.meta.url));
  decoder = await Decoder.create(hw, readDecoder(JSON.parse(read("text.json").toString()), read("text.safetensors")));
  for (const order of Object.values(EXPERIMENTS))
    results.set(order.kind, await new Experimenter(decoder, order.taking).run(order));
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
  expect(said("swap").control).toMatch(/^The control: another word, “beach”, becomes “park” instead\./);
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
    const shown = result.kind === "swap" ? result.after : result.without;
    expect(vocabularyOf(decoder.config).tokens[token]).toBe(shown.word);
    expect(chance).toBeCloseTo(shown.chance, 6);
    expect(placesOf(values.head)).toHaveLength(1);
  }
});
