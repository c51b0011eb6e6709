import {
  activation,
  activationBackward,
  embedding,
  embeddingBackward,
  layerNorm,
  layerNormBackward,
  type Floats,
  type Random,
  type Tree,
} from "headwise/train";

import type { TokenTensor } from "./repeat.js";

/** A saved call of a layer, until its backward. */
export interface SavedCall {
  dispose(): void;
}

/** What the model needs of a layer of headwise. */
export interface AttentionLayer {
  forward(
    x: Floats,
    options: { causal: true; save?: boolean; headGain?: readonly number[]; returns?: { output: true; probs: boolean } },
  ): Promise<{ output: Floats; saved?: SavedCall; probs?: Floats }>;
  backward(saved: SavedCall, dOutput: Floats): Promise<{ dInput: Floats; gradients: Record<string, Floats> }>;
  update(weights: AttentionWeights): Promise<void>;
  dispose(): void;
}

/** What the model needs of an instance of headwise. */
export interface Engine {
  multiHeadAttention(options: {
    numHeads: number;
    weights: AttentionWeights;
    position?: { kind: "rotary" };
  }): Promise<AttentionLayer>;
  linear(x: Floats, weight: Floats, bias?: Floats): Promise<Floats>;
  linearBackward(call: {
    x: Floats;
    weight: Floats;
    dOutput: Floats;
  }): Promise<{ dInput: Floats; dWeight: Floats; dBias: Floats }>;
}

export type PositionKind = "rotary" | "learned" | "none";

/** The sizes of a decoder. */
export interface Architecture {
  /** How many tokens there are. */
  readonly vocabulary: number;
  readonly width: number;
  readonly layers: number;
  readonly heads: number;
  readonly position: PositionKind;
  /** The longest sequence; it is the number of rows of learned positions. */
  readonly length: number;
  /** Width inside of the feed-forward block; 0: there is none. */
  readonly feedForward: number;
}

export type AttentionWeights = {
  readonly Wq: Floats;
  readonly Wk: Floats;
  readonly Wv: Floats;
  readonly Wo: Floats;
};

export type Norm = {
  readonly gain: Floats;
  readonly bias: Floats;
};

export type FeedForward = {
  readonly norm: Norm;
  readonly up: { readonly weight: Floats; readonly bias: Floats };
  readonly down: { readonly weight: Floats; readonly bias: Floats };
};

/** All weights of a decoder, and also their gradients. Weights are stored [in, out]. */
export type Parameters = {
  readonly embedding: Floats;
  /** `[length, width]`, added to the embedded tokens. */
  readonly position?: Floats;
  readonly layers: readonly {
    readonly norm: Norm;
    readonly attention: AttentionWeights;
    readonly feedForward?: FeedForward;
  }[];
  readonly norm: Norm;
  readonly unembedding: { readonly weight: Floats };
};

/** Weights that were read from a file, where layers are `{ 0: …, 1: … }`, as the model has them. */
export function asParameters(tree: Tree): Parameters {
  const { layers, ...rest } = tree as unknown as Parameters;
  return { ...rest, layers: Object.values(layers) };
}

/** Normal numbers for weights, 1 for gains and 0 for biases. */
export function initialParameters(architecture: Architecture, source: Random, deviation: number): Parameters {
  const { vocabulary, width, layers, position, length, feedForward } = architecture;
  const weight = (...shape: number[]) => source.normal(shape, deviation);
  const constant = (extent: number, value: number): Floats => ({
    data: new Float32Array(extent).fill(value),
    shape: [extent],
  });
  const norm = () => ({ gain: constant(width, 1), bias: constant(width, 0) });
  const block = () => ({
    norm: norm(),
    up: { weight: weight(width, feedForward), bias: constant(feedForward, 0) },
    down: { weight: weight(feedForward, width), bias: constant(width, 0) },
  });
  return {
    embedding: weight(vocabulary, width),
    ...(position === "learned" && { position: weight(length, width) }),
    layers: Array.from({ length: layers }, () => ({
      norm: norm(),
      attention: {
        Wq: weight(width, width),
        Wk: weight(width, width),
        Wv: weight(width, width),
        Wo: weight(width, width),
      },
      ...(feedForward > 0 && { feedForward: block() }),
    })),
    norm: norm(),
    unembedding: { weight: weight(width, vocabulary) },
  };
}

/** What a block of the model keeps from forward to backward. */
interface SavedBlock {
  readonly x: Floats;
  readonly saved: SavedCall;
  readonly between: Floats;
  readonly inner?: SavedFeedForward;
}

interface SavedFeedForward {
  readonly normed: Floats;
  readonly above: Floats;
  readonly active: Floats;
}

/** What a call of forward keeps for backward. */
export interface SavedForward {
  readonly tokens: TokenTensor;
  readonly blocks: readonly SavedBlock[];
  /** What the last block gives. */
  readonly rows: Floats;
  readonly places: Int32Array;
  /** Its rows that count. */
  readonly last: Floats;
  readonly normed: Floats;
}

/** Gradients of what the layers give, after so many of them: `[tokens, width]`. */
export interface RowGradients {
  readonly layers: number;
  readonly dRows: Floats;
}

/** What a call of `look` shows, layer by layer. */
export interface Inside {
  readonly logits: Floats;
  /** What each attention layer gets: `[batch, length, width]`, after the norm. */
  readonly inputs: readonly Floats[];
  /** `[batch, heads, length, length]` */
  readonly probs: readonly Floats[];
}

/**
 * A decoder with pre-norm blocks (Radford et al. 2019):
 *
 *     x = embedding[tokens] + position
 *     x = x + attention(norm(x))      x = x + down(gelu(up(norm(x))))      in every layer
 *     logits = norm(x) · unembedding
 *
 * headwise computes attention and products, forward and backward.
 */
export class Model {
  /** Factors of the heads' outputs, layer by layer: 0 switches a head off, also in backward. */
  readonly headGains: number[][];

  private constructor(
    private readonly hw: Engine,
    readonly architecture: Architecture,
    /** The weights. Change the numbers in place, and then call `update`. */
    readonly parameters: Parameters,
    private readonly attention: readonly AttentionLayer[],
  ) {
    this.headGains = Array.from({ length: architecture.layers }, () => new Array<number>(architecture.heads).fill(1));
  }

  static async create(hw: Engine, architecture: Architecture, parameters: Parameters): Promise<Model> {
    const attention = [];
    for (const { attention: weights } of parameters.layers) {
      const position = architecture.position === "rotary" ? { position: { kind: "rotary" } as const } : {};
      attention.push(await hw.multiHeadAttention({ numHeads: architecture.heads, weights, ...position }));
    }
    return new Model(hw, architecture, parameters, attention);
  }

  /**
   * The logits of the tokens that count, and what backward needs.
   *
   * @param places - Of the tokens that count, counted over all sequences.
   * @returns Logits of the token after each of them: `[places, vocabulary]`.
   */
  async forward(tokens: TokenTensor, places: Int32Array): Promise<{ logits: Floats; saved: SavedForward }> {
    const blocks: SavedBlock[] = [];
    let x = this.#embedded(tokens);
    for (const [n, { norm, feedForward }] of this.parameters.layers.entries()) {
      const normed = layerNorm(x, norm.gain, norm.bias);
      const options = { causal: true, save: true, headGain: this.headGains[n]! } as const;
      const { output, saved } = await this.attention[n]!.forward(normed, options);
      const between = addTo(output, x);
      if (feedForward) {
        const inner = await this.#feedForward(between, feedForward);
        blocks.push({ x, saved: saved!, between, inner });
        x = addTo(inner.output, between);
      } else {
        blocks.push({ x, saved: saved!, between });
        x = between;
      }
    }
    const { gain, bias } = this.parameters.norm;
    const rows = { data: x.data, shape: [tokens.data.length, this.architecture.width] };
    const last = embedding(rows, places);
    const normed = layerNorm(last, gain, bias);
    const logits = await this.hw.linear(normed, this.parameters.unembedding.weight);
    return { logits, saved: { tokens, blocks, rows, places, last, normed } };
  }

  /**
   * The gradients of all parameters from the gradient of the logits, and from that of a question aside. `saved` can be used
   * once.
   */
  async backward(saved: SavedForward, dLogits: Floats, aside?: RowGradients): Promise<Parameters> {
    const { parameters } = this;
    const { weight } = parameters.unembedding;
    const above = await this.hw.linearBackward({ x: saved.normed, weight, dOutput: dLogits });
    const last = layerNormBackward(saved.last, parameters.norm.gain, above.dInput);
    const { shape } = saved.tokens;
    const dRows = embeddingBackward(saved.rows, saved.places, last.dInput);
    let dx: Floats = { data: dRows.data, shape: [...shape, this.architecture.width] };
    const layers = [];
    for (let n = parameters.layers.length - 1; n >= 0; n--) {
      if (aside?.layers === n + 1) dx = addTo(dx, aside.dRows);
      const { dInput, ...gradients } = await this.#blockBackward(n, saved.blocks[n]!, dx);
      layers.unshift(gradients);
      dx = dInput;
    }
    return {
      embedding: embeddingBackward(parameters.embedding, saved.tokens, dx),
      ...(parameters.position && {
        position: embeddingBackward(parameters.position, placesOf(saved.tokens), dx),
      }),
      layers,
      norm: { gain: last.dGain, bias: last.dBias },
      unembedding: { weight: above.dWeight },
    };
  }

  /** The logits of the token after each token. Nothing is kept for backward. */
  async logits(tokens: TokenTensor): Promise<Floats> {
    return (await this.#computed(tokens, false)).logits;
  }

  /** The logits, and what the heads look at. Nothing is kept for backward. */
  look(tokens: TokenTensor): Promise<Inside> {
    return this.#computed(tokens, true);
  }

  async #computed(tokens: TokenTensor, wantsProbs: boolean): Promise<Inside> {
    const inputs: Floats[] = [];
    const probs: Floats[] = [];
    let x = this.#embedded(tokens);
    for (const [n, { norm, feedForward }] of this.parameters.layers.entries()) {
      const normed = layerNorm(x, norm.gain, norm.bias);
      const returns = { output: true, probs: wantsProbs } as const;
      const options = { causal: true, headGain: this.headGains[n]!, returns } as const;
      const result = await this.attention[n]!.forward(normed, options);
      inputs.push(normed);
      if (result.probs) probs.push(result.probs);
      x = addTo(result.output, x);
      if (feedForward) x = addTo((await this.#feedForward(x, feedForward)).output, x);
    }
    const normed = layerNorm(x, this.parameters.norm.gain, this.parameters.norm.bias);
    return { logits: await this.hw.linear(normed, this.parameters.unembedding.weight), inputs, probs };
  }

  /** Gives the attention layers the numbers that the parameters have now. */
  async update(): Promise<void> {
    await Promise.all(this.parameters.layers.map(({ attention }, n) => this.attention[n]!.update(attention)));
  }

  dispose(): void {
    for (const layer of this.attention) layer.dispose();
  }

  #embedded(tokens: TokenTensor): Floats {
    const { embedding: table, position } = this.parameters;
    const x = embedding(table, tokens);
    return position ? addTo(x, embedding(position, placesOf(tokens))) : x;
  }

  async #feedForward(x: Floats, { norm, up, down }: FeedForward) {
    const normed = layerNorm(x, norm.gain, norm.bias);
    const above = await this.hw.linear(normed, up.weight, up.bias);
    const active = activation(above, "geluTanh");
    return { normed, above, active, output: await this.hw.linear(active, down.weight, down.bias) };
  }

  async #blockBackward(n: number, block: SavedBlock, dOutput: Floats) {
    const { norm, feedForward } = this.parameters.layers[n]!;
    let dBetween = dOutput;
    let gradients: { feedForward?: FeedForward } = {};
    if (feedForward) {
      const inner = await this.#feedForwardBackward(block.between, block.inner!, feedForward, dOutput);
      dBetween = addTo(inner.dInput, dOutput);
      gradients = { feedForward: inner.gradients };
    }
    const attention = await this.attention[n]!.backward(block.saved, dBetween);
    const { dInput, dGain, dBias } = layerNormBackward(block.x, norm.gain, attention.dInput);
    return {
      dInput: addTo(dInput, dBetween),
      norm: { gain: dGain, bias: dBias },
      attention: attention.gradients as unknown as AttentionWeights,
      ...gradients,
    };
  }

  async #feedForwardBackward(
    x: Floats,
    { normed, above, active }: SavedFeedForward,
    { norm, up, down }: FeedForward,
    dOutput: Floats,
  ): Promise<{ dInput: Floats; gradients: FeedForward }> {
    const second = await this.hw.linearBackward({ x: active, weight: down.weight, dOutput });
    const dAbove = activationBackward(above, "geluTanh", second.dInput).dInput;
    const first = await this.hw.linearBackward({ x: normed, weight: up.weight, dOutput: dAbove });
    const { dInput, dGain, dBias } = layerNormBackward(x, norm.gain, first.dInput);
    return {
      dInput,
      gradients: {
        norm: { gain: dGain, bias: dBias },
        up: { weight: first.dWeight, bias: first.dBias },
        down: { weight: second.dWeight, bias: second.dBias },
      },
    };
  }
}

/** The place of each token in its sequence. */
function placesOf({ data, shape }: TokenTensor): TokenTensor {
  const length = shape.at(-1)!;
  return { data: data.map((_, n) => n % length), shape };
}

/** Adds x to `sum`, which is the fresh result of a call: new memory would take longer than the additions. */
function addTo(sum: Floats, x: Floats): Floats {
  const [sums, numbers] = [sum.data, x.data];
  for (let i = 0; i < sums.length; i++) sums[i]! += numbers[i]!;
  return sum;
}
