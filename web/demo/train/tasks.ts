import { random, type AdamWOptions, type Random } from "headwise/train";

import type { AsideChoice } from "./aside.js";
import { mostProbable } from "./learner.js";
import type { Architecture, Model } from "./model.js";
import { copiedShare, REPEAT_CHARACTERS, repeatBatch, repeatSequence, type Batch } from "./repeat.js";
import { REPEATED_WORDS, repeatedBatch, STORY_WORDS, storiesBatch, storyBatch } from "./storyBatch.js";
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

/**
 * A decoder of stories first learns to repeat words in random order, with attention alone. Where feed-forward blocks were
 * there from the start, no head had learned to copy after three million tokens. Then the blocks come, and stories.
 */
const FIRST_STEPS = 600;
/** Of so many later batches, one is of repeats, one of stories in a row, and two count only words with a true answer. */
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
  /** How the asides of a batch are asked. */
  readonly aside?: AsideChoice;
  /** What the attention of the model learns before it gets its feed-forward blocks. */
  readonly first?: { readonly steps: number; batch(source: Random, step: number): Batch };
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
      ...{ position: "rotary", length, feedForward: 192 },
    },
    learningRate: 0.003,
    optimizer: { weightDecay: 0 },
    deviation: 0.1,
    batchSize: STORIES,
    // The first layer gathers who got what, and the second finds it again. The third says it where a story asks.
    aside: { layers: 2, share: 0.5 },
    first: {
      steps: FIRST_STEPS,
      batch: (source, step) =>
        repeatedBatch(source, { rows: REPEATS, length: 64, words: REPEATED_WORDS, lists: step < FIRST_STEPS - 150 ? 0 : 0.4 }), // oxfmt-ignore
    },
    batch: (source, step) => {
      const part = step % CYCLE;
      if (part === 0) return repeatedBatch(source, { rows: REPEATS, length: 64, words: REPEATED_WORDS, lists: 0.5 });
      if (part === 5) return storiesBatch(source, STORIES / 2, length);
      return storyBatch(source, STORIES, part === 3 || part === 7 ? "facts" : "all");
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
