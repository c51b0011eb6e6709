// Fields of config.json as published files have them, and numbers that no text can go on from.

import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createAttention, type Attention } from "headwise";
import { inspectModel, loadModel } from "headwise/models";

import { FAMILY_MODELS } from "./familyModels.js";
import { CONFIGS, filesOf, randomWeights, shapesOf, shardedFilesOf, textFile, type Config } from "./smallModels.js";

const SIZES = { hidden_size: 24, num_hidden_layers: 2, num_attention_heads: 4, intermediate_size: 40, vocab_size: 37 };
/** For families that have another number of them by themselves. */
const KEY_HEADS = { num_key_value_heads: 4 };
const planOf = (config: Config) => inspectModel({ "config.json": textFile({ ...SIZES, ...config }) });

describe("config.json", () => {
  const neox = { model_type: "gpt_neox", hidden_size: 32, rotary_pct: 0.5, rotary_emb_base: 5000 };
  test.each<[string, Config]>([
    ["Qwen 2 without sections", { model_type: "qwen2", ...KEY_HEADS, use_mrope: false }],
    [
      "Gemma 2 with its window under two names",
      { model_type: "gemma2", ...KEY_HEADS, sliding_window: 64, sliding_window_size: 64 },
    ],
    ["GPT-NeoX with both names of rotary fields", { ...neox, rope_theta: 5000, partial_rotary_factor: 0.5 }],
    ["Gemma 3 without a head", { model_type: "gemma3_text", ...KEY_HEADS, architectures: ["Gemma3TextModel"] }],
    [
      "a cross-encoder, with what a program makes of its scores",
      {
        model_type: "bert",
        architectures: ["BertForSequenceClassification"],
        sbert_ce_default_activation_function: "torch.nn.modules.linear.Identity",
        sentence_transformers: { activation_fn: "torch.nn.modules.linear.Identity", version: "4.1.0" },
      },
    ],
    [
      "GPT-NeoX with a program for its prompts",
      {
        ...neox,
        custom_pipelines: { "text-generation": { impl: "instruct_pipeline.InstructionTextGenerationPipeline" } },
      },
    ],
    [
      "TinyBERT, with what is left of its making",
      { model_type: "bert", cell: {}, emb_size: 24, pre_trained: "", structure: [], training: "" },
    ],
    [
      "GPT-2 with fields of GPT, notes, and sizes under both names",
      {
        model_type: "gpt2",
        ...{ n_embd: 24, n_layer: 2, n_head: 4, n_positions: 32, intermediate_size: null },
        ...{ max_position_embeddings: 32, n_special: 0, predict_special_tokens: true },
        ...{ author: "me", created_date: "2021-04-28", name: "small" },
      },
    ],
    [
      "GPT-Neo with sizes under both names",
      { model_type: "gpt_neo", num_layers: 2, num_heads: 4, attention_types: [[["global"], 2]] },
    ],
    [
      "DistilBERT with sizes under both names",
      { model_type: "distilbert", dim: 24, hidden_dim: 40, n_layers: 2, n_heads: 4, intermediate_size: null },
    ],
    ["ModernBERT whose positions have another name", { model_type: "modernbert", position_embedding_type: "sans_pos" }],
  ])("of %s is read", async (_, config) => {
    expect((await planOf(config)).unknownFields).toEqual([]);
  });

  test.each<[string, Config, string]>([
    ["sections", { model_type: "qwen2", use_mrope: true }, "use_mrope"],
    [
      "another window",
      { model_type: "gemma2", sliding_window: 64, sliding_window_size: 32 },
      "sliding_window_size must be 64",
    ],
    ["another width of words", { model_type: "bert", emb_size: 12 }, "emb_size must be 24, as hidden_size is, got 12"],
    ["cells", { model_type: "bert", cell: { a: 1 } }, "cell must be empty"],
    [
      "another number of layers",
      { model_type: "gpt2", n_embd: 24, n_layer: 3, n_head: 4, intermediate_size: null },
      "num_hidden_layers must be 3, as n_layer is, got 2",
    ],
    ["another base", { ...neox, rope_theta: 10000 }, "rope_theta must be 5000"],
    [
      "no feature that turns",
      { ...neox, rotary_pct: 0.1 },
      "must turn an even number of each head's 8 features, got 0",
    ],
    [
      "a feature that turns alone",
      { ...neox, rotary_pct: 0.9 },
      "must turn an even number of each head's 8 features, got 7",
    ],
    [
      "more features that turn",
      { ...neox, rotary_pct: 2 },
      "must turn an even number of each head's 8 features, got 16",
    ],
    ["half a head that turns", { model_type: "phi3", partial_rotary_factor: 0.5 }, "each head's 6 features, got 3"],
    ["heads that cannot turn", { model_type: "llama", head_dim: 5 }, "each head's 5 features, got 5"],
    [
      "yarn and a base of 1",
      { model_type: "llama", rope_theta: 1, rope_scaling: { type: "yarn", factor: 2 } },
      "rope_theta must be greater than 1 with yarn, got 1",
    ],
    [
      "yarn whose slow pairs turn more than the fast ones",
      { model_type: "llama", rope_scaling: { type: "yarn", factor: 2, beta_slow: 64 } },
      "rope_scaling.beta_fast must be at least beta_slow, got 32 and 64",
    ],
    [
      "llama3 without pairs between",
      { model_type: "llama", rope_scaling: { type: "llama3", factor: 2, low_freq_factor: 4 } },
      "rope_scaling.high_freq_factor must be greater than low_freq_factor, got 4 and 4",
    ],
    ...["rope_theta", "rms_norm_eps"].flatMap((name) =>
      [1e300, 1e-300].map((value): [string, Config, string] => [
        `${name} of ${value}`,
        { model_type: "llama", [name]: value },
        `config.json: ${name} must be a number above 0 that float32 holds, got ${value}`,
      ]),
    ),
    [
      "a factor of 1e300",
      { model_type: "llama", rope_scaling: { type: "linear", factor: 1e300 } },
      "rope_scaling.factor must be a number above 0 that float32 holds, got 1e+300",
    ],
    [
      "an mscale of 1e39",
      { model_type: "llama", rope_scaling: { type: "yarn", factor: 2, mscale: 1e39 } },
      "rope_scaling.mscale must be a number of 0 or more that float32 holds, got 1e+39",
    ],
    [
      "a factor of a pair that is 1e300",
      {
        model_type: "phi3",
        original_max_position_embeddings: 16,
        rope_scaling: { type: "longrope", short_factor: [1, 1, 1e300], long_factor: [1, 1, 1] },
      },
      "rope_scaling.short_factor must be a list of 3 numbers above 0 that float32 holds, got",
    ],
    [
      "longrope after a training of one token",
      {
        model_type: "phi3",
        original_max_position_embeddings: 1,
        rope_scaling: { type: "longrope", short_factor: [1, 1, 1], long_factor: [1, 1, 1] },
      },
      "original_max_position_embeddings must be greater than 1 with longrope, got 1",
    ],
    [
      "kinds of layers that are no list",
      { model_type: "gemma2", layer_types: "sliding_attention" },
      'layer_types must be 2 times "full_attention" or "sliding_attention", got "sliding_attention"',
    ],
  ])("with %s is refused", async (_, config, message) => {
    await expect(planOf(config)).rejects.toThrow(message);
  });

  test("of Qwen 3 has heads of 128 features by itself, and that of Qwen 2 the width by the heads", async () => {
    expect((await planOf({ model_type: "qwen3", ...KEY_HEADS })).config.headDim).toBe(128);
    expect((await planOf({ model_type: "qwen2", ...KEY_HEADS })).config.headDim).toBe(6);
  });

  test.each([
    ["mistral", 8],
    ["qwen2", 32],
    ["qwen3", 32],
    ["gemma", 16],
    ["gemma2", 4],
    ["gemma3_text", 4],
    ["llama", 64],
    ["phi3", 64],
  ])(
    "of %s without a number of key heads has %i of them, and with null as many as query heads",
    async (type, heads) => {
      const fields = { model_type: type, hidden_size: 256, head_dim: 4, num_attention_heads: 64 };
      expect((await planOf(fields)).config.numKvHeads).toBe(heads);
      expect((await planOf({ ...fields, num_key_value_heads: null })).config.numKvHeads).toBe(64);
    },
  );

  const gemma = { model_type: "gemma", architectures: ["GemmaForCausalLM"], ...KEY_HEADS };
  test.each<[string, Config]>([
    ["tie_word_embeddings", gemma],
    ["attention_bias", neox],
  ])("counts %s as false if it is null", async (name, config) => {
    const parametersOf = async (fields: Config) => (await planOf({ ...config, ...fields })).parameters;
    expect(await parametersOf({ [name]: null })).toBe(await parametersOf({ [name]: false }));
    expect(await parametersOf({ [name]: null })).not.toBe(await parametersOf({}));
  });

  test.each(["gemma2", "gemma3_text"])("of %s has its activation in hidden_activation only", async (model_type) => {
    const activationOf = async (fields: Config) =>
      (await planOf({ model_type, ...KEY_HEADS, ...fields })).config.activation;
    expect(await activationOf({ hidden_act: "silu" })).toBe("gelu_pytorch_tanh");
    expect(await activationOf({ hidden_act: "gelu_pytorch_tanh", hidden_activation: "gelu" })).toBe("gelu");
  });

  test("may count the labels of a classifier without naming them", async () => {
    const labelsOf = async (fields: Config) =>
      (await planOf({ model_type: "bert", architectures: ["BertForSequenceClassification"], ...fields })).config.labels;
    expect(await labelsOf({ num_labels: 3 })).toEqual(["LABEL_0", "LABEL_1", "LABEL_2"]);
    expect(await labelsOf({})).toEqual(["LABEL_0", "LABEL_1"]);
    expect(await labelsOf({ num_labels: 1, id2label: { 0: "score" } })).toEqual(["score"]);
  });
});

describe("a model", () => {
  let hw: Attention;
  beforeAll(async () => {
    hw = await createAttention({ backend: "wasm", threads: 1 });
  });
  afterAll(() => hw.dispose());

  test("of Phi-3 may have heads of another width, and adds 1e-5 to variances by itself", async () => {
    const [width, hidden, heads, head] = [24, 40, 4, 8];
    const config = { ...SIZES, model_type: "phi3", head_dim: head };
    const block = (n: number) => ({
      [`model.layers.${n}.input_layernorm.weight`]: [width],
      [`model.layers.${n}.post_attention_layernorm.weight`]: [width],
      [`model.layers.${n}.self_attn.qkv_proj.weight`]: [3 * heads * head, width],
      [`model.layers.${n}.self_attn.o_proj.weight`]: [width, heads * head],
      [`model.layers.${n}.mlp.gate_up_proj.weight`]: [2 * hidden, width],
      [`model.layers.${n}.mlp.down_proj.weight`]: [width, hidden],
    });
    const ends = {
      "model.norm.weight": [width],
      "model.embed_tokens.weight": [37, width],
      "lm_head.weight": [37, width],
    };
    const model = await loadModel(hw, filesOf(config, randomWeights({ ...block(0), ...block(1), ...ends })));
    expect(model.config).toMatchObject({ headDim: head, epsilon: 1e-5 });
    const { value } = await model.generate([1, 2, 3], { maxNewTokens: 1 }).next();
    expect(value!.logits.every(Number.isFinite)).toBe(true);
    model.dispose();
  });

  test("without its word head names that of its family", async () => {
    const { config, shapes } = FAMILY_MODELS.gpt_neox;
    const { "embed_out.weight": _, ...others } = shapes;
    const model = await loadModel(hw, filesOf(config, randomWeights(others)));
    expect(() => model.generate([1])).toThrow(
      "model.generate: the files have no head that scores tokens (embed_out.weight)",
    );
    model.dispose();
  });

  test("whose scores are NaN stops with an error", async () => {
    const weights = [...randomWeights(shapesOf("llama"))].map(([name, { shape, data }], n) => {
      return [name, { shape, data: n === 0 ? Float64Array.from(data, () => NaN) : data }] as const;
    });
    const model = await loadModel(hw, filesOf(CONFIGS.llama, new Map(weights)));
    for (const temperature of [0, 1])
      await expect(model.generate([1, 2], { maxNewTokens: 2, temperature }).next()).rejects.toThrow(
        "model.generate: the scores of the token at position 2 have NaN or infinity",
      );
    model.dispose();
  });

  test("whose files have a tensor twice is refused", async () => {
    const files = shardedFilesOf(CONFIGS.llama, randomWeights(shapesOf("llama")), "F32", 2);
    const [first, second] = Object.keys(files).filter((file) => file.endsWith(".safetensors"));
    const twice = loadModel(hw, { ...files, [second!]: files[first!]! });
    await expect(twice).rejects.toMatchObject({ name: "OptionError", code: "CORRUPT_DATA" });
    await expect(twice).rejects.toThrow("which another file has too");
  });
});
