import { random, type AdamWOptions, type Random } from "headwise/train";

import { mostProbable } from "./learner.js";
import type { Architecture, Model, Parameters } from "./model.js";
import { copiedShare, REPEAT_CHARACTERS, repeatBatch, repeatSequence, type Batch } from "./repeat.js";
import {
  REPEATED_WORDS,
  repeatedBatch,
  STORY_WORDS,
  storiesBatch,
  storyBatch,
  type RepeatChoice,
} from "./storyBatch.js";
import {
  choicesOf,
  headLosses,
  judgedShares,
  unseenStories,
  type HeadLoss,
  type StoryFigures,
} from "./storyFigures.js";
import { exactShare, SUM_CHARACTERS, sumBatch } from "./sums.js";
import { natsPerCharacter, textBatch, type Corpus } from "./text.js";
import type { Vocabulary } from "./vocabulary.js";

/** Sequences in a batch. */
const TEXTS = 4;
const SUMS = 128;
const REPEATS = 32;
const STORIES = 16;

/** How a decoder of stories learns: first few words that are repeated; then stories, and repeats of more and more words. */
const [FEW_WORDS, FEW_UNTIL, ALL_FROM] = [24, 450, 1500];
/** Of so many batches later, three are of repeats, one of stories in a row, and three count only words with a true answer. */
const CYCLE = 10;
/** Unseen stories are drawn from it. */
const UNSEEN_SEED = 2_000_003;

/** What a stored model of the lab learns. */
export interface Task {
  readonly kind: "text" | "sums" | "repeat";
  readonly vocabulary: Vocabulary;
  readonly architecture: Architecture;
  /** The highest learning rate. */
  readonly learningRate: number;
  readonly optimizer: AdamWOptions;
  /** The standard deviation of the first weights. */
  readonly deviation: number;
  /** Sequences in a batch. */
  readonly batchSize: number;
  batch(source: Random, step: number): Batch;
  /** Changes the first weights. */
  prepare?(parameters: Parameters, source: Random): void;
  /** What the model can do on data that it has not seen. `quickly`: on a small part of them. */
  measure(model: Model, quickly: boolean): Promise<Figures>;
}

/** Measured on data that the model has not seen. */
export interface Figures {
  readonly natsPerCharacter?: number;
  /** The part of the sums that are right in every digit. */
  readonly exact?: number;
  /** The part of the repeated tokens that are expected. */
  readonly copied?: number;
  readonly stories?: StoryFigures;
  /** What each head is worth, for stories. */
  readonly heads?: readonly HeadLoss[];
}

/** The next character of a text. */
export function textTask({ characters, train, heldOut }: Corpus): Task {
  const length = 256;
  const texts = heldOut.map((part) => characters.ids(part));
  return {
    kind: "text",
    vocabulary: characters,
    architecture: {
      ...{ vocabulary: characters.count, width: 128, layers: 4, heads: 4 },
      ...{ position: "rotary", length, feedForward: 512 },
    },
    learningRate: 0.003,
    optimizer: { betas: [0.9, 0.98], weightDecay: 0.05 },
    deviation: 0.06,
    batchSize: TEXTS,
    batch: (source) => textBatch(source, train, TEXTS, length),
    measure: async (model, quickly) => ({
      natsPerCharacter: await natsPerCharacter(model, quickly ? texts.slice(0, 1) : texts, length),
    }),
  };
}

/** The next word of stories that a grammar writes. */
export function storyTask(): Task {
  const length = 256;
  return {
    kind: "text",
    vocabulary: STORY_WORDS,
    architecture: {
      ...{ vocabulary: STORY_WORDS.count, width: 96, layers: 3, heads: 6 },
      ...{ position: "rotary", length, feedForward: 384 },
    },
    learningRate: 0.003,
    optimizer: { weightDecay: 0 },
    deviation: 0.1,
    batchSize: STORIES,
    prepare: prepareForCopying,
    batch: (source, step) => {
      const part = step % CYCLE;
      if (step < FEW_UNTIL || part % 4 === 0) return repeatedBatch(source, repeatsAt(step));
      if (part === 5) return storiesBatch(source, STORIES / 2, length);
      return storyBatch(source, STORIES, part % 3 === 0 ? "facts" : "all");
    },
    measure: async (model, quickly) => {
      const stories = unseenStories(quickly ? 64 : 600, UNSEEN_SEED);
      const written = await judgedShares(model, quickly ? 16 : 100, 0.7, UNSEEN_SEED);
      return {
        stories: { stories: stories.length, seed: UNSEEN_SEED, ...(await choicesOf(model, stories)), written },
        ...(!quickly && { heads: await headLosses(model, stories.slice(0, 200)) }),
      };
    },
  };
}

/** Repeats of few words, and later of more and more, with lists among them. */
function repeatsAt(step: number): RepeatChoice {
  const grown = Math.min(1, Math.max(0, (step - FEW_UNTIL) / (ALL_FROM - FEW_UNTIL)));
  const words = Math.round(FEW_WORDS + grown * (REPEATED_WORDS - FEW_WORDS));
  return { rows: REPEATS, length: 40, words, lists: step < FEW_UNTIL ? 0 : 0.4 };
}

/**
 * First weights with which heads learn to copy sooner. Without a bias of the first norm, queries and keys have no
 * constant part, and no head can look at the word before, whatever the words are. Large feed-forward blocks would hide
 * the words from the heads.
 */
function prepareForCopying({ layers }: Parameters, source: Random): void {
  const [{ norm }] = layers as [Parameters["layers"][number]];
  norm.bias.data.set(source.normal(norm.bias.shape, 0.7).data);
  for (const { feedForward } of layers) {
    const { up, down } = feedForward!;
    for (const [at, weight] of up.weight.data.entries()) up.weight.data[at] = 0.3 * weight;
    for (const [at, weight] of down.weight.data.entries()) down.weight.data[at] = 0.02 * weight;
  }
}

/** The sum of two numbers of up to three digits. */
export function sumsTask(): Task {
  return {
    kind: "sums",
    vocabulary: SUM_CHARACTERS,
    architecture: {
      ...{ vocabulary: SUM_CHARACTERS.count, width: 64, layers: 2, heads: 4 },
      ...{ position: "rotary", length: 16, feedForward: 256 },
    },
    learningRate: 0.004,
    optimizer: { betas: [0.9, 0.98], weightDecay: 0.01 },
    deviation: 0.06,
    batchSize: SUMS,
    batch: (source) => sumBatch(source, SUMS),
    measure: async (model, quickly) => ({ exact: await exactShare(model, random(0), quickly ? 200 : 10_000) }),
  };
}

/** Letters in random order that are repeated, as in the room Train, with learned positions. */
export function repeatTask(): Task {
  const length = 64;
  const task = { tokens: length, vocabulary: REPEAT_CHARACTERS.count };
  return {
    kind: "repeat",
    vocabulary: REPEAT_CHARACTERS,
    architecture: {
      ...{ vocabulary: task.vocabulary, width: 64, layers: 2, heads: 4 },
      ...{ position: "learned", length, feedForward: 0 },
    },
    learningRate: 0.003,
    optimizer: { weightDecay: 0 },
    deviation: 0.1,
    batchSize: REPEATS,
    batch: (source) => repeatBatch(source, REPEATS, task),
    measure: async (model, quickly) => ({ copied: await copiedBy(model, quickly ? 20 : 500) }),
  };
}

/** The share of repeated tokens that a model expects, over sequences of their own seeds. */
export async function copiedBy(model: Model, sequences: number): Promise<number> {
  const { length: tokens, vocabulary } = model.architecture;
  let sum = 0;
  for (let seed = 1; seed <= sequences; seed++) {
    const { tokens: data, half } = repeatSequence({ tokens, vocabulary, seed: 1e6 + seed });
    sum += copiedShare(data, half, mostProbable(await model.logits({ data, shape: [1, data.length] })));
  }
  return sum / sequences;
}
