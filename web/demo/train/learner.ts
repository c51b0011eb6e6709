import { adamW, clipGradients, crossEntropy, mapTree, type AdamWOptions, type Floats, type Tree } from "headwise/train";

import type { Aside, AsideGradients, AsideParameters } from "./aside.js";
import type { Model, Parameters, SavedForward } from "./model.js";
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
    /** What the training asks beside the next token. */
    readonly aside?: Aside,
  ) {
    this.#optimizer = adamW(this.#withAside(model.parameters, aside?.parameters), options);
  }

  get steps(): number {
    return this.#optimizer.state.steps.data[0]!;
  }

  /** The optimizer's state, to save and to give to another learner as the option `state`. */
  get state(): Tree {
    return this.#optimizer.state;
  }

  /** Learns from a batch: forward, backward, and a step of the optimizer. */
  async learn({ tokens, targets, asides }: Batch, learningRate: number): Promise<StepResult> {
    const { places, wanted } = counted(targets);
    const { logits, saved } = await this.model.forward(tokens, places);
    const { loss, dLogits, count } = crossEntropy(logits, wanted);
    const accuracy = countFound(logits, wanted) / count;
    const aside = asides && (await this.#asideOf(saved, asides));
    const gradients = this.#withAside(await this.model.backward(saved, dLogits, aside), aside?.gradients);
    clipGradients(gradients, MAX_NORM);
    this.#optimizer.step(gradients, { learningRate });
    await this.model.update();
    return { loss, accuracy };
  }

  async #asideOf(saved: SavedForward, asides: TokenTensor): Promise<AsideGradients | undefined> {
    const { places, wanted } = counted(asides);
    return places.length > 0 ? this.aside?.gradients(saved, places, wanted) : undefined;
  }

  /** The tree that the optimizer knows. A batch without a question has no gradients for it, which are 0 then. */
  #withAside(tree: Parameters, aside: AsideParameters | undefined): Tree {
    if (!this.aside) return tree;
    return {
      model: tree,
      aside:
        aside ?? mapTree(this.aside.parameters, ({ data, shape }) => ({ data: new Float32Array(data.length), shape })),
    };
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

/** The places of the targets that count, and these targets. */
function counted({ data }: TokenTensor) {
  const places = Int32Array.from(data.keys()).filter((place) => data[place]! >= 0);
  return { places, wanted: places.map((place) => data[place]!) };
}

function countFound(logits: Floats, targets: Int32Array): number {
  return mostProbable(logits).reduce((sum, token, row) => sum + Number(token === targets[row]), 0);
}
