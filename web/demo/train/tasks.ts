import { random, type AdamWOptions, type Random } from "headwise/train";

import type { Characters } from "./characters.js";
import type { Architecture, Model } from "./model.js";
import type { Batch } from "./repeat.js";
import { exactShare, SUM_CHARACTERS, sumBatch } from "./sums.js";
import { natsPerCharacter, textBatch, type Corpus } from "./text.js";

/** Sequences in a batch. */
const TEXTS = 4;
const SUMS = 128;

/** What a model of the room Generate learns. */
export interface Task {
  readonly kind: "text" | "sums";
  readonly characters: Characters;
  readonly architecture: Architecture;
  /** The highest learning rate. */
  readonly learningRate: number;
  readonly optimizer: AdamWOptions;
  /** The standard deviation of the first weights. */
  readonly deviation: number;
  /** Sequences in a batch. */
  readonly batchSize: number;
  batch(source: Random): Batch;
  /** What the model can do on data that it has not seen. `quickly`: on a small part of them. */
  measure(model: Model, quickly: boolean): Promise<Figures>;
}

/** Measured on data that the model has not seen. */
export interface Figures {
  readonly natsPerCharacter?: number;
  /** The part of the sums that are right in every digit. */
  readonly exact?: number;
}

/** The next character of a text. */
export function textTask({ characters, train, heldOut }: Corpus): Task {
  const length = 256;
  const texts = heldOut.map((part) => characters.ids(part));
  return {
    kind: "text",
    characters,
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

/** The sum of two numbers of up to three digits. */
export function sumsTask(): Task {
  return {
    kind: "sums",
    characters: SUM_CHARACTERS,
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
