// Small models with random weights, in the files in which others keep theirs.

import { Float16Array } from "@petamoriken/float16";

import type { Weights, LlamaForm } from "./modelReference.js";
import { safetensors } from "./safetensorsFile.js";

export type Config = Readonly<Record<string, unknown>>;
type Shapes = Readonly<Record<string, readonly number[]>>;

const [WORDS, WIDTH, INNER, HEADS, LAYERS, LENGTH] = [29, 16, 24, 4, 2, 32];

export const CONFIGS = {
  bert: {
    model_type: "bert",
    vocab_size: WORDS,
    hidden_size: WIDTH,
    intermediate_size: INNER,
    num_hidden_layers: LAYERS,
    num_attention_heads: HEADS,
    max_position_embeddings: LENGTH,
    type_vocab_size: 2,
    hidden_act: "gelu",
    layer_norm_eps: 1e-12,
  },
  gpt2: {
    model_type: "gpt2",
    vocab_size: WORDS,
    n_embd: WIDTH,
    n_layer: LAYERS,
    n_head: HEADS,
    n_positions: LENGTH,
    activation_function: "gelu_new",
    layer_norm_epsilon: 1e-5,
    eos_token_id: null,
  },
  llama: llamaConfig("llama"),
  mistral: { ...llamaConfig("mistral"), sliding_window: 3, head_dim: 8 },
  qwen2: {
    ...llamaConfig("qwen2"),
    tie_word_embeddings: true,
    use_sliding_window: true,
    sliding_window: 4,
    max_window_layers: 1,
  },
  qwen3: { ...llamaConfig("qwen3"), head_dim: 8, tie_word_embeddings: true },
} satisfies Record<string, Config>;

export type Kind = keyof typeof CONFIGS;

/** How the reference computes each kind of Llama's shape. */
export const FORMS: Readonly<Record<Exclude<Kind, "bert" | "gpt2">, LlamaForm>> = {
  llama: {},
  mistral: { window: () => 3 },
  qwen2: { inputBias: true, window: (layer) => (layer >= 1 ? 4 : Infinity) },
  qwen3: { headNorm: true },
};

function llamaConfig(type: string) {
  return {
    model_type: type,
    vocab_size: WORDS,
    hidden_size: WIDTH,
    intermediate_size: INNER,
    num_hidden_layers: LAYERS,
    num_attention_heads: HEADS,
    num_key_value_heads: 2,
    max_position_embeddings: LENGTH,
    hidden_act: "silu",
    rms_norm_eps: 1e-6,
    rope_theta: 500,
    tie_word_embeddings: false,
  };
}

const dense = (name: string, from: number, to: number, hasBias = true): Shapes => ({
  [`${name}.weight`]: [to, from],
  ...(hasBias && { [`${name}.bias`]: [to] }),
});
const conv1d = (name: string, from: number, to: number): Shapes => ({
  [`${name}.weight`]: [from, to],
  [`${name}.bias`]: [to],
});
const layerNorm = (name: string): Shapes => ({ [`${name}.weight`]: [WIDTH], [`${name}.bias`]: [WIDTH] });
const layers = (map: (n: number) => Shapes): Shapes =>
  Object.assign({}, ...Array.from({ length: LAYERS }, (_, n) => map(n))) as Shapes;

const bertShapes = (): Shapes => ({
  "bert.embeddings.word_embeddings.weight": [WORDS, WIDTH],
  "bert.embeddings.position_embeddings.weight": [LENGTH, WIDTH],
  "bert.embeddings.token_type_embeddings.weight": [2, WIDTH],
  ...layerNorm("bert.embeddings.LayerNorm"),
  ...layers((n) => {
    const at = `bert.encoder.layer.${n}`;
    return {
      ...dense(`${at}.attention.self.query`, WIDTH, WIDTH),
      ...dense(`${at}.attention.self.key`, WIDTH, WIDTH),
      ...dense(`${at}.attention.self.value`, WIDTH, WIDTH),
      ...dense(`${at}.attention.output.dense`, WIDTH, WIDTH),
      ...layerNorm(`${at}.attention.output.LayerNorm`),
      ...dense(`${at}.intermediate.dense`, WIDTH, INNER),
      ...dense(`${at}.output.dense`, INNER, WIDTH),
      ...layerNorm(`${at}.output.LayerNorm`),
    };
  }),
  ...dense("bert.pooler.dense", WIDTH, WIDTH),
  ...dense("cls.predictions.transform.dense", WIDTH, WIDTH),
  ...layerNorm("cls.predictions.transform.LayerNorm"),
  "cls.predictions.bias": [WORDS],
});

const gpt2Shapes = (): Shapes => ({
  "transformer.wte.weight": [WORDS, WIDTH],
  "transformer.wpe.weight": [LENGTH, WIDTH],
  ...layers((n) => {
    const at = `transformer.h.${n}`;
    return {
      ...layerNorm(`${at}.ln_1`),
      ...conv1d(`${at}.attn.c_attn`, WIDTH, 3 * WIDTH),
      ...conv1d(`${at}.attn.c_proj`, WIDTH, WIDTH),
      ...layerNorm(`${at}.ln_2`),
      ...conv1d(`${at}.mlp.c_fc`, WIDTH, 4 * WIDTH),
      ...conv1d(`${at}.mlp.c_proj`, 4 * WIDTH, WIDTH),
    };
  }),
  ...layerNorm("transformer.ln_f"),
});

function llamaShapes(config: Config, { inputBias = false, outputBias = false, headNorm }: LlamaForm): Shapes {
  const width = (config["head_dim"] as number | undefined) ?? WIDTH / HEADS;
  const [queries, keys] = [HEADS * width, 2 * width];
  return {
    "model.embed_tokens.weight": [WORDS, WIDTH],
    ...layers((n) => {
      const at = `model.layers.${n}`;
      return {
        [`${at}.input_layernorm.weight`]: [WIDTH],
        ...dense(`${at}.self_attn.q_proj`, WIDTH, queries, inputBias),
        ...dense(`${at}.self_attn.k_proj`, WIDTH, keys, inputBias),
        ...dense(`${at}.self_attn.v_proj`, WIDTH, keys, inputBias),
        ...dense(`${at}.self_attn.o_proj`, queries, WIDTH, outputBias),
        ...(headNorm && { [`${at}.self_attn.q_norm.weight`]: [width], [`${at}.self_attn.k_norm.weight`]: [width] }),
        [`${at}.post_attention_layernorm.weight`]: [WIDTH],
        ...dense(`${at}.mlp.gate_proj`, WIDTH, INNER, false),
        ...dense(`${at}.mlp.up_proj`, WIDTH, INNER, false),
        ...dense(`${at}.mlp.down_proj`, INNER, WIDTH, false),
      };
    }),
    "model.norm.weight": [WIDTH],
    ...(!config["tie_word_embeddings"] && { "lm_head.weight": [WORDS, WIDTH] }),
  };
}

/** The shapes of a model's weights by name. */
export function shapesOf(kind: Kind, config: Config = CONFIGS[kind], form = FORMS[kind as keyof typeof FORMS]): Shapes {
  if (kind === "bert") return bertShapes();
  return kind === "gpt2" ? gpt2Shapes() : llamaShapes(config, form);
}

/**
 * Random weights: multiples of 1/64 below 1, and gains of norms that much around 1. F32, F16 and BF16 hold them exactly, so
 * the reference needs no rounding of its own.
 */
export function randomWeights(shapes: Shapes, seed = 1): Weights {
  let state = seed;
  const next = () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32;
  const draw = () => Math.round((next() + next() - 1) * 40) / 64;
  return new Map(
    Object.entries(shapes).map(([name, shape]) => {
      const isGain = shape.length === 1 && name.endsWith(".weight");
      const length = shape.reduce((product, extent) => product * extent, 1);
      return [name, { shape, data: Float64Array.from({ length }, () => (isGain ? 1 : 0) + draw()) }] as const;
    }),
  );
}

export type Stored = "F32" | "F16" | "BF16";

export function bytesAs(dtype: Stored, data: ArrayLike<number>): Uint8Array {
  if (dtype === "F16") return new Uint8Array(Float16Array.from(Array.from(data)).buffer);
  const floats = Float32Array.from(data);
  if (dtype === "F32") return new Uint8Array(floats.buffer);
  return new Uint8Array(Uint16Array.from(new Uint32Array(floats.buffer), (bits) => bits >>> 16).buffer);
}

/** The bytes of a `.safetensors` file with weights. */
export function safetensorsOf(weights: Weights, dtype: Stored): Uint8Array<ArrayBuffer> {
  return safetensors(
    Object.fromEntries(
      [...weights].map(([name, { shape, data }]) => [name, { dtype, shape, bytes: bytesAs(dtype, data) }]),
    ),
  );
}

export type Files = Record<string, Uint8Array<ArrayBuffer>>;

export const textFile = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));

/** A model's files, in one file of weights. */
export function filesOf(config: Config, weights: Weights, dtype: Stored = "F32"): Files {
  return { "config.json": textFile(config), "model.safetensors": safetensorsOf(weights, dtype) };
}

/** A model's files, with its weights in shards. */
export function shardedFilesOf(config: Config, weights: Weights, dtype: Stored, shards: number): Files {
  const files: Files = { "config.json": textFile(config) };
  const names = Array.from({ length: shards }, (_, n) => `model-0000${n + 1}-of-0000${shards}.safetensors`);
  const nameOf = (n: number) => names[n % shards]!;
  names.forEach((file, n) => {
    files[file] = safetensorsOf(new Map([...weights].filter((_, at) => at % shards === n)), dtype);
  });
  files["model.safetensors.index.json"] = textFile({
    metadata: {},
    weight_map: Object.fromEntries([...weights.keys()].map((name, n) => [name, nameOf(n)])),
  });
  return files;
}

/** The models that predict the next token. */
export const DECODERS = (Object.keys(CONFIGS) as Kind[]).filter((kind) => kind !== "bert");

/** Files of a model that reads texts of 140 tokens. */
export function longFiles(kind: (typeof DECODERS)[number]): Files {
  const isGpt2 = kind === "gpt2";
  const config = { ...CONFIGS[kind], [isGpt2 ? "n_positions" : "max_position_embeddings"]: 140 };
  const places = isGpt2 ? { "transformer.wpe.weight": [140, 16] } : {};
  return filesOf(config, randomWeights({ ...shapesOf(kind), ...places }));
}
