import type { FloatResult, Tensor } from "headwise";

import { add, dense, relu, type Dense } from "./dense.js";
import { layerNorm, type LayerNorm } from "./layerNorm.js";
import type { Weights } from "./weights.js";

export interface LayerShape {
  readonly inputDim: number;
  /** Width of Q, of K and of V, all heads together. */
  readonly modelDim: number;
  readonly outputDim: number;
  readonly numHeads: number;
}

/** The attention of every head of one layer. Row i says what token i attends to. */
export interface LayerAttention {
  readonly numHeads: number;
  /** [numHeads, tokens, tokens]; every row sums to 1. */
  readonly probs: Float32Array;
  /** [numHeads, tokens, tokens]: q·k / √headDim, before the softmax. */
  readonly scores: Float32Array;
  /** Only if the call asked for it. */
  readonly inside?: LayerInside;
}

/** What lies inside of a layer, row-major. */
export interface LayerInside {
  /** [numHeads, tokens, headDim], as `value` and `headOutputs`. */
  readonly query: Float32Array;
  /** [numHeads, tokens, headDim] */
  readonly key: Float32Array;
  readonly value: Float32Array;
  /** The weights times the values. */
  readonly headOutputs: Float32Array;
  /** The share of each head in the output of attention: [numHeads, tokens, outputDim]. */
  readonly contributions: Float32Array;
  /** The vector of each token without this layer's attention, and with it: [tokens, outputDim]. */
  readonly before: Float32Array;
  readonly after: Float32Array;
}

/** A change to what a layer computes, to see its effect. */
export interface Intervention {
  readonly headGain: readonly number[] | undefined;
  readonly hiddenTokens: readonly number[];
  /** Whether to return what lies inside of the layer. */
  readonly inside: boolean;
}

type Floats = Tensor<"float32">;

/** The part of headwise that the encoder uses. */
export interface AttentionEngine {
  multiHeadAttention(options: EncoderLayerOptions): Promise<EncoderLayer>;
}
export interface EncoderLayerOptions extends LayerShape {
  readonly layout: "BSE";
  readonly weights: Readonly<Record<"Wqkv" | "bqkv" | "Wo" | "bo", Floats>>;
}
export interface EncoderLayer {
  forward(x: Floats, options: EncoderCall): Promise<EncoderLayerResult>;
  dispose(): void;
}
export interface EncoderCall {
  readonly headGain?: readonly number[];
  readonly mask?: Tensor<"bool">;
  readonly returns: { readonly output: true; readonly probs: true; readonly scores: "raw" } & Readonly<
    Partial<Record<LayerView, true>>
  >;
}
/** What headwise shows of the inside of a layer. */
const VIEWS = { query: true, key: true, value: true, headOutputs: true, contributions: true } as const;
type LayerView = keyof typeof VIEWS;
export interface EncoderLayerResult extends Partial<Record<LayerView, { readonly data: Float32Array }>> {
  readonly output: Pick<FloatResult, "data">;
  readonly probs: { readonly data: Float32Array };
  readonly scores: { readonly data: Float32Array };
}

/** A pre-norm transformer layer: x + attention(norm(x)), then y + feedForward(norm(y)). */
export class TransformerLayer {
  private constructor(
    private readonly shape: LayerShape,
    private readonly attention: EncoderLayer,
    private readonly attentionNorm: LayerNorm,
    private readonly feedForwardNorm: LayerNorm,
    private readonly expand: Dense,
    private readonly contract: Dense,
    /** Maps x to the width of the output, if the widths differ. */
    private readonly lift: Dense | undefined,
  ) {}

  static async create(
    hw: AttentionEngine,
    weights: Weights,
    index: number,
    shape: LayerShape,
  ): Promise<TransformerLayer> {
    const names = layerNames(index);
    const { inputDim, modelDim, outputDim, numHeads } = shape;
    const attention = await hw.multiHeadAttention({
      inputDim,
      modelDim,
      outputDim,
      numHeads,
      layout: "BSE",
      weights: {
        Wqkv: {
          data: weights.get(`${names.kernels}/qkv_transform_single/kernel/part_0`),
          shape: [inputDim, 3 * modelDim],
        },
        bqkv: { data: weights.get(names.bias("MultiheadAttention/qkv_transform_single")), shape: [3 * modelDim] },
        Wo: {
          data: weights.get(`${names.kernels}/output_transform_single/kernel/part_0`),
          shape: [modelDim, outputDim],
        },
        bo: { data: weights.get(names.bias("MultiheadAttention/output_transform_single")), shape: [outputDim] },
      },
    });
    const convolution = (name: string): Dense => ({
      weight: weights.get(`${names.graph}/FFN/${name}/Tensordot/Reshape_1`),
      bias: weights.get(names.bias(`FFN/${name}`)),
    });
    const norm = (name: string): LayerNorm => ({
      scale: weights.get(`${names.variables}/${name}layer_norm/layer_norm_scale/ConcatPartitions/concat`),
      bias: weights.get(`${names.variables}/${name}layer_norm/layer_norm_bias/ConcatPartitions/concat`),
    });
    const lift =
      inputDim === outputDim
        ? undefined
        : {
            weight: weights.get(`${names.variables}/dense/kernel/ConcatPartitions/concat`),
            bias: weights.get(names.bias("dense")),
          };
    return new TransformerLayer(
      shape,
      attention,
      norm("layer_prepostprocess/"),
      norm("FFN/layer_prepostprocess/"),
      convolution("conv1"),
      convolution("conv2"),
      lift,
    );
  }

  /** x [tokens, inputDim] → output [tokens, outputDim], and the attention of every head. */
  async forward(
    x: Float32Array,
    { headGain, hiddenTokens, inside }: Intervention,
  ): Promise<{ output: Float32Array; attention: LayerAttention }> {
    const { inputDim, numHeads } = this.shape;
    const tokens = x.length / inputDim;
    const normal = { data: layerNorm(x, this.attentionNorm), shape: [1, tokens, inputDim] };
    const { output, probs, scores, ...views } = await this.attention.forward(normal, {
      ...(headGain && { headGain }),
      ...(hiddenTokens.length > 0 && { mask: allBut(hiddenTokens, tokens) }),
      returns: { output: true, probs: true, scores: "raw", ...(inside && VIEWS) },
    });
    const before = this.lift ? dense(x, this.lift) : x;
    const after = add(before, output.data as Float32Array);
    const z = add(after, this.feedForward(layerNorm(after, this.feedForwardNorm)));
    const seen = { numHeads, probs: probs.data, scores: scores.data };
    const attention = inside ? { ...seen, inside: { ...dataOf(views), before, after } } : seen;
    return { output: z, attention };
  }

  private feedForward(x: Float32Array): Float32Array {
    return dense(relu(dense(x, this.expand)), this.contract);
  }

  dispose(): void {
    this.attention.dispose();
  }
}

function dataOf(views: Pick<EncoderLayerResult, LayerView>): Record<LayerView, Float32Array> {
  const names = Object.keys(VIEWS) as LayerView[];
  return Object.fromEntries(names.map((name) => [name, views[name]!.data])) as Record<LayerView, Float32Array>;
}

/** A mask [tokens] for every row: true if a token may be attended to. */
function allBut(hidden: readonly number[], tokens: number): Tensor<"bool"> {
  return {
    data: Uint8Array.from({ length: tokens }, (_, token) => Number(!hidden.includes(token))),
    shape: [1, 1, 1, tokens],
  };
}

/** The names of a layer's weights in the model's graph. They are the names of the training code. */
function layerNames(index: number) {
  const encoder = "Encoder_en/KonaTransformer/Encode";
  const variables = `module_apply_default/${encoder}/Layer_${index}/TransformerLayer`;
  return {
    variables,
    kernels: `module/${encoder}/Layer_${index}/TransformerLayer/MultiheadAttention`,
    graph: `module_apply_default/${encoder}/TransformerStack/Layer_${index}/TransformerLayer`,
    bias: (name: string) => `${variables}/${name}/bias/ConcatPartitions/concat`,
  };
}
