import { crossEntropy, type Random } from "headwise/train";

import { Characters } from "./characters.js";
import type { Model } from "./model.js";
import type { Batch, TokenTensor } from "./repeat.js";

/** One part of a text in so many is held out: the model never sees it. */
const HELD_OUT_OF = 40;

/** Between the parts that follow each other. */
const GAP = "\n\n";

/** Characters of a text of one's own that make a part. */
const PART = 4000;

/** A text in two: what the model learns from, and parts that it does not see. */
export interface Corpus {
  readonly characters: Characters;
  readonly train: Int32Array;
  readonly heldOut: readonly string[];
}

/** @param parts - The parts of the text, such as chapters: whole ones are held out. */
export function corpusOf(parts: readonly string[]): Corpus {
  const isHeldOut = (n: number) => n % HELD_OUT_OF === HELD_OUT_OF / 2;
  const characters = Characters.of(parts.join(GAP));
  return {
    characters,
    train: characters.ids(parts.filter((_, n) => !isHeldOut(n)).join(GAP)),
    heldOut: parts.filter((_, n) => isHeldOut(n)),
  };
}

/** The parts of a text that has no chapters: some thousand characters each, cut at ends of lines. */
export function partsOf(text: string): string[] {
  const parts: string[] = [];
  let part = "";
  for (const line of text.replaceAll("\r\n", "\n").split("\n")) {
    part += part ? `\n${line}` : line;
    if (part.length >= PART) {
      parts.push(part);
      part = "";
    }
  }
  return part ? [...parts, part] : parts;
}

/** A batch of pieces from anywhere in the text. Every character counts. */
export function textBatch(source: Random, text: Int32Array, batch: number, length: number): Batch {
  const shape = [batch, length];
  const tokens = new Int32Array(batch * length);
  const targets = new Int32Array(batch * length);
  for (let start = 0; start < tokens.length; start += length) {
    const from = source.integer(text.length - length);
    tokens.set(text.subarray(from, from + length), start);
    targets.set(text.subarray(from + 1, from + length + 1), start);
  }
  return { tokens: { data: tokens, shape }, targets: { data: targets, shape } };
}

/**
 * Nats for each character of texts that the model has not seen. A text is read in windows of `length` that overlap by
 * half: each character counts once, with at least half a window before it where the text has that many.
 */
export async function natsPerCharacter(model: Model, texts: readonly Int32Array[], length: number): Promise<number> {
  let nats = 0;
  let characters = 0;
  for (const text of texts)
    for (const window of windowsOf(text, length)) {
      const { loss, count } = crossEntropy(await model.logits(window.tokens), window.targets);
      nats += loss * count;
      characters += count;
    }
  return nats / characters;
}

function* windowsOf(text: Int32Array, length: number): Generator<{ tokens: TokenTensor; targets: TokenTensor }> {
  let counted = 0; // characters that have been targets; the first one has nothing before it
  while (counted < text.length - 1) {
    const from = counted === 0 ? 0 : counted - length / 2;
    const data = text.slice(from, Math.min(from + length, text.length - 1));
    const targets = text.slice(from + 1, from + 1 + data.length).fill(-1, 0, counted - from);
    const shape = [1, data.length];
    yield { tokens: { data, shape }, targets: { data: targets, shape } };
    counted = from + data.length;
  }
}
