import { describe, expect, test } from "@jest/globals";

import { headName } from "../../web/demo/model/heads.js";
import { fields as flashFields } from "../../web/demo/lab/rooms/flash/settings.js";
import { fields as generateFields, placesOf } from "../../web/demo/lab/rooms/generate/settings.js";
import { fields as lessonFields } from "../../web/demo/lab/rooms/lesson/settings.js";
import { fields as matrixFields, headOf } from "../../web/demo/lab/rooms/matrix/settings.js";
import { fields as positionsFields } from "../../web/demo/lab/rooms/positions/settings.js";
import { waveWords } from "../../web/demo/lab/rooms/positions/words.js";
import { fields as sentenceFields, hiddenOf } from "../../web/demo/lab/rooms/sentence/settings.js";
import { changesOf, modelFields, orderOf } from "../../web/demo/lab/rooms/tensors/model/settings.js";
import { changesWords } from "../../web/demo/lab/rooms/tensors/model/words.js";
import { fields as trainFields, placeOf as trainPlaceOf } from "../../web/demo/lab/rooms/train/settings.js";
import { headWords as trainWords } from "../../web/demo/lab/rooms/train/words.js";
import type { Fields, Values } from "../../web/demo/lab/shell/field.js";
import { placeOf } from "../../web/demo/lab/shell/headPlace.js";
import { headLabel, headWords } from "../../web/demo/lab/shell/headWords.js";
import { State } from "../../web/demo/lab/shell/state.js";

const stateOf = <F extends Fields>(fields: F, query: string) => new State(fields, new URLSearchParams(query));

/** A setting of a room: its address, and what the page says about it. */
function counted<F extends Fields>(
  room: string,
  query: string,
  fields: F,
  said: (values: Values<F>) => string,
  words: string,
) {
  return { room, query, words, said: (asked: string) => said(stateOf(fields, asked).values), written: () => stateOf(fields, query).query.toString() }; // oxfmt-ignore
}

/** As the rooms Sentence and Lesson say it. */
const encoderHead = ({ head }: { head: number }) => headName({ layer: Math.floor(head / 4), head: head % 4 });
const nth = (index: number) => `the ${index + 1}.`;

const FACTS = { layers: 3, heads: 4, hasTokenizer: true, isCausal: true, type: "gpt2" } as Parameters<
  typeof orderOf
>[1];
const order = (values: Values<typeof modelFields>) => orderOf(values, FACTS, false);

const SETTINGS = [
  counted("generate", "head=2.3", generateFields, ({ head }) => headWords(placeOf(head)!), "layer 2 head 3"),
  counted("generate", "off=2.3", generateFields, ({ off }) => headWords(placesOf(off)[0]!), "layer 2 head 3"),
  counted("train", "head=2.3", trainFields, ({ head }) => trainWords(trainPlaceOf(head, 4)!), "layer 2 head 3"),
  counted("train", "head=control.3", trainFields, ({ head }) => trainWords(trainPlaceOf(head, 4)!), "the control’s head 3"),
  counted("tensors", "head=2.3", modelFields, ({ head }) => headWords(placeOf(head)!), "layer 2 head 3"),
  counted("tensors", "changes=2.3%3Aoff", modelFields, ({ changes }) => changesWords(changesOf(changes)), "layer 2 head 3 is off"),
  counted("tensors", "at=4", modelFields, (values) => nth(order(values).at!), "the 4."),
  counted("sentence", "head=2.3", sentenceFields, encoderHead, "layer 2 head 3"),
  counted("sentence", "sentence=2", sentenceFields, ({ sentence }) => nth(sentence), "the 2."),
  counted("sentence", "from=2&to=5", sentenceFields, ({ from, to }) => `${nth(from)} ${nth(to)}`, "the 2. the 5."),
  counted("sentence", "hidden=2%2C5", sentenceFields, (values) => hiddenOf(values, 8).map(nth).join(), "the 2.,the 5."),
  counted("lesson", "head=2.3", lessonFields, encoderHead, "layer 2 head 3"),
  counted("lesson", "word=4", lessonFields, ({ word }) => nth(word), "the 4."),
  counted("matrix", "numHeads=3&head=3", matrixFields, (values) => headLabel(headOf(values)), "head 3"),
  counted("positions", "query=2&key=5", positionsFields, ({ query, key }) => `${nth(query)} ${nth(key)}`, "the 2. the 5."),
  counted("positions", "pair=4", positionsFields, (values) => waveWords(values).split(",")[0]!, "Pair 4"),
  counted("flash", "step=3", flashFields, ({ step }) => `tile ${step + 1}`, "tile 3"),
]; // oxfmt-ignore

describe("an address counts from 1, as the page does", () => {
  test.each(SETTINGS)("#/$room?$query is $words", ({ query, said, words, written }) => {
    expect(said(query)).toBe(words);
    expect(written()).toBe(query);
  });
});

describe("an address that asks for head 0, or for layer 0, gets what the room shows without it", () => {
  test.each(["2.0", "0.2", "0", "-1.3", "1.x", "1", ""])("head %j is none", (name) => {
    expect(placeOf(name)).toBeUndefined();
    expect(trainPlaceOf(name, 4)).toBeUndefined();
    expect(placesOf(name)).toEqual([]);
    expect(changesOf(`${name}:off`)).toEqual([]);
    for (const fields of [sentenceFields, lessonFields])
      expect(stateOf(fields, `head=${name}`).values.head).toBe(fields.head.initial);
  });

  test.each(["3.1", "1.5"])("the encoder has no head %s", (name) => {
    for (const fields of [sentenceFields, lessonFields])
      expect(stateOf(fields, `head=${name}`).values.head).toBe(fields.head.initial);
  });

  test("head 0 of the toy is its first one", () => {
    expect(headOf(stateOf(matrixFields, "head=0").values)).toBe(0);
  });

  test("word 0 is chosen by the room, and so is token 0", () => {
    expect(stateOf(lessonFields, "word=0").values.word).toBe(lessonFields.word.initial);
    expect(stateOf(sentenceFields, "from=0&to=0").values).toMatchObject({ from: -1, to: -1 });
    expect(order(stateOf(modelFields, "at=0").values).at).toBeUndefined();
    expect(hiddenOf(stateOf(sentenceFields, "hidden=0,1").values, 8)).toEqual([0]);
  });
});
