// The decoders that the lab ships can do what the files beside them say.

import { readFileSync, statSync } from "node:fs";

import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createAttention, type Attention } from "headwise";
import { flatten, random } from "headwise/train";

import { vocabularyOf, type DecoderConfig } from "../../web/demo/generate/decoderFile.js";
import type { FactKind } from "../../web/demo/stories/shapes.js";
import { asParameters, Model } from "../../web/demo/train/model.js";
import { REPEAT_CHARACTERS } from "../../web/demo/train/repeat.js";
import { readStored } from "../../web/demo/train/storedWeights.js";
import { STORY_WORDS } from "../../web/demo/train/storyBatch.js";
import { choicesOf, judgedShares, unseenStories, type HeadLoss } from "../../web/demo/train/storyFigures.js";
import { exactShare, SUM_CHARACTERS } from "../../web/demo/train/sums.js";
import { copiedBy } from "../../web/demo/train/tasks.js";

const FOLDER = "web/demo/decoders";

type Facts = DecoderConfig & {
  readonly feedForward: number;
  readonly figures: { readonly copied?: number };
};

let hw: Attention;
beforeAll(async () => {
  hw = await createAttention({ backend: "wasm", variant: "simd", threads: 1 });
});
afterAll(() => hw.dispose());

const factsOf = (kind: string) => JSON.parse(readFileSync(`${FOLDER}/${kind}.json`, "utf8")) as Facts;

async function shipped(kind: "text" | "sums" | "repeat"): Promise<{ facts: Facts; model: Model }> {
  const facts = factsOf(kind);
  const { layers, heads, width, feedForward, position, context } = facts;
  const vocabulary = vocabularyOf(facts).count;
  const architecture = { vocabulary, width, layers, heads, position, length: context, feedForward };
  const parameters = asParameters(readStored(readFileSync(`${FOLDER}/${kind}.safetensors`)));
  return { facts, model: await Model.create(hw, architecture, parameters) };
}

/** How far a share of so many cases may be from the share of the file: four deviations, and a case. */
function bound(share: number, cases: number): number {
  return 4 * Math.sqrt((share * (1 - share)) / cases) + 1 / cases;
}

describe("The decoders of the lab", () => {
  test("take at most 1 MB together in Generate, and 60 KB in Your model; none has more than a million numbers", () => {
    const kinds = ["text", "sums", "repeat"];
    const [text, sums, repeat] = kinds.map((kind) => statSync(`${FOLDER}/${kind}.safetensors`).size);
    expect(text! + sums!).toBeLessThanOrEqual(1_000_000);
    expect(repeat).toBeLessThanOrEqual(60_000);
    for (const kind of kinds) {
      const tensors = Object.values(flatten(readStored(readFileSync(`${FOLDER}/${kind}.safetensors`))));
      const count = tensors.reduce((sum, { data }) => sum + data.length, 0);
      expect(count).toBe(factsOf(kind).figures.parameters);
      expect(count).toBeLessThanOrEqual(1_000_000);
    }
  });

  test("add numbers that they have not seen: at least 99 % of the sums are right in every digit", async () => {
    const { facts, model } = await shipped("sums");
    expect(facts.characters).toBe(SUM_CHARACTERS.all);
    expect(facts.figures.exact).toBeGreaterThanOrEqual(0.99);
    expect(await exactShare(model, random(7), 300)).toBeGreaterThanOrEqual(0.98); // 300 sums: 3 more may be wrong
    model.dispose();
  });

  test("repeat letters in orders that they have not seen: at least 99 % of them are expected", async () => {
    const { facts, model } = await shipped("repeat");
    expect(facts.characters).toBe(REPEAT_CHARACTERS.all);
    expect(facts.figures.copied).toBeGreaterThanOrEqual(0.99);
    expect(await copiedBy(model, 20)).toBeGreaterThanOrEqual(0.99);
    model.dispose();
  });

  test("choose the right words in stories that they have not seen as often as the file says", async () => {
    const { facts, model } = await shipped("text");
    expect(facts.words).toEqual(STORY_WORDS.tokens);
    const known = facts.figures.stories!;
    for (const kind of ["agreement", "pronoun", "it/them", "possessive", "list"] as const)
      expect([kind, known.choices[kind]! >= 0.99]).toEqual([kind, true]);
    for (const kind of ["recipient", "owner"] as const)
      expect([kind, known.choices[kind]! >= 0.9]).toEqual([kind, true]);
    expect(known.written.parse).toBeGreaterThanOrEqual(0.92);
    const { choices, asked, natsPerWord } = await choicesOf(model, unseenStories(60, 11));
    expect(Math.abs(natsPerWord - known.natsPerWord)).toBeLessThan(0.1);
    for (const [kind, share] of Object.entries(choices) as [FactKind, number][]) {
      const fromFile = known.choices[kind]!;
      // The words of a story are not drawn one by one: a third of them counts.
      expect([kind, Math.abs(share - fromFile) <= bound(fromFile, asked[kind]! / 3)]).toEqual([kind, true]);
    }
    model.dispose();
  });

  test("write sentences of the grammar as often as the file says", async () => {
    const { facts, model } = await shipped("text");
    const { written } = facts.figures.stories!;
    const found = await judgedShares(model, 4, written.temperature, 12);
    expect(found.sentences).toBeGreaterThan(25);
    expect(Math.abs(found.parse - written.parse)).toBeLessThanOrEqual(bound(written.parse, found.sentences / 3));
    expect(Math.abs(found.true - written.true)).toBeLessThanOrEqual(bound(written.true, found.sentences / 3));
    model.dispose();
  });

  test("lose as much as the file says without the head that is worth most", async () => {
    const { facts, model } = await shipped("text");
    const { stories, withoutHead } = facts.figures;
    const lost = ({ choices }: HeadLoss) => Math.max(...Object.entries(choices).map(([kind, share]) => stories!.choices[kind as FactKind]! - share)); // oxfmt-ignore
    const { layer, head, choices } = withoutHead!.toSorted((a, b) => lost(b) - lost(a))[0]!;
    model.headGains[layer]![head] = 0;
    const found = await choicesOf(model, unseenStories(40, 13));
    for (const [kind, share] of Object.entries(found.choices) as [FactKind, number][])
      expect([kind, Math.abs(share - choices[kind]!) <= bound(choices[kind]!, found.asked[kind]! / 3)]).toEqual([kind, true]); // oxfmt-ignore
    model.dispose();
  });
});
