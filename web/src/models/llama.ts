import { ACTIVATION_NAMES, ACTIVATIONS } from "./activations.js";
import {
  count,
  flag,
  only,
  optional,
  positive,
  readFields,
  refuse,
  word,
  type Field,
  type Json,
  type Values,
  MOST_BLOCKS,
} from "./configField.js";
import type { Floats } from "../tensor/plainTensor.js";
import { add, halvesOf, multiply } from "./elementwise.js";
import { COMMON, DECODER_HEADS, headOf, modelConfig, type ModelType } from "./modelConfig.js";
import type { Network } from "./network.js";
import type { Parts } from "./parts.js";
import { longestOf, rotaryPosition } from "./rotaryField.js";
import { times } from "./times.js";

const FIELDS = {
  ...COMMON,
  vocabSize: count("vocab_size"),
  modelDim: count("hidden_size"),
  hiddenDim: count("intermediate_size"),
  numLayers: count("num_hidden_layers", undefined, MOST_BLOCKS),
  numHeads: count("num_attention_heads"),
  kvHeads: optional("num_key_value_heads", count("num_key_value_heads")),
  widthOfHead: optional("head_dim", count("head_dim")),
  length: optional("max_position_embeddings", count("max_position_embeddings")),
  /** The name of 2023. */
  olderLength: optional("max_sequence_length", count("max_sequence_length")),
  activation: word("hidden_act", ACTIVATION_NAMES, "silu"),
  epsilon: positive("rms_norm_eps", 1e-6),
  isTied: flag("tie_word_embeddings", false),
  head: headOf(DECODER_HEADS),
  causal: only("is_causal", true),
  interleaved: only("rope_interleaved", false),
};

type Fields = Values<typeof FIELDS>;

/** How the families differ. */
interface Kind {
  /** Which projections of attention have biases. */
  readonly biases: Field<{ readonly input: boolean; readonly output: boolean }>;
  /** Whether the three maps of a feed-forward block have biases. */
  readonly feedForwardBias: Field<boolean>;
  /** Whether queries, keys and values are one matrix (`qkv_proj`), and so are gate and up (`gate_up_proj`). */
  readonly isPacked: boolean;
  /** Whether a part of each head may turn (`partial_rotary_factor`). */
  readonly isPartial: boolean;
  /** Whether every head's queries and keys are normalized. */
  readonly normalizesHeads: boolean;
  /** The length of texts, if config.json does not say it. */
  readonly maxLength: number;
  /** The number of tokens that a layer sees, its own included; undefined: all. */
  readonly window: (json: Json, layer: number, numLayers: number) => number | undefined;
}

const none: Kind["feedForwardBias"] = (json) => {
  only("mlp_bias", false)(json);
  return false;
};
const attentionBias: Kind["biases"] = (json) => {
  const given = flag("attention_bias", false)(json);
  return { input: given, output: given };
};

/** Queries, keys and values are a matrix each, and heads turn as a whole. */
const plain = { isPacked: false, isPartial: false };

/** Each kind, with the defaults of its configuration. */
const KINDS: Readonly<Record<Exclude<ModelType, "bert" | "gpt2">, Kind>> = {
  llama: {
    biases: attentionBias,
    feedForwardBias: flag("mlp_bias", false),
    ...plain,
    normalizesHeads: false,
    maxLength: 2048,
    window: () => undefined,
  },
  mistral: {
    biases: (json) => {
      only("attention_bias", false)(json);
      return { input: false, output: false };
    },
    feedForwardBias: none,
    ...plain,
    normalizesHeads: false,
    maxLength: 2 ** 17,
    window: windowOf,
  },
  qwen2: {
    biases: (json) => {
      json.value("attention_bias"); // transformers ignores it
      return { input: true, output: false };
    },
    feedForwardBias: none,
    ...plain,
    normalizesHeads: false,
    maxLength: 2 ** 15,
    window: laterLayersOnly,
  },
  qwen3: {
    biases: attentionBias,
    feedForwardBias: none,
    ...plain,
    normalizesHeads: true,
    maxLength: 2 ** 15,
    window: laterLayersOnly,
  },
  phi3: {
    biases: (json) => {
      only("attention_bias", false)(json);
      only("lm_head_bias", false)(json);
      only("interpolate_factor", 1)(json);
      only("full_attn_mod", 1)(json);
      return { input: false, output: false };
    },
    feedForwardBias: none,
    isPacked: true,
    isPartial: true,
    normalizesHeads: false,
    maxLength: 4096,
    window: (json) => optional("sliding_window", count("sliding_window"))(json),
  },
};

/** `sliding_window`: absent, it is 4096; `null` means none. */
function windowOf(json: Json): number | undefined {
  return json.isNull("sliding_window") ? undefined : count("sliding_window", 4096)(json);
}

/** Which layers have the window: as `layer_types` says, otherwise those from `max_window_layers` on. */
function laterLayersOnly(json: Json, layer: number, numLayers: number): number | undefined {
  const isUsed = flag("use_sliding_window", false)(json);
  const types = json.value("layer_types");
  const first = json.value("max_window_layers");
  json.value("sliding_window"); // read, also if no layer has a window
  if (!isUsed) return undefined;
  if (!Array.isArray(types)) {
    const isLater = first === 0 || layer >= count("max_window_layers", 28)(json);
    return isLater ? windowOf(json) : undefined;
  }
  const isKnown = (type: unknown) => type === "full_attention" || type === "sliding_attention";
  if (types.length !== numLayers || !types.every(isKnown))
    throw refuse(json, "layer_types", `be ${numLayers} times "full_attention" or "sliding_attention"`);
  return types[layer] === "sliding_attention" ? windowOf(json) : undefined;
}

/**
 * Llama (Touvron et al. 2023, arXiv:2302.13971) and models of its shape: rotary positions, RMS norms before attention and
 * feed-forward blocks, gated feed-forward blocks (Shazeer 2020, arXiv:2002.05202), causal attention with grouped heads.
 * Mistral has a window, Qwen 2 has biases, Qwen 3 normalizes queries and keys, Phi-3 packs its matrices.
 *
 *     x ← x + attention(norm₁(x))
 *     x ← x + down(activation(gate(norm₂(x))) · up(norm₂(x)))
 */
export function llama(modelType: keyof typeof KINDS, json: Json, parts: Parts): Network {
  const kind = KINDS[modelType];
  const fields: Fields = readFields(json, FIELDS);
  const { modelDim, hiddenDim, numHeads, vocabSize, epsilon } = fields;
  const numKvHeads = fields.kvHeads ?? numHeads;
  const headDim = fields.widthOfHead ?? modelDim / numHeads;
  const maxLength = fields.length ?? fields.olderLength ?? kind.maxLength;
  const position = rotaryPosition(json, { maxLength, headDim, isPartial: kind.isPartial });
  const limit = longestOf(position);
  const config = modelConfig({ ...fields, modelType, maxLength: limit ?? maxLength, numKvHeads, headDim });
  const biases = kind.biases(json);
  const feedForwardBias = kind.feedForwardBias(json);
  const activation = ACTIVATIONS[fields.activation];

  const at = parts.prefix("model.");
  /** What goes into the activation, and what multiplies its result. */
  const gateAndUp = (block: string): ((x: Floats) => Promise<readonly [Floats, Floats]>) => {
    const map = (name: string, to: number) =>
      parts.linear(`${block}.mlp.${name}`, { from: modelDim, to }, feedForwardBias);
    if (kind.isPacked) {
      const both = map("gate_up_proj", 2 * hiddenDim);
      return async (x) => halvesOf(await both(x));
    }
    const [gate, up] = [map("gate_proj", hiddenDim), map("up_proj", hiddenDim)];
    return async (x) => [await gate(x), await up(x)];
  };
  const words = parts.table(`${at}embed_tokens`, [vocabSize, modelDim]);
  const blocks = times(fields.numLayers, (n) => {
    const block = `${at}layers.${n}`;
    const self = `${block}.self_attn`;
    const [queries, keys] = [numHeads * headDim, numKvHeads * headDim];
    const window = kind.window(json, n, fields.numLayers);
    const [queryGain, keyGain] = kind.normalizesHeads
      ? [parts.vector(`${self}.q_norm.weight`, headDim), parts.vector(`${self}.k_norm.weight`, headDim)]
      : [];
    const qkNorm = () => ({ kind: "rms", epsilon, gain: { query: queryGain!(), key: keyGain!() } }) as const;
    return {
      norm1: parts.rmsNorm(`${block}.input_layernorm`, modelDim, epsilon),
      attention: parts.attention(
        `model.layers.${n}.self_attn`,
        {
          ...(kind.isPacked && {
            in_proj_weight: [`${self}.qkv_proj.weight`, [queries + 2 * keys, modelDim]] as const,
          }),
          ...(!kind.isPacked && {
            q_proj_weight: [`${self}.q_proj.weight`, [queries, modelDim]],
            k_proj_weight: [`${self}.k_proj.weight`, [keys, modelDim]],
            v_proj_weight: [`${self}.v_proj.weight`, [keys, modelDim]],
          }),
          "out_proj.weight": [`${self}.o_proj.weight`, [modelDim, queries]],
          ...(biases.input && {
            bq: [`${self}.q_proj.bias`, [queries]],
            bk: [`${self}.k_proj.bias`, [keys]],
            bv: [`${self}.v_proj.bias`, [keys]],
          }),
          ...(biases.output && { "out_proj.bias": [`${self}.o_proj.bias`, [modelDim]] }),
        },
        () => ({ numHeads, numKvHeads, position, ...(kind.normalizesHeads && { qkNorm: qkNorm() }) }),
        { causal: true, ...(window && { window: { left: window - 1 } }) },
      ),
      norm2: parts.rmsNorm(`${block}.post_attention_layernorm`, modelDim, epsilon),
      gateAndUp: gateAndUp(block),
      down: parts.linear(`${block}.mlp.down_proj`, { from: hiddenDim, to: modelDim }, feedForwardBias),
    };
  });
  const norm = parts.rmsNorm(`${at}norm`, modelDim, epsilon);
  const logits = fields.isTied ? words.transposed() : parts.linearIfThere("lm_head", { from: modelDim, to: vocabSize });

  return {
    config,
    attention: blocks.map(({ attention }) => attention),
    isCausal: true,
    limit,
    logits,
    async hidden(tokens, pass) {
      let x = words.rows(tokens);
      for (const { norm1, attention, norm2, gateAndUp, down } of blocks) {
        pass.note(x);
        x = add(x, await pass.attend(attention, norm1(x)));
        const inner = norm2(x);
        const [gate, up] = await gateAndUp(inner);
        x = add(x, await down(multiply(activation(gate), up)));
      }
      return pass.note(norm(x));
    },
  };
}
