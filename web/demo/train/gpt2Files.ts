import { saveSafetensors, type Floats, type Tree } from "headwise/train";

import type { Characters } from "./characters.js";
import type { Parameters } from "./model.js";

/** The files of a model, by name. */
export type ModelFiles = Readonly<Record<string, Uint8Array<ArrayBuffer>>>;

/**
 * A decoder as the files of a GPT-2: config.json, model.safetensors and a tokenizer.json whose tokens are single
 * characters. They compute the same numbers. A decoder without feed-forward blocks gets one of width 1 and zeros.
 *
 * @param parameters - Of a decoder with learned positions, or with none. A GPT-2 has no rotary ones.
 * @param length - The longest sequence.
 */
export function gpt2Files(
  parameters: Parameters,
  { heads, length, characters }: { readonly heads: number; readonly length: number; readonly characters: Characters },
): ModelFiles {
  const { embedding, position, layers, unembedding } = parameters;
  const [vocabulary, width] = embedding.shape as [number, number];
  const inner = layers[0]?.feedForward?.up.bias.shape[0] ?? 1;
  const config = {
    ...{ model_type: "gpt2", vocab_size: vocabulary, n_positions: length },
    ...{ n_embd: width, n_layer: layers.length, n_head: heads, n_inner: inner },
    ...{ activation_function: "gelu_new", tie_word_embeddings: false },
  };
  const weights: Tree = {
    transformer: {
      wte: { weight: embedding },
      wpe: { weight: position ?? zeros(length, width) },
      h: Object.fromEntries(layers.map((layer, n) => [n, block(layer, inner)])),
      ln_f: named(parameters.norm),
    },
    lm_head: { weight: transposed(unembedding.weight) },
  };
  return {
    "config.json": json(config),
    "model.safetensors": saveSafetensors(weights),
    "tokenizer.json": json(tokenizerOf(characters)),
  };
}

function block({ norm, attention, feedForward }: Parameters["layers"][number], inner: number): Tree {
  const { Wq, Wk, Wv, Wo } = attention;
  const width = Wo.shape[1]!;
  return {
    ln_1: named(norm),
    attn: {
      c_attn: { weight: sideBySide([Wq, Wk, Wv]), bias: zeros(3 * width) },
      c_proj: { weight: Wo, bias: zeros(width) },
    },
    ln_2: named(feedForward?.norm ?? { gain: zeros(width), bias: zeros(width) }),
    mlp: {
      c_fc: feedForward?.up ?? { weight: zeros(width, inner), bias: zeros(inner) },
      c_proj: feedForward?.down ?? { weight: zeros(inner, width), bias: zeros(width) },
    },
  };
}

const named = ({ gain, bias }: Parameters["norm"]) => ({ weight: gain, bias });

/** A description that the tokenizers library reads: pairs of characters are never merged. */
const tokenizerOf = (characters: Characters) => ({
  version: "1.0",
  ...{ added_tokens: [], normalizer: null, pre_tokenizer: null, post_processor: null, decoder: { type: "Fuse" } },
  model: {
    type: "BPE",
    vocab: Object.fromEntries([...characters.all].map((character, id) => [character, id])),
    merges: [],
    unk_token: null,
  },
});

const json = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));

function zeros(...shape: number[]): Floats {
  return { data: new Float32Array(shape.reduce((product, extent) => product * extent, 1)), shape };
}

function transposed({ data, shape }: Floats): Floats {
  const [rows, columns] = shape as [number, number];
  const turned = Float32Array.from(data, (_, at) => data[(at % rows) * columns + Math.floor(at / rows)]!);
  return { data: turned, shape: [columns, rows] };
}

/** Matrices of as many rows, joined row by row. */
function sideBySide(matrices: readonly Floats[]): Floats {
  const [rows, columns] = matrices[0]!.shape as [number, number];
  const width = columns * matrices.length;
  const joined = zeros(rows, width);
  matrices.forEach(({ data }, n) => {
    for (let row = 0; row < rows; row++)
      joined.data.set(data.subarray(row * columns, (row + 1) * columns), row * width + n * columns);
  });
  return joined;
}
