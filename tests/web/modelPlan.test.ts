// What inspectModel and loadModel say of a model before a weight is read.

import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import {
  createAttention,
  OptionError,
  OutOfMemoryError,
  UnsupportedError,
  type Attention,
  type HeadwiseError,
} from "headwise";
import { inspectModel, loadModel, type LoadModelOptions, type ModelFileList } from "headwise/models";
import { createAttention as createInWorker } from "headwise/worker";

import { safetensors } from "./safetensorsFile.js";
import { errorOf } from "./refusal.js";
import {
  bytesAs,
  CONFIGS,
  filesOf,
  randomWeights,
  shapesOf,
  shardedFilesOf,
  textFile,
  type Config,
  type Files,
  type Kind,
  type Stored,
} from "./smallModels.js";

let hw: Attention;
beforeAll(async () => {
  hw = await createAttention({ backend: "wasm", variant: "simd", threads: 1 });
});
afterAll(() => hw.dispose());

const KINDS = Object.keys(CONFIGS) as Kind[];
const PRECISIONS = ["as-stored", "float32", "float16", "bfloat16", "int8"] as const;
const TOKENS = [3, 17, 5, 28];

const weightsOf = (kind: Kind) => randomWeights(shapesOf(kind));
const small = (kind: Kind, config: Config = CONFIGS[kind], stored: Stored = "F32") =>
  filesOf(config, weightsOf(kind), stored);
const withConfig = (kind: Kind, fields: Config) => small(kind, { ...CONFIGS[kind], ...fields });

const loadError = (files: ModelFileList, options: LoadModelOptions = {}) => errorOf(loadModel(hw, files, options));

/** The words of an error, with those of its hint. */
const wordsOf = ({ message, hint }: HeadwiseError) => `${message} ${hint}`;

const logitsOf = async (files: ModelFileList, options: LoadModelOptions = {}) => {
  const model = await loadModel(hw, files, options);
  const { logits } = await model.run(TOKENS);
  model.dispose();
  return logits!.data;
};

/** Files with other names of tensors. */
function renamed(kind: Kind, rename: (name: string) => string): Files {
  const weights = new Map([...weightsOf(kind)].map(([name, weight]) => [rename(name), weight]));
  return filesOf(CONFIGS[kind], weights);
}

/** Files with more tensors. */
function withTensors(kind: Kind, more: Parameters<typeof safetensors>[0]): Files {
  const all = [...weightsOf(kind)].map(
    ([name, { shape, data }]) => [name, { dtype: "F32", shape, bytes: bytesAs("F32", data) }] as const,
  );
  return { ...small(kind), "model.safetensors": safetensors({ ...Object.fromEntries(all), ...more }) };
}

/** A file of zeros, of which only the header is real. It notes what is read. */
function emptyFile(config: Config, shapes: Readonly<Record<string, readonly number[]>>, dtype: "F32" | "BF16") {
  const size = dtype === "F32" ? 4 : 2;
  let end = 0;
  const header = Object.entries(shapes).map(([name, shape]) => {
    const from = end;
    end += size * shape.reduce((product, extent) => product * extent, 1);
    return [name, { dtype, shape, data_offsets: [from, end] }] as const;
  });
  const text = textFile(Object.fromEntries(header));
  const start = new Uint8Array(8 + text.length);
  new DataView(start.buffer).setBigUint64(0, BigInt(text.length), true);
  start.set(text, 8);
  const reads: number[] = [];
  const file = {
    size: start.length + end,
    slice: (from: number, to: number) => {
      reads.push(to);
      const real = start.subarray(from, to);
      return new Blob([real, new Uint8Array(to - from - real.length)]);
    },
  };
  return { files: { "config.json": textFile(config), "model.safetensors": file }, reads, header: start.length };
}

describe("inspectModel", () => {
  test.each(KINDS.flatMap((kind) => (["F32", "F16", "BF16"] as const).map((stored) => [kind, stored] as const)))(
    "gives the bytes of %s as %s that loadModel then keeps",
    async (kind, stored) => {
      const files = small(kind, CONFIGS[kind], stored);
      const plan = await inspectModel(files);
      for (const precision of PRECISIONS) {
        const model = await loadModel(hw, files, { precision });
        expect(plan.bytes[precision]).toBe(model.bytes);
        expect(plan.config).toEqual(model.config);
        model.dispose();
      }
      const asStored = { F32: "float32", F16: "float16", BF16: "bfloat16" } as const;
      expect(plan.bytes["as-stored"]).toBe(plan.bytes[asStored[stored]]);
      expect(plan.bytes.bfloat16).toBe(plan.bytes.float16);
      const numbers = [...weightsOf(kind).values()].reduce((sum, { data }) => sum + data.length, 0);
      expect([plan.parameters, plan.storedBytes]).toEqual([numbers, (stored === "F32" ? 4 : 2) * numbers]);
      expect(plan.fits).toEqual(PRECISIONS);
      expect([plan.missingFiles, plan.unusedTensors, plan.unknownFields]).toEqual([[], [], []]);
    },
  );

  test("is a plain object", async () => {
    const plan = await inspectModel(small("gpt2"));
    expect(structuredClone(plan)).toEqual(plan);
  });

  test("names tensors and fields that nothing reads", async () => {
    const files = {
      ...withTensors("gpt2", { "transformer.h.0.attn.bias": { dtype: "BOOL", shape: [3], bytes: new Uint8Array(3) } }),
      "config.json": textFile({ ...CONFIGS.gpt2, attn_pdrop: 0.1, alibi: true }),
    };
    expect(await inspectModel(files)).toMatchObject({
      unusedTensors: ["transformer.h.0.attn.bias"],
      ignoredFields: ["attn_pdrop"],
      unknownFields: ["alibi"],
    });
    const error = await loadError(files);
    expect(error.message).toContain("loadModel: config.json: alibi must be absent");
    expect(error.message).toContain("got true");
    expect(UnsupportedError.is(error)).toBe(true);
  });

  test("names files that are missing, and counts what would be in them", async () => {
    const sharded = shardedFilesOf(CONFIGS.llama, weightsOf("llama"), "F32", 3);
    const whole = await inspectModel(sharded);
    delete sharded["model-00002-of-00003.safetensors"];
    const part = await inspectModel(sharded);
    expect(part).toEqual({ ...whole, missingFiles: ["model-00002-of-00003.safetensors"] });
    const { "config.json": config } = small("qwen3");
    const none = await inspectModel({ "config.json": config! });
    const all = await inspectModel(small("qwen3"));
    expect(none).toEqual({ ...all, missingFiles: ["model.safetensors"] });
  });

  test("counts the head of a language model whose weights are missing, and none of a model without one", async () => {
    const { parameters } = await inspectModel(small("llama"));
    const head = CONFIGS.llama.vocab_size * CONFIGS.llama.hidden_size;
    const counted = async (architecture: string) =>
      (await inspectModel({ "config.json": textFile({ ...CONFIGS.llama, architectures: [architecture] }) })).parameters;
    expect(await counted("LlamaForCausalLM")).toBe(parameters);
    expect(await counted("LlamaModel")).toBe(parameters - head);
  });

  test("reads no weight, however large they are", async () => {
    const config = { ...CONFIGS.qwen2, vocab_size: 2 ** 20, hidden_size: 2 ** 12, num_hidden_layers: 1 };
    const shapes = Object.fromEntries(
      Object.entries(shapesOf("qwen2"))
        .filter(([name]) => !name.includes("layers.1."))
        .map(([name, shape]) => [name, shape.map((n) => ({ 29: 2 ** 20, 16: 2 ** 12, 8: 2 ** 11 })[n] ?? n)]),
    );
    const { files, reads, header } = emptyFile(config, shapes, "BF16");
    const plan = await inspectModel(files, { hw });
    expect(reads).toEqual([8, header]);
    expect(plan.bytes.float32).toBeGreaterThan(16e9);
    expect(plan.fits).toEqual([]);
    const error = await loadError(files, { precision: "float16" });
    expect(reads).toEqual([8, header, 8, header]);
    expect(error.message).toMatch(
      /^loadModel: the model needs \d\.\d\d GB with precision "float16", and the limit is 1\.07 GB; precision "int8" needs \d\.\d\d GB$/,
    );
    expect(OutOfMemoryError.is(error)).toBe(true);
  });

  test("compares with the memory of an instance, or with a number", async () => {
    const little = await createAttention({ backend: "wasm", threads: 1, maximumMemory: 2 ** 24 });
    // the table takes 25.6 MB as float32, 12.8 MB as float16 and 6.4 MB as int8
    const config = { ...CONFIGS.llama, vocab_size: 400_000, tie_word_embeddings: true };
    const shapes = Object.fromEntries(
      Object.entries(shapesOf("llama", config)).map(([name, shape]) => [
        name,
        shape.map((n) => (n === 29 ? 400_000 : n)),
      ]),
    );
    const { files } = emptyFile(config, shapes, "F32");
    const given = await inspectModel(files, { hw: little });
    expect(given.fits).toEqual(["float16", "bfloat16", "int8"]);
    expect(await inspectModel(files, { maximumMemory: 2 ** 24 })).toEqual(given);
    const error = await errorOf(loadModel(little, files));
    expect(error.hint).toContain("Choose a precision that fits");
    const model = await loadModel(little, files, { precision: "float16" });
    expect(model.bytes).toBe(given.bytes.float16);
    model.dispose();
    little.dispose();
    expect((await errorOf(inspectModel(files, { hw, maximumMemory: 2 ** 24 }))).message).toContain("maximumMemory");
    for (const maximumMemory of [-1, null as never])
      expect((await errorOf(inspectModel(files, { maximumMemory }))).message).toContain("maximumMemory must be");
    for (const none of [null, false, 5, {}] as never[]) {
      const refused = await errorOf(inspectModel(files, { hw: none }));
      expect(refused.message).toContain("inspectModel: hw must be an instance, got");
      expect(OptionError.is(refused)).toBe(true);
    }
    expect((await errorOf(inspectModel(files, { hq: hw } as never))).message).toContain(
      'unknown option "hq"; did you mean "hw"?',
    );
  });

  test("counts matrices in JavaScript beside a worker", async () => {
    const worker = await createInWorker({ variant: "simd", threads: 1 });
    const plan = await inspectModel(small("gpt2"), { hw: worker });
    const inPage = await inspectModel(small("gpt2"), { hw });
    expect(plan.bytes).toEqual(inPage.bytes);
    expect(plan.neededBytes.float32).toBeLessThan(inPage.neededBytes.float32);
    worker.dispose();
  });
});

describe("Folders", () => {
  const at = (folder: string, files: Files): Files =>
    Object.fromEntries(Object.entries(files).map(([name, bytes]) => [`${folder}/${name}`, bytes]));
  const other = filesOf(CONFIGS.gpt2, randomWeights(shapesOf("gpt2"), 7));
  const two = { ...at("models/a", small("gpt2")), ...at("models/b", other) };

  test("with a config.json each must be named by an option, and are listed", async () => {
    const error = await loadError(two);
    expect(error.message).toContain('the option folder must name one, got "models/a", "models/b"');
    expect(OptionError.is(error)).toBe(true);
    expect(await logitsOf(two, { folder: "models/a" })).toEqual(await logitsOf(small("gpt2")));
    expect(await logitsOf(two, { folder: "models/b/" })).toEqual(await logitsOf(other));
    expect((await inspectModel(two, { folder: "models/b" })).folder).toBe("models/b");
    const wrong = await loadError(two, { folder: "c" });
    expect(wrong.message).toContain('folder must be one that has config.json: "models/a" or "models/b", got "c"');
  });

  test("are not mixed", async () => {
    const { "b/config.json": _, ...rest } = {
      ...at("a", { "config.json": small("gpt2")["config.json"]! }),
      ...at("b", other),
    };
    const error = await loadError(rest);
    expect(error.message).toContain("files must have model.safetensors");
    expect(error.message).toContain("got config.json");
  });

  test("inside of the folder of a model belong to it", async () => {
    const files = { ...small("gpt2"), "1_Pooling/config.json": textFile({ pooling_mode_cls_token: true }) };
    expect((await inspectModel(at("model", files))).folder).toBe("model");
    expect(await logitsOf(files)).toEqual(await logitsOf(small("gpt2")));
  });
});

describe("Fields of config.json", () => {
  test.each<readonly [Kind, Config, string]>([
    ["llama", { is_causal: false }, "is_causal must be true, got false"],
    ["bert", { is_causal: true }, "is_causal must be false, got true"],
    [
      "llama",
      { rope_parameters: { full_attention: { rope_theta: 1e4 } } },
      "rope_parameters.full_attention must be absent",
    ],
    [
      "llama",
      { rope_parameters: { partial_rotary_factor: 0.5 } },
      "rope_parameters.partial_rotary_factor must be 1, got 0.5",
    ],
    [
      "llama",
      { rope_scaling: { rope_type: "yarn", factor: 2, mrope_section: [1] } },
      "rope_scaling.mrope_section must be absent",
    ],
    ["llama", { rope_interleaved: true }, "rope_interleaved must be false, got true"],
    ["llama", { attention_multiplier: 0.5 }, "attention_multiplier must be absent"],
    ["bert", { architectures: ["BertForQuestionAnswering"] }, 'architectures must be "…Model" or "…ForMaskedLM"'],
    ["llama", { architectures: ["LlamaForSequenceClassification"] }, "architectures must be"],
    ["bert", { pruned_heads: { 0: [1] } }, "pruned_heads must be empty, got an object with 0"],
    ["gpt2", { is_encoder_decoder: true }, "is_encoder_decoder must be false, got true"],
    ["mistral", { attention_bias: true }, "attention_bias must be false, got true"],
    ["qwen3", { mlp_bias: true }, "mlp_bias must be false, got true"],
    [
      "gpt2",
      { auto_map: { AutoConfig: "own.GPT2Config", AutoModel: "own.GPT2AlibiModel" } },
      "auto_map must name classes of GPT2 only, because others may compute something else",
    ],
    ["gpt2", { auto_map: "own.GPT2Model" }, "auto_map must name classes of GPT2 only"],
    ["gpt2", { model_type: undefined, architectures: ["T5Model"] }, "architectures must begin with"],
  ])("of %s: %j is refused", async (kind, fields, message) => {
    const error = await loadError(withConfig(kind, fields));
    expect(error.message).toContain(`loadModel: config.json: ${message}`);
    expect(UnsupportedError.is(error)).toBe(true);
  });

  test.each<readonly [string, Kind, Config, Config]>([
    ["rope_theta beside rope_parameters", "llama", { rope_theta: 500, rope_parameters: { rope_type: "default" } }, {}],
    ["rope_theta in rope_parameters", "llama", { rope_theta: 9, rope_parameters: { rope_theta: 500 } }, {}],
    [
      "both names of the kind",
      "llama",
      { rope_scaling: { type: "linear", rope_type: "linear", factor: 2 } },
      { rope_scaling: { type: "linear", factor: 2 } },
    ],
    ["architectures without model_type", "gpt2", { model_type: undefined, architectures: ["GPT2LMHeadModel"] }, {}],
    ["no max_position_embeddings", "llama", { max_position_embeddings: undefined }, {}],
    [
      "a window without a use",
      "qwen2",
      { use_sliding_window: false, max_window_layers: 0 },
      { use_sliding_window: false },
    ],
    [
      "auto_map with classes of the family",
      "llama",
      {
        auto_map: {
          AutoConfig: "configuration_llama.LlamaConfig",
          AutoModelForCausalLM: "owner/name--modeling_llama.LlamaForCausalLM",
          AutoTokenizer: ["Xenova/gpt-4o", null],
        },
      },
      {},
    ],
    [
      "notes",
      "bert",
      { _own: 1, id2label: { 0: "x" }, torch_dtype: "float32", use_cache: true, pooler_type: "first" },
      {},
    ],
  ])("%s computes what the plain file does", async (_, kind, fields, plain) => {
    expect(await logitsOf(withConfig(kind, fields))).toEqual(await logitsOf(withConfig(kind, plain)));
  });

  test("max_sequence_length is the older name, and 2048 the default", async () => {
    const lengthOf = async (fields: Config) =>
      (await inspectModel(withConfig("llama", { max_position_embeddings: undefined, ...fields }))).config.maxLength;
    expect(await lengthOf({})).toBe(2048);
    expect(await lengthOf({ max_sequence_length: 77 })).toBe(77);
  });

  test("of Phi-3 as published: classes of its own, and the length of its training without longrope", async () => {
    const config = {
      ...{ model_type: "phi3", architectures: ["Phi3ForCausalLM"], vocab_size: 32064, hidden_size: 3072 },
      ...{ intermediate_size: 8192, num_hidden_layers: 32, num_attention_heads: 32, num_key_value_heads: 32 },
      ...{ max_position_embeddings: 4096, original_max_position_embeddings: 4096, rope_scaling: null },
      auto_map: { AutoConfig: "configuration_phi3.Phi3Config", AutoModelForCausalLM: "modeling_phi3.Phi3ForCausalLM" },
    };
    expect((await inspectModel({ "config.json": textFile(config) })).unknownFields).toEqual([]);
    const factors = Array.from({ length: 48 }, () => 1);
    const scaled = { max_position_embeddings: 131072, original_max_position_embeddings: undefined };
    const lengthOf = async (type: string) =>
      (
        await inspectModel({
          "config.json": textFile({
            ...config,
            ...scaled,
            rope_scaling: { type, short_factor: factors, long_factor: factors },
          }),
        })
      ).config.maxLength;
    for (const name of ["longrope", "su", "yarn"]) expect(await lengthOf(name)).toBe(4096);
    for (const name of ["linear", "llama3"])
      await expect(lengthOf(name)).rejects.toThrow(
        `rope_scaling.type must be "default" or "longrope" or "su" or "yarn", got "${name}"`,
      );
  });

  test("mscale and mscale_all_dim of yarn may be 0, which means that they are not used", async () => {
    const yarn = { type: "yarn", factor: 4, original_max_position_embeddings: 8 };
    const logits = (rope_scaling: object) => logitsOf(withConfig("llama", { rope_scaling }));
    expect(await logits({ ...yarn, mscale: 0, mscale_all_dim: 0 })).toEqual(await logits(yarn));
    expect(await logits({ ...yarn, mscale: 1, mscale_all_dim: 0 })).toEqual(await logits(yarn));
  });

  test("truncate of yarn may be null, which is false as in Python, and is true if it is absent", async () => {
    const yarn = { type: "yarn", factor: 4, original_max_position_embeddings: 8, beta_fast: 1.15, beta_slow: 0.73 };
    const logits = (truncate?: boolean | null) =>
      logitsOf(
        withConfig("llama", { rope_theta: 2, rope_scaling: { ...yarn, ...(truncate !== undefined && { truncate }) } }),
      );
    expect(await logits(null)).toEqual(await logits(false));
    expect(await logits()).toEqual(await logits(true));
    expect(await logits(true)).not.toEqual(await logits(false));
  });

  test("may hold Infinity and NaN, which Python writes", async () => {
    const text = JSON.stringify({ ...CONFIGS.gpt2, temperature: "INF", top_p: "NAN", problem_type: "NaN Infinity" });
    const config = new TextEncoder().encode(text.replace('"INF"', "-Infinity").replace('"NAN"', "NaN"));
    expect(await logitsOf({ ...small("gpt2"), "config.json": config })).toEqual(await logitsOf(small("gpt2")));
    const wrong = new TextEncoder().encode(text.replace('"layer_norm_epsilon":0.00001', '"layer_norm_epsilon":NaN'));
    expect((await loadError({ ...small("gpt2"), "config.json": wrong })).message).toContain(
      "layer_norm_epsilon must be",
    );
  });

  test("may hold texts of 16 MB, also beside numbers of Python", async () => {
    const text = JSON.stringify({ ...CONFIGS.gpt2, _note: '"NaN\\n'.repeat(2 ** 21), top_p: "NAN" });
    for (const config of [text, text.replace('"NAN"', "NaN")])
      expect((await inspectModel({ "config.json": new TextEncoder().encode(config) })).config.modelType).toBe("gpt2");
  });

  test("generation_config.json has the tokens that end a text", async () => {
    const files = {
      ...withConfig("llama", { eos_token_id: 2 }),
      "generation_config.json": textFile({ eos_token_id: [3, 5] }),
    };
    expect((await inspectModel(files)).config.stopTokens).toEqual([3, 5]);
    const without = { ...files, "generation_config.json": textFile({ temperature: 1 }) };
    expect((await inspectModel(without)).config.stopTokens).toEqual([2]);
  });

  test.each([
    ["gpt2", 50256],
    ["llama", 2],
    ["mistral", 2],
    ["phi3", 32000],
    ["gemma", 1],
    ["gemma3_text", 1],
    ["qwen2", undefined],
    ["bert", undefined],
  ] as const)("%s ends with the token of transformers if no file says one, and null is none", async (type, token) => {
    const config: Config = {
      ...CONFIGS[type === "gpt2" || type === "bert" ? type : "llama"],
      model_type: type,
      vocab_size: 60_000,
    };
    const stopTokens = async (eos: null | undefined) =>
      (await inspectModel({ "config.json": textFile({ ...config, eos_token_id: eos }) })).config.stopTokens;
    expect(await stopTokens(undefined)).toEqual(token === undefined ? [] : [token]);
    expect(await stopTokens(null)).toEqual([]);
  });

  test("tokens that there are not end no text, so generate takes those of the configuration", async () => {
    const model = await loadModel(hw, withConfig("llama", { eos_token_id: [-1, 28, 29] }));
    expect(model.config.stopTokens).toEqual([28]);
    expect((await inspectModel(withConfig("gpt2", { eos_token_id: undefined }))).config.stopTokens).toEqual([]);
    model.dispose();
  });

  test.each([
    ["llama", "model.layers.1.self_attn.q_proj", [16]],
    ["llama", "model.layers.0.mlp.down_proj", [16]],
    ["llama", "model.norm", [16]],
    ["llama", "lm_head", [29]],
  ] as const)("%s is refused with a bias of %s that config.json does not know", async (kind, stem, shape) => {
    const more = new Map([...weightsOf(kind), ...randomWeights({ [`${stem}.bias`]: shape })]);
    const error = await errorOf(loadModel(hw, filesOf(CONFIGS[kind], more)));
    expect(error.message).toBe(
      `loadModel: tensor "${stem}.bias" must be absent, because config.json says that "${stem}" has no bias`,
    );
    expect(UnsupportedError.is(error)).toBe(true);
  });

  test("a buffer of GPT-2 and a second name of BERT's bias are no biases of matrices", async () => {
    const gpt2 = new Map([...weightsOf("gpt2"), ...randomWeights({ "transformer.h.0.attn.bias": [1, 1, 32, 32] })]);
    expect((await inspectModel(filesOf(CONFIGS.gpt2, gpt2))).unusedTensors).toEqual(["transformer.h.0.attn.bias"]);
    const second = "cls.predictions.decoder";
    const bert = new Map([
      ...weightsOf("bert"),
      ...randomWeights({ [`${second}.weight`]: [29, 16], [`${second}.bias`]: [29] }),
    ]);
    const untied = filesOf({ ...CONFIGS.bert, tie_word_embeddings: false }, bert);
    expect((await inspectModel(untied)).unusedTensors).toEqual([`${second}.bias`]);
  });

  test("generation ends at each token of that list", async () => {
    const tokensOf = async (files: ModelFileList, options: { readonly stopTokens?: readonly number[] }) => {
      const model = await loadModel(hw, files);
      const tokens: number[] = [];
      for await (const { token } of model.generate([3, 1], { maxNewTokens: 6, ...options })) tokens.push(token);
      model.dispose();
      return tokens;
    };
    const all = await tokensOf(small("llama"), { stopTokens: [] });
    const end = all[2]!;
    const unused = [...Array(29).keys()].find((token) => !all.includes(token))!;
    const ended = { ...small("llama"), "generation_config.json": textFile({ eos_token_id: [unused, end] }) };
    expect(await tokensOf(ended, {})).toEqual(all.slice(0, all.indexOf(end) + 1));
  });
});

describe("A usual mistake is named:", () => {
  const pointer = new TextEncoder().encode(
    "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n",
  );

  test.each(["config.json", "model.safetensors"])("a pointer of Git LFS as %s", async (name) => {
    const error = await loadError({ ...small("gpt2"), [name]: pointer });
    expect(error.message).toContain(`loadModel: ${name} is a pointer of Git LFS`);
    expect(error.hint).toContain("git lfs pull");
    expect(error.code).toBe("CORRUPT_DATA");
  });

  test.each<readonly [string, () => ModelFileList, string]>([
    ["GPTQ", () => withConfig("llama", { quantization_config: { quant_method: "gptq", bits: 4 } }), "GPTQ"],
    ["AWQ", () => withConfig("llama", { quantization_config: { quant_method: "awq" } }), "AWQ"],
    ["bitsandbytes", () => withConfig("llama", { quantization_config: { load_in_4bit: true } }), "bitsandbytes"],
    [
      "MLX",
      () =>
        withConfig("llama", {
          quantization: { group_size: 64, bits: 4 },
          quantization_config: { group_size: 64, bits: 4 },
        }),
      "MLX",
    ],
    ["older GPTQ", () => ({ ...small("llama"), "quantize_config.json": textFile({ bits: 4 }) }), "GPTQ"],
    [
      "tensors of GPTQ",
      () => renamed("llama", (name) => name.replace("q_proj.weight", "q_proj.qweight")),
      "GPTQ or AWQ",
    ],
    ["GGUF alone", () => ({ "model.Q4_0.gguf": new Uint8Array(9) }), "model.Q4_0.gguf holds weights of llama.cpp"],
    [
      "LoRA",
      () => ({ "adapter_config.json": textFile({}), "adapter_model.bin": new Uint8Array(9) }),
      "adapter_config.json holds an adapter (LoRA)",
    ],
    [
      "GGUF",
      () => ({ "config.json": textFile(CONFIGS.llama), "model.Q4_0.gguf": new Uint8Array(9) }),
      "model.Q4_0.gguf holds",
    ],
    [
      "PyTorch",
      () => ({ "config.json": textFile(CONFIGS.llama), "pytorch_model.bin": new Uint8Array(9) }),
      "pytorch_model.bin holds",
    ],
  ])("weights of %s", async (_, files, words) => {
    const error = await loadError(files());
    expect(error.message).toContain(words);
    expect(error.hint).toMatch(/Download the model|save_pretrained/);
  });

  test.each(["_orig_mod.", "module.", "module._orig_mod."])(
    "the prefix %s of all tensors, which is taken off",
    async (prefix) => {
      expect(await logitsOf(renamed("llama", (name) => prefix + name))).toEqual(await logitsOf(small("llama")));
    },
  );

  test("a prefix of some tensors", async () => {
    const error = await loadError(renamed("llama", (name) => (name === "model.norm.weight" ? `module.${name}` : name)));
    expect(wordsOf(error)).toContain('The files have "module.model.norm.weight": take "module." off');
  });

  test.each<readonly [string, unknown]>([
    ["a path", "/home/me/gpt2"],
    ["an address", "https://example.org/gpt2"],
    ["a URL", new URL("https://example.org/gpt2")],
    ["paths", ["config.json", "model.safetensors"]],
    ["paths by name", { "config.json": "/home/me/gpt2/config.json" }],
  ])("%s in place of files", async (_, files) => {
    const error = await loadError(files as never);
    expect(OptionError.is(error)).toBe(true);
    expect(error.hint).toContain("openModel(address)");
  });

  test("BERT with the bias of its head under the other name is none", async () => {
    const files = renamed("bert", (name) => name.replace("cls.predictions.bias", "cls.predictions.decoder.bias"));
    expect(await logitsOf(files)).toEqual(await logitsOf(small("bert")));
  });
});

const cases = process.env.HEADWISE_CASES ?? fileURLToPath(new URL("../../../shared/cases", import.meta.url));
const file = path.join(cases, "models/configs.json");
const configs = existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Record<string, Config>) : {};

if (Object.keys(configs).length === 0)
  test.skip(`Published configurations (skipped: there is no file ${file})`, () => {});
else
  describe("Published configurations", () => {
    test.each(Object.entries(configs))("%s is supported", async (_, config) => {
      expect((await inspectModel({ "config.json": textFile(config) })).unknownFields).toEqual([]);
    });
  });
