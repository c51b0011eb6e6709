import type { Attention, CacheDtype, KvCache, Layer, Tensor } from "headwise";
import { activation, embedding, layerNorm } from "headwise/train";

import type { AttentionWeights, FeedForward, Norm, Parameters } from "../train/model.js";
import type { DecoderConfig, DecoderFile } from "./decoderFile.js";

type Floats = Tensor<"float32">;

/** How a session keeps keys and values. */
export interface CacheChoice {
  readonly dtype: CacheDtype;
  /** Only the first tokens and the last ones are kept; absent: all. */
  readonly ring?: { readonly keepFirst: number; readonly window: number };
}

/** What a decoder says after its latest token. */
export interface Said {
  /** A score for each token that may come next. */
  readonly scores: Float32Array;
  /** For each layer, the weights of the latest token: [heads, tokens in the cache]. */
  readonly weights: readonly Float32Array[];
  /** For each layer, what its attention was given for the latest token: [1, 1, width]. */
  readonly inputs: readonly Floats[];
}

/** What a decoder says after one token of a text. */
export interface Looked {
  readonly scores: Float32Array;
  /** For each layer and head, the weights on all tokens of the text. */
  readonly weights: readonly (readonly Float32Array[])[];
}

/** One number for each head of each layer: 0 switches it off. */
type Gains = readonly (readonly number[])[];

/** A small transformer that has learned to continue a text, as train/model.ts has it. Sessions share its weights. */
export class Decoder {
  readonly config: DecoderConfig;
  readonly #hw: Attention;
  readonly #parameters: Parameters;
  readonly #layers: readonly Layer[];

  private constructor(hw: Attention, { config, parameters }: DecoderFile, layers: readonly Layer[]) {
    this.config = config;
    this.#hw = hw;
    this.#parameters = parameters;
    this.#layers = layers;
  }

  static async create(hw: Attention, file: DecoderFile): Promise<Decoder> {
    const { heads, position } = file.config;
    const layers = [];
    for (const { attention: weights } of file.parameters.layers) {
      const turned = position === "rotary" && { position: { kind: position } as const };
      layers.push(await hw.multiHeadAttention({ numHeads: heads, weights, ...turned }));
    }
    return new Decoder(hw, file, layers);
  }

  async session({ dtype, ring }: CacheChoice): Promise<Session> {
    const caches = [];
    for (const layer of this.#layers) caches.push(await layer.kvCache({ dtype, ...(ring && { ring }) }));
    return new Session(this, caches);
  }

  /** Reads tokens after those in the caches. `gains` has one number for each head of each layer. */
  async read(tokens: Int32Array, caches: readonly KvCache[], gains: Gains): Promise<Said> {
    const { scores, weights, inputs } = await this.#through(tokens, gains, [tokens.length - 1], caches);
    return { scores, weights, inputs: inputs.map(lastOf) };
  }

  /** Reads a text at once, without a cache, and says what it says after each token at these places. */
  async look(tokens: Int32Array, places: readonly number[], gains: Gains): Promise<readonly Looked[]> {
    const { heads } = this.config;
    const { scores, weights } = await this.#through(tokens, gains, places);
    const count = scores.length / places.length;
    return places.map((_, row) => ({
      scores: scores.subarray(row * count, (row + 1) * count),
      weights: weights.map((all) =>
        Array.from({ length: heads }, (__, head) => {
          const start = (head * places.length + row) * tokens.length;
          return all.subarray(start, start + tokens.length);
        }),
      ),
    }));
  }

  /** The projections of a layer. */
  projections(layer: number): AttentionWeights {
    return this.#parameters.layers[layer]!.attention;
  }

  dispose(): void {
    for (const layer of this.#layers) layer.dispose();
  }

  /** The scores and weights of some of the tokens, and what each layer's attention was given. */
  async #through(
    tokens: Int32Array,
    gains: Gains,
    queries: readonly number[],
    caches?: readonly KvCache[],
  ): Promise<Said> {
    const { layers, norm, unembedding } = this.#parameters;
    const [weights, inputs]: [Float32Array[], Floats[]] = [[], []];
    let x = this.#embedded(tokens, caches?.[0]!.appended[0] ?? 0);
    for (const [index, { norm: before, feedForward }] of layers.entries()) {
      const input = normed(x, before);
      const { output, probs } = await this.#layers[index]!.forward(input, {
        ...(caches && { cache: caches[index]! }),
        causal: true,
        headGain: gains[index]!,
        returns: { output: true, probs: { queries } },
      });
      x = sum(x, output);
      if (feedForward) x = sum(x, await this.#fedForward(normed(x, feedForward.norm), feedForward));
      weights.push(probs.data);
      inputs.push(input);
    }
    const { data } = await this.#hw.linear(normed(rowsOf(x, queries), norm), unembedding.weight);
    return { scores: data, weights, inputs };
  }

  #embedded(tokens: Int32Array, start: number): Floats {
    const shape = [1, tokens.length];
    const x = embedding(this.#parameters.embedding, { data: tokens, shape });
    const { position } = this.#parameters;
    return position ? sum(x, embedding(position, { data: tokens.map((_, at) => start + at), shape })) : x;
  }

  async #fedForward(x: Floats, { up, down }: FeedForward): Promise<Floats> {
    const inner = activation(await this.#hw.linear(x, up.weight, up.bias), "geluTanh");
    return this.#hw.linear(inner, down.weight, down.bias);
  }
}

/** A text that a decoder reads, token by token, with its cache of keys and values. */
export class Session {
  readonly #decoder: Decoder;
  readonly #caches: readonly KvCache[];

  constructor(decoder: Decoder, caches: readonly KvCache[]) {
    this.#decoder = decoder;
    this.#caches = caches;
  }

  /** Reads more tokens; there must be at least one. */
  read(tokens: Int32Array, gains: Gains): Promise<Said> {
    return this.#decoder.read(tokens, this.#caches, gains);
  }

  /** The bytes of all layers’ keys and values. */
  get bytes(): number {
    return this.#caches.reduce((total, { bytes }) => total + bytes, 0);
  }

  /** The tokens that are kept. */
  get length(): number {
    return this.#caches[0]!.length;
  }

  /** The place in the text of each token that is kept. */
  get places(): readonly number[] {
    const { length, ring, appended } = this.#caches[0]!;
    const first = ring ? Math.min(ring.keepFirst, length) : length;
    return Array.from({ length }, (_, at) => (at < first ? at : appended[0]! - length + at));
  }

  /** The keys and values of each layer, as they are stored. */
  stored(): Promise<readonly { readonly key: Floats; readonly value: Floats }[]> {
    return Promise.all(this.#caches.map((cache) => cache.read()));
  }

  dispose(): void {
    for (const cache of this.#caches) cache.dispose();
  }
}

function normed(x: Floats, { gain, bias }: Norm): Floats {
  return layerNorm(x, gain, bias);
}

function sum(a: Floats, b: Floats): Floats {
  return { data: a.data.map((value, at) => value + b.data[at]!), shape: a.shape };
}

function lastOf(x: Floats): Floats {
  return rowsOf(x, [x.shape[1]! - 1]);
}

function rowsOf({ data, shape }: Floats, rows: readonly number[]): Floats {
  const width = shape.at(-1)!;
  const kept = new Float32Array(rows.length * width);
  rows.forEach((row, at) => kept.set(data.subarray(row * width, (row + 1) * width), at * width));
  return { data: kept, shape: [1, rows.length, width] };
}
