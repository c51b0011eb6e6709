import { ACTIVATION_NAMES } from "../activations.js";
import { count, flag, MOST_BLOCKS, optional, positive, refuse, word, type Json } from "../configField.js";
import { DECODER, DECODER_CLASSES, yes, type Family, type LayerPlace } from "../family.js";

/** GPT-Neo (Black et al. 2021, doi:10.5281/zenodo.5297715): GPT-2 without a factor of scores, with windows in some layers. */
export const GPT_NEO: Family = {
  className: "GPTNeo",
  fields: {
    vocabSize: count("vocab_size"),
    modelDim: count("hidden_size"),
    hiddenDim: optional("intermediate_size", count("intermediate_size")),
    numLayers: count("num_layers", undefined, MOST_BLOCKS),
    numHeads: count("num_heads"),
    maxLength: count("max_position_embeddings", 2048),
    activation: word("activation_function", ACTIVATION_NAMES, "gelu_new"),
    epsilon: positive("layer_norm_epsilon", 1e-5),
    isTied: flag("tie_word_embeddings", true),
  },
  fixed: DECODER,
  prefix: "transformer.",
  isCausal: true,
  norm: { kind: "layer" },
  embeddings: { words: "transformer.wte", positions: { name: "transformer.wpe" } },
  blocks: "transformer.h",
  attention: {
    hook: "attn",
    norms: { before: "ln_1" },
    inputs: ["attn.attention.q_proj", "attn.attention.k_proj", "attn.attention.v_proj"],
    output: "attn.attention.out_proj",
    biases: () => ({ input: false, output: true }),
    scale: () => 1,
    window: (json, { layer, ...place }) => {
      const window = count("window_size", 256)(json);
      return kindsOf(json, place)[layer] === "local" ? window : undefined;
    },
  },
  feedForward: {
    norms: { before: "ln_2" },
    inputs: { up: "mlp.c_fc" },
    down: "mlp.c_proj",
    bias: yes,
  },
  lastNorm: "transformer.ln_f",
  heads: { classes: DECODER_CLASSES, words: { decoder: "lm_head", bias: false } },
};

/** The kind of each layer: `attention_layers`, otherwise `attention_types`, such as `[[["global", "local"], 12]]`. */
function kindsOf(json: Json, { numLayers }: Omit<LayerPlace, "layer">): readonly unknown[] {
  const types = json.value("attention_types") ?? [[["global", "local"], numLayers / 2]];
  const given = json.value("attention_layers") ?? repeated(types);
  const isKnown = (kind: unknown) => kind === "global" || kind === "local";
  if (Array.isArray(given) && given.length === numLayers && given.every(isKnown)) return given;
  const name = json.value("attention_layers") === undefined ? "attention_types" : "attention_layers";
  throw refuse(json, name, `give ${numLayers} times "global" or "local"`);
}

function repeated(types: unknown): readonly unknown[] {
  const pairs = Array.isArray(types) ? (types as unknown[]) : [];
  return pairs.flatMap((pair) => {
    const [kinds, times] = Array.isArray(pair) ? (pair as [unknown, unknown]) : [];
    const isRepeated = Array.isArray(kinds) && Number.isInteger(times) && (times as number) <= MOST_BLOCKS;
    return isRepeated ? Array.from({ length: times as number }, () => kinds as unknown[]).flat() : [undefined];
  });
}
