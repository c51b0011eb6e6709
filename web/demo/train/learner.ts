import { adamW, clipGradients, crossEntropy, type AdamWOptions, type Floats, type Tree } from "headwise/train";

import type { Model } from "./model.js";
import type { Batch, TokenTensor } from "./repeat.js";

/** What a step tells. */
export interface StepResult {
  /** Nats for each token that counts. */
  readonly loss: number;
  /** The part of these tokens that the model found, before it learned from them. */
  readonly accuracy: number;
}

/** The norm of the gradients is clipped to it. */
const MAX_NORM = 1;

/** A model with its optimizer. */
export class Learner {
  readonly #optimizer;

  constructor(
    readonly model: Model,
    options: AdamWOptions,
  ) {
    this.#optimizer = adamW(model.parameters, options);
  }

  get steps(): number {
    return this.#optimizer.state.steps.data[0]!;
  }

  /** The optimizer's state, to save and to give to another learner as the option `state`. */
  get state(): Tree {
    return this.#optimizer.state;
  }

  /** Learns from a batch: forward, backward, and a step of the optimizer. */
  async learn({ tokens, targets }: Batch, learningRate: number): Promise<StepResult> {
    const places = countedPlaces(targets);
    const wanted = places.map((place) => targets.data[place]!);
    const { logits, saved } = await this.model.forward(tokens, places);
    const { loss, dLogits, count } = crossEntropy(logits, wanted);
    const accuracy = countFound(logits, wanted) / count;
    const gradients = await this.model.backward(saved, dLogits);
    clipGradients(gradients, MAX_NORM);
    this.#optimizer.step(gradients, { learningRate });
    await this.model.update();
    return { loss, accuracy };
  }
}

/** The most probable token of each row of logits. */
export function mostProbable({ data, shape }: Floats): Int32Array {
  const width = shape.at(-1)!;
  return Int32Array.from({ length: data.length / width }, (_, row) => {
    const start = row * width;
    let best = start;
    for (let i = start + 1; i < start + width; i++) if (data[i]! > data[best]!) best = i;
    return best - start;
  });
}

/** The places of the targets that count. */
function countedPlaces({ data }: TokenTensor): Int32Array {
  return Int32Array.from(data.keys()).filter((place) => data[place]! >= 0);
}

function countFound(logits: Floats, targets: Int32Array): number {
  return mostProbable(logits).reduce((sum, token, row) => sum + Number(token === targets[row]), 0);
}
