import { crossEntropy, embedding, embeddingBackward, layerNorm, layerNormBackward, type Floats, type Random } from "headwise/train"; // oxfmt-ignore

import type { Architecture, Engine, Norm, RowGradients, SavedForward } from "./model.js";

/** Weights of the question, which no stored model has. */
export type AsideParameters = {
  readonly norm: Norm;
  readonly weight: Floats;
};

/** What a layer of the model should know, beside the next token. */
export interface AsideChoice {
  /** After so many layers. */
  readonly layers: number;
  /** The weight of its loss beside that of the next token. */
  readonly share: number;
}

/** Gradients of what the layers below the question give, and of its weights. */
export interface AsideGradients extends RowGradients {
  readonly gradients: AsideParameters;
}

/**
 * A question that only the training asks: what does a token stand for that was just read? A linear map of its own answers
 * with a token, from what a layer in the middle gives. So that layer learns the answer, and the layers above learn to find
 * it there. Without the question all of this must be learned at once, from the few places where a text says it (Lee et al.
 * 2015, "Deeply-supervised nets").
 */
export class Aside {
  constructor(
    private readonly hw: Engine,
    private readonly choice: AsideChoice,
    readonly parameters: AsideParameters,
  ) {}

  /** The first weights of a question. */
  static parameters({ width, vocabulary }: Architecture, source: Random, deviation: number): AsideParameters {
    const constant = (value: number): Floats => ({ data: new Float32Array(width).fill(value), shape: [width] });
    return { norm: { gain: constant(1), bias: constant(0) }, weight: source.normal([width, vocabulary], deviation) };
  }

  /** The gradients of the loss at `places`, which are counted over all sequences. */
  async gradients(saved: SavedForward, places: Int32Array, wanted: Int32Array): Promise<AsideGradients> {
    const { layers, share } = this.choice;
    const { norm, weight } = this.parameters;
    const rows = rowsAfter(saved, layers);
    const read = embedding(rows, places);
    const normed = layerNorm(read, norm.gain, norm.bias);
    const { dLogits } = crossEntropy(await this.hw.linear(normed, weight), wanted);
    for (let i = 0; i < dLogits.data.length; i++) dLogits.data[i]! *= share;
    const { dInput, dWeight } = await this.hw.linearBackward({ x: normed, weight, dOutput: dLogits });
    const { dInput: dRead, dGain, dBias } = layerNormBackward(read, norm.gain, dInput);
    const dRows = embeddingBackward(rows, places, dRead);
    return { layers, dRows, gradients: { norm: { gain: dGain, bias: dBias }, weight: dWeight } };
  }
}

/** What so many layers give: a row for each token. */
function rowsAfter({ blocks, rows }: SavedForward, layers: number): Floats {
  return layers < blocks.length ? { data: blocks[layers]!.x.data, shape: rows.shape } : rows;
}
