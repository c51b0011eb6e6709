// The decoders that the lab ships can do what the files beside them say.

import { readFileSync, statSync } from "node:fs";

import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createAttention, type Attention } from "headwise";
import { flatten, random } from "headwise/train";

import { Characters } from "../../web/demo/train/characters.js";
import { asParameters, Model, type PositionKind } from "../../web/demo/train/model.js";
import { REPEAT_CHARACTERS } from "../../web/demo/train/repeat.js";
import { readStored } from "../../web/demo/train/storedWeights.js";
import { exactShare, SUM_CHARACTERS } from "../../web/demo/train/sums.js";
import { copiedBy } from "../../web/demo/train/tasks.js";
import { natsPerCharacter } from "../../web/demo/train/text.js";

const FOLDER = "web/demo/decoders";

interface Facts {
  readonly characters: string;
  readonly layers: number;
  readonly heads: number;
  readonly width: number;
  readonly feedForward: number;
  readonly position: PositionKind;
  readonly context: number;
  readonly sample: string;
  readonly figures: {
    readonly natsPerCharacter: number;
    readonly exact: number;
    readonly copied: number;
    readonly parameters: number;
  };
}

let hw: Attention;
beforeAll(async () => {
  hw = await createAttention({ backend: "wasm", variant: "simd", threads: 1 });
});
afterAll(() => hw.dispose());

const factsOf = (kind: string) => JSON.parse(readFileSync(`${FOLDER}/${kind}.json`, "utf8")) as Facts;

async function shipped(
  kind: "text" | "sums" | "repeat",
): Promise<{ facts: Facts; model: Model; characters: Characters }> {
  const facts = factsOf(kind);
  const { layers, heads, width, feedForward, position, context } = facts;
  const characters = new Characters(facts.characters);
  const architecture = {
    ...{ vocabulary: characters.count, width, layers, heads },
    ...{ position, length: context, feedForward },
  };
  const parameters = asParameters(readStored(readFileSync(`${FOLDER}/${kind}.safetensors`)));
  return { facts, model: await Model.create(hw, architecture, parameters), characters };
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
    const { facts, model, characters } = await shipped("sums");
    expect(characters.all).toBe(SUM_CHARACTERS.all);
    expect(facts.figures.exact).toBeGreaterThanOrEqual(0.99);
    expect(await exactShare(model, random(7), 300)).toBeGreaterThanOrEqual(0.98); // 300 sums: 3 more may be wrong
    model.dispose();
  });

  test("repeat letters in orders that they have not seen: at least 99 % of them are expected", async () => {
    const { facts, model, characters } = await shipped("repeat");
    expect(characters.all).toBe(REPEAT_CHARACTERS.all);
    expect(facts.figures.copied).toBeGreaterThanOrEqual(0.99);
    expect(await copiedBy(model, 20)).toBeGreaterThanOrEqual(0.99);
    model.dispose();
  });

  test("predict text that they have not seen about as well as it says", async () => {
    const { facts, model, characters } = await shipped("text");
    const nats = await natsPerCharacter(model, [characters.ids(facts.sample)], facts.context);
    // the sample is 1,500 characters of a hundred thousand: a chapter may be easier or harder than the others
    expect(Math.abs(nats - facts.figures.natsPerCharacter)).toBeLessThan(0.25);
    expect(nats).toBeLessThan(Math.log(characters.count) / 2);
    model.dispose();
  });
});
