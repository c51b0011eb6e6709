// What the families of headwise/models compute that models.test.ts does not have, against their formulas in double precision.

import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createAttention, OptionError, UnsupportedError, type Attention } from "headwise";
import { inspectModel, loadModel, type Model } from "headwise/models";

import { FAMILIES } from "../../web/src/models/families.js";
import { differences } from "./close.js";
import { FAMILY_MODELS, labelShapes, type FamilyName } from "./familyModels.js";
import type { Config } from "./familyReference.js";
import { expected } from "./modelExpected.js";
import { bert, exact, type Rounding } from "./modelReference.js";
import { errorOf } from "./refusal.js";
import {
  CONFIGS,
  filesOf,
  randomWeights,
  shapesOf,
  shardedFilesOf,
  textFile,
  type Files,
  type Stored,
} from "./smallModels.js";

let hw: Attention;
beforeAll(async () => {
  hw = await createAttention({ backend: "wasm", variant: "simd", threads: 1 });
});
afterAll(() => hw.dispose());

const NAMES = Object.keys(FAMILY_MODELS) as FamilyName[];
const TOKENS = [3, 17, 5, 28, 0, 11, 3, 9];
const isDecoder = (name: FamilyName) => /gpt|gemma|opt/.test(name);

const weightsOf = (name: FamilyName) => randomWeights(FAMILY_MODELS[name].shapes);
const small = (name: FamilyName, fields: Config = {}, stored: Stored = "F32"): Files =>
  filesOf({ ...FAMILY_MODELS[name].config, ...fields }, weightsOf(name), stored);

interface Changed {
  readonly fields?: Config;
  readonly tokens?: readonly number[];
  readonly weights?: ReturnType<typeof randomWeights>;
  readonly sees?: (j: number) => boolean;
}

/** What a family must compute. */
function computed(name: FamilyName, { fields = {}, tokens = TOKENS, weights = weightsOf(name), sees }: Changed = {}) {
  const { config, compute } = FAMILY_MODELS[name];
  return (round: Rounding) =>
    compute({ config: { ...config, ...fields }, weights, tokens, round, ...(sees && { sees }) });
}

async function checkScores(name: FamilyName, changed: Changed, attentionMask?: readonly number[]): Promise<void> {
  const { config } = FAMILY_MODELS[name];
  const weights = changed.weights ?? weightsOf(name);
  const model = await loadModel(hw, filesOf({ ...config, ...changed.fields }, weights));
  const { logits } = await model.run(changed.tokens ?? TOKENS, { attentionMask });
  const must = expected((round) => computed(name, changed)(round).logits);
  expect(differences(logits, must)).toEqual([]);
  model.dispose();
}

describe.each(NAMES)("A model of type %s", (name) => {
  const files: Readonly<Record<Stored, () => Files>> = {
    F32: () => small(name),
    F16: () => small(name, {}, "F16"),
    BF16: () => shardedFilesOf(FAMILY_MODELS[name].config, weightsOf(name), "BF16", 3),
  };

  test.each(["F32", "F16", "BF16"] as const)("stored as %s computes its formula", async (stored) => {
    const model = await loadModel(hw, files[stored]());
    const { logits, lastHiddenState } = await model.run(TOKENS);
    const values = (part: "logits" | "hidden") => expected((round) => computed(name)(round)[part]);
    expect(logits!.shape).toEqual([8, 29]);
    expect(differences(logits, values("logits"))).toEqual([]);
    expect(differences(lastHiddenState, values("hidden"))).toEqual([]);
    model.dispose();
  });

  test("may have the table of words under the name of its head, if both are one", async () => {
    const { embeddings, heads } = FAMILIES[name];
    const weights = weightsOf(name);
    const [ofWords, ofHead] = [`${embeddings.words}.weight`, `${heads.words!.decoder}.weight`];
    if (weights.has(ofHead)) return; // they are two
    const renamed = new Map([...weights].map(([tensor, data]) => [tensor === ofWords ? ofHead : tensor, data]));
    const model = await loadModel(hw, filesOf(FAMILY_MODELS[name].config, renamed));
    const usual = await loadModel(hw, small(name));
    expect((await model.run(TOKENS)).logits!.data).toEqual((await usual.run(TOKENS)).logits!.data);
    expect(model.bytes).toBe(usual.bytes);
    const untied = filesOf({ ...FAMILY_MODELS[name].config, tie_word_embeddings: false }, renamed);
    expect((await errorOf(loadModel(hw, untied))).message).toContain(`tensor "${ofWords}" is missing in the files`);
    model.dispose();
    usual.dispose();
  });

  test("may have the table of words under both names, if both hold the same", async () => {
    const { embeddings, heads } = FAMILIES[name];
    const weights = weightsOf(name);
    const [ofWords, ofHead] = [`${embeddings.words}.weight`, `${heads.words!.decoder}.weight`];
    if (weights.has(ofHead)) return; // they are two
    const { config } = FAMILY_MODELS[name];
    const words = weights.get(ofWords)!;
    const usual = await loadModel(hw, small(name));
    for (const stored of ["F32", "BF16"] as const) {
      const model = await loadModel(hw, filesOf(config, new Map([...weights, [ofHead, words] as const]), stored));
      if (stored === "F32")
        expect((await model.run(TOKENS)).logits!.data).toEqual((await usual.run(TOKENS)).logits!.data);
      model.dispose();
    }
    usual.dispose();
    const data = Float32Array.from(words.data);
    data[40]! += 1;
    const other = filesOf(config, new Map([...weights, [ofHead, { ...words, data }] as const]));
    const error = await errorOf(loadModel(hw, other));
    expect(error.message).toBe(
      `loadModel: tensors "${ofWords}" and "${ofHead}" must hold the same, because config.json says that the head is the table of words`,
    );
    expect(error.hint).toContain("tie_word_embeddings");
    expect(UnsupportedError.is(error)).toBe(true);
    expect((await inspectModel(other)).unusedTensors).toEqual([ofHead]);
  });

  test("shows the probabilities of its layers under the names of transformers", async () => {
    const model = await loadModel(hw, small(name));
    expect(model.names[1]).toBe(FAMILY_MODELS[name].layer);
    const { probs } = computed(name)(exact);
    const { layers } = await model.run(TOKENS, { returns: { probs: true } });
    for (const [n, layer] of model.names.entries()) {
      const values = Float64Array.from(probs[n]!.flat(2));
      expect(differences(layers[layer]!.probs, { values, tolerance: values.map(() => 1e-4) })).toEqual([]);
    }
    model.dispose();
  });

  test("gives each text of a batch what it gives to that text alone", async () => {
    const model = await loadModel(hw, small(name));
    const texts = [TOKENS, TOKENS.slice(2, 7), [4]];
    const { logits } = await model.run(texts);
    for (const [n, text] of texts.entries()) {
      const alone = await model.run(text);
      const part = logits!.data.slice(n * 8 * 29, n * 8 * 29 + text.length * 29);
      const values = Float64Array.from(alone.logits!.data);
      const tolerance = values.map(() => 2e-5 * Math.max(...values.map(Math.abs)));
      expect(differences({ data: part }, { values, tolerance })).toEqual([]);
    }
    model.dispose();
  });

  test("uses every tensor, knows every field, and keeps int8 near", async () => {
    const plan = await inspectModel(small(name));
    expect([plan.unusedTensors, plan.unknownFields, plan.missingFiles]).toEqual([[], [], []]);
    const model = await loadModel(hw, small(name), { precision: "int8" });
    expect(plan.config).toEqual(model.config);
    expect(plan.bytes.int8).toBe(model.bytes);
    const { lastHiddenState } = await model.run(TOKENS);
    const { hidden } = computed(name)(exact);
    const far = Math.max(...hidden.flat().map((value, n) => Math.abs(value - lastHiddenState.data[n]!)));
    expect(far).toBeLessThan(0.2 * Math.max(...hidden.flat().map(Math.abs)));
    model.dispose();
  });

  test("without the prefix of its names computes the same", async () => {
    const bare = new Map([...weightsOf(name)].map(([key, weight]) => [key.replace(PREFIX, ""), weight]));
    const [a, b] = [await loadModel(hw, small(name)), await loadModel(hw, filesOf(FAMILY_MODELS[name].config, bare))];
    expect((await b.run(TOKENS)).logits).toEqual((await a.run(TOKENS)).logits);
    expect(b.names).toEqual(a.names);
    [a, b].forEach((model) => model.dispose());
  });
});

const PREFIX = /^(roberta|distilbert|mpnet|gpt_neox|transformer|model)\./;

describe.each(NAMES.filter(isDecoder))("Generation with %s", (name) => {
  test("is running the whole text again for each token", async () => {
    const model = await loadModel(hw, small(name));
    const text = TOKENS.slice(0, 5);
    for await (const { logits } of model.generate(text, { maxNewTokens: 8, stopTokens: [] })) {
      const whole = await model.run(text, { logits: "last" });
      const values = Float64Array.from(whole.logits!.data);
      const tolerance = values.map(() => 2e-5 * Math.max(...values.map(Math.abs)));
      expect(differences({ data: logits }, { values, tolerance })).toEqual([]);
      text.push(values.indexOf(Math.max(...values)));
    }
    expect(text).toHaveLength(13);
    model.dispose();
  });
});

const LONG = Array.from({ length: 30 }, (_, n) => (n * 7 + 3) % 29);

describe("Positions", () => {
  test.each(["roberta", "xlm-roberta", "mpnet"] as const)(
    "of %s count the tokens that are not padding",
    async (name) => {
      const tokens = [1, 1, ...TOKENS, 1];
      const shown = tokens.map((token) => (token === 1 ? 0 : 1));
      await checkScores(name, { tokens, sees: (j) => tokens[j] !== 1 }, shown);
      const { config } = await inspectModel(small(name));
      expect(config.maxLength).toBe(32);
    },
  );

  test("of RoBERTa begin a row earlier if the padding is token 0", async () => {
    const name = "roberta.embeddings.position_embeddings.weight";
    const weights = new Map(weightsOf("roberta"));
    const { shape, data } = weights.get(name)!;
    const [rows, width] = shape as [number, number];
    weights.set(name, { shape: [rows - 1, width], data: Float64Array.from(data).subarray(width) });
    const config = { ...FAMILY_MODELS.roberta.config, pad_token_id: 0, max_position_embeddings: rows - 1 };
    const models = [await loadModel(hw, small("roberta")), await loadModel(hw, filesOf(config, weights))];
    const [a, b] = await Promise.all(models.map((model) => model.run([3, 17, 5, 28])));
    expect(b!.logits).toEqual(a!.logits);
    expect(models.map((model) => model.config.maxLength)).toEqual([32, 32]);
    models.forEach((model) => model.dispose());
  });

  test("of OPT count the tokens that the mask shows", async () => {
    const shown = [1, 1, 0, 1, 0, 1, 1, 1];
    await checkScores("opt", { sees: (j) => shown[j] === 1 }, shown);
  });

  test.each(["mpnet", "gpt_neo", "gemma2", "gemma3_text", "modernbert"] as const)(
    "of %s are right in longer texts, with windows and distances",
    (name) => checkScores(name, { tokens: LONG }),
  );
});

describe("Fields", () => {
  test("of MPNet may count more rows than distances have buckets", async () => {
    const name = "mpnet.encoder.relative_attention_bias.weight";
    const weights = new Map(weightsOf("mpnet"));
    const { shape, data } = weights.get(name)!;
    weights.set(name, {
      shape: [40, shape[1]!],
      data: Float64Array.from({ length: 40 * shape[1]! }, (_, n) => data[n] ?? 9),
    });
    await checkScores("mpnet", { fields: { relative_attention_num_buckets: 40 }, weights, tokens: LONG });
  });

  test("use_parallel_residual: false of GPT-NeoX", () =>
    checkScores("gpt_neox", { fields: { use_parallel_residual: false } }));

  test.each([0.25, 1])("rotary_pct %s of GPT-NeoX", (rotary_pct) =>
    checkScores("gpt_neox", { fields: { rotary_pct, hidden_size: 16, num_attention_heads: 2 } }),
  );

  test("attention_types of GPT-Neo, without attention_layers", async () => {
    const model = await loadModel(hw, small("gpt_neo", { attention_layers: undefined }));
    const other = await loadModel(hw, small("gpt_neo"));
    expect((await model.run(LONG)).logits).toEqual((await other.run(LONG)).logits);
    [model, other].forEach((each) => each.dispose());
  });

  test("layer_types of Gemma 3 say what its pattern says", async () => {
    const types = { sliding_window_pattern: undefined, layer_types: ["sliding_attention", "full_attention"] };
    const [model, other] = [
      await loadModel(hw, small("gemma3_text", types)),
      await loadModel(hw, small("gemma3_text")),
    ];
    expect((await model.run(LONG)).logits).toEqual((await other.run(LONG)).logits);
    [model, other].forEach((each) => each.dispose());
  });

  test.each<readonly [FamilyName, whole: string, near: string]>([
    ["gemma3_text", "rope_theta", "rope_local_base_freq"],
    ["modernbert", "global_rope_theta", "local_rope_theta"],
  ])("rope_parameters of %s for each kind of layer, as transformers 5 writes them", async (name, whole, near) => {
    const { config } = FAMILY_MODELS[name];
    const parameters = {
      full_attention: { rope_type: "default", rope_theta: config[whole] ?? 700 },
      sliding_attention: { rope_type: "default", rope_theta: config[near] ?? 30 },
    };
    const newer = { [whole]: undefined, [near]: undefined, rope_parameters: parameters };
    const older = { [whole]: parameters.full_attention.rope_theta, [near]: parameters.sliding_attention.rope_theta };
    const [model, other] = [await loadModel(hw, small(name, newer)), await loadModel(hw, small(name, older))];
    expect((await model.run(LONG)).logits).toEqual((await other.run(LONG)).logits);
    [model, other].forEach((each) => each.dispose());
  });

  test.each<readonly [FamilyName, Config, string]>([
    ["roberta", { is_decoder: true }, "is_decoder must be false, got true"],
    ["roberta", { position_embedding_type: "relative_key" }, "position_embedding_type must be"],
    ["roberta", { architectures: ["RobertaForQuestionAnswering"] }, "architectures must be"],
    ["distilbert", { activation: "mish" }, "activation must be"],
    ["distilbert", { type_vocab_size: 2 }, "type_vocab_size must be absent"],
    [
      "mpnet",
      { relative_attention_num_buckets: 31 },
      "relative_attention_num_buckets must be at least 32, because distances have 32 buckets, got 31",
    ],
    ["mpnet", { architectures: ["MPNetForMultipleChoice"] }, "architectures must be"],
    ["gpt_neox", { rope_scaling: { type: "dynamic", factor: 2 } }, "rope_scaling.type must be"],
    ["gpt_neox", { rotary_pct: -1 }, "rotary_pct must be a number above 0, got -1"],
    ["gpt_neo", { attention_layers: ["global"] }, 'attention_layers must give 2 times "global" or "local"'],
    ["gpt_neo", { attention_layers: undefined, attention_types: [[["far"], 2]] }, "attention_types must give 2 times"],
    ["gpt_neo", { attention_layers: undefined, attention_types: [[[], 2 ** 50]] }, "attention_types must give 2 times"],
    [
      "gpt_neo",
      { attention_layers: undefined, attention_types: [[["local"], 2 ** 50]] },
      "attention_types must give 2",
    ],
    ["gemma", { use_bidirectional_attention: true }, "use_bidirectional_attention must be false"],
    ["gemma2", { attn_logit_softcapping: -1 }, "attn_logit_softcapping must be a number above 0"],
    ["gemma2", { sliding_window: 0 }, "sliding_window must be an integer of 1 or more"],
    ["gemma3_text", { layer_types: ["far", "near"] }, "layer_types must be 2 times"],
    ["opt", { do_layer_norm_before: false }, "do_layer_norm_before must be true, got false"],
    ["opt", { word_embed_proj_dim: 8 }, "word_embed_proj_dim must be hidden_size, which is 16, got 8"],
    ["modernbert", { classifier_activation: "relu" }, 'classifier_activation must be "gelu"'],
    ["modernbert", { decoder_bias: false }, "decoder_bias must be true"],
    ["modernbert", { rope_scaling: { type: "linear", factor: 2 } }, "rope_scaling must be absent"],
    ["gemma3_text", { model_type: "gemma3" }, "model_type must be"],
  ])("of %s: %j is refused", async (name, fields, message) => {
    const error = await errorOf(loadModel(hw, small(name, fields)));
    expect(error.message).toContain(`loadModel: config.json: ${message}`);
    expect(UnsupportedError.is(error)).toBe(true);
  });

  test.each(NAMES)("without model_type the class of %s tells the family", async (name) => {
    const { config } = await inspectModel(small(name, { model_type: undefined }));
    expect(config.modelType).toBe(name);
  });
});

describe("Classifiers", () => {
  const dense = (name: string, to: number) => ({ [`${name}.weight`]: [to, 16], [`${name}.bias`]: [to] });
  const LABELS = { id2label: { 0: "no", 1: "yes", 2: "both" } };
  const HEADS = {
    roberta: [
      "RobertaForSequenceClassification",
      { ...dense("classifier.dense", 16), ...dense("classifier.out_proj", 3) },
    ],
    "xlm-roberta": [
      "XLMRobertaForSequenceClassification",
      { ...dense("classifier.dense", 16), ...dense("classifier.out_proj", 3) },
    ],
    distilbert: ["DistilBertForSequenceClassification", { ...dense("pre_classifier", 16), ...dense("classifier", 3) }],
    modernbert: [
      "ModernBertForSequenceClassification",
      { "head.dense.weight": [16, 16], "head.norm.weight": [16], ...dense("classifier", 3) },
    ],
  } as const;

  test.each(Object.keys(HEADS) as (keyof typeof HEADS)[])("of texts: %s", async (name) => {
    const [architecture, head] = HEADS[name];
    const fields = { architectures: [architecture], ...LABELS };
    const weights = randomWeights(labelShapes(FAMILY_MODELS[name].shapes, head));
    const model = await loadModel(hw, filesOf({ ...FAMILY_MODELS[name].config, ...fields }, weights));
    expect(model.config.labels).toEqual(["no", "yes", "both"]);
    const texts = [TOKENS, TOKENS.slice(0, 3)];
    const { logits } = await model.run(texts);
    expect(logits!.shape).toEqual([2, 3]);
    for (const [n, tokens] of texts.entries()) {
      const must = expected((round) => computed(name, { fields, weights, tokens })(round).labels!);
      expect(differences({ data: logits!.data.subarray(3 * n, 3 * n + 3) }, must)).toEqual([]);
    }
    expect((await model.run(TOKENS)).logits!.shape).toEqual([3]);
    expect(Object.keys(await model.run(TOKENS, { logits: false }))).not.toContain("logits");
    model.dispose();
  });

  test("of texts: BERT, from its pooled first token", async () => {
    const head = randomWeights(dense("classifier", 3), 5);
    const kept = [...randomWeights(shapesOf("bert"))].filter(([name]) => !name.startsWith("cls."));
    const all = randomWeights(shapesOf("bert"));
    const config = { ...CONFIGS.bert, architectures: ["BertForSequenceClassification"], ...LABELS };
    const model = await loadModel(hw, filesOf(config, new Map([...kept, ...head])));
    const [map, shift] = [head.get("classifier.weight")!, head.get("classifier.bias")!];
    const must = expected((round) => {
      const pooled = bert(CONFIGS.bert, all, TOKENS, { round }).pooled!;
      return [Array.from(shift.data, (bias, n) => pooled.reduce((sum, x, i) => sum + x * map.data[16 * n + i]!, bias))];
    });
    const { logits, pooled } = await model.run(TOKENS);
    expect([logits!.shape, pooled!.shape]).toEqual([[3], [16]]);
    expect(differences(logits, must)).toEqual([]);
    expect(() => model.generate(TOKENS)).toThrow("model.generate: ");
    model.dispose();
  });

  test("of tokens: a map of each last hidden state", async () => {
    const fields = { architectures: ["DistilBertForTokenClassification"], ...LABELS };
    const weights = randomWeights(labelShapes(FAMILY_MODELS.distilbert.shapes, dense("classifier", 3)));
    const model = await loadModel(hw, filesOf({ ...FAMILY_MODELS.distilbert.config, ...fields }, weights));
    const { logits } = await model.run(TOKENS);
    const { hidden } = computed("distilbert", { weights })(exact);
    const [map, shift] = [weights.get("classifier.weight")!, weights.get("classifier.bias")!];
    const values = Float64Array.from(
      hidden.flatMap((row) =>
        Array.from(shift.data, (bias, n) => row.reduce((sum, x, i) => sum + x * map.data[16 * n + i]!, bias)),
      ),
    );
    expect(logits!.shape).toEqual([8, 3]);
    expect(differences(logits, { values, tolerance: values.map(() => 2e-5) })).toEqual([]);
    model.dispose();
  });

  test("without their tensors, or with labels that are no list, are refused", async () => {
    const sequence = { architectures: ["RobertaForSequenceClassification"] };
    expect((await errorOf(loadModel(hw, small("roberta", sequence)))).message).toContain(
      'tensor "classifier.dense.bias" is missing',
    );
    const error = await errorOf(loadModel(hw, small("roberta", { ...sequence, id2label: { 1: "x" } })));
    expect(error.message).toContain("config.json: id2label must have a text for each number from 0 on");
    expect((await loadModel(hw, small("roberta"))).config.labels).toEqual([]);
  });
});

describe("Embeddings of texts", () => {
  const MODULES = ["Transformer", "Pooling", "Normalize"].map((kind, idx) => ({
    idx,
    name: `${idx}`,
    path: idx === 0 ? "" : `${idx}_${kind}`,
    type: `sentence_transformers.models.${kind}`,
  }));
  const pooling = (fields: Config = { pooling_mode_mean_tokens: true }) => ({
    word_embedding_dimension: 16,
    pooling_mode_cls_token: false,
    pooling_mode_mean_tokens: false,
    pooling_mode_max_tokens: false,
    pooling_mode_mean_sqrt_len_tokens: false,
    ...fields,
  });
  const folder = (fields?: Config, modules: object | null = MODULES) => ({
    ...small("mpnet", { architectures: ["MPNetModel"] }),
    "1_Pooling/config.json": textFile(pooling(fields)),
    ...(modules !== null && { "modules.json": textFile(modules) }),
  });
  const TEXTS = [TOKENS, TOKENS.slice(0, 3)];
  const column = (rows: readonly (readonly number[])[], n: number) => rows.map((row) => row[n]!);
  const total = (numbers: readonly number[]) => numbers.reduce((sum, number) => sum + number, 0);

  const KINDS: Readonly<Record<string, (numbers: readonly number[]) => number>> = {
    pooling_mode_cls_token: (numbers) => numbers[0]!,
    pooling_mode_lasttoken: (numbers) => numbers.at(-1)!,
    pooling_mode_mean_tokens: (numbers) => total(numbers) / numbers.length,
    pooling_mode_mean_sqrt_len_tokens: (numbers) => total(numbers) / Math.sqrt(numbers.length),
    pooling_mode_max_tokens: (numbers) => Math.max(...numbers),
  };

  const check = async (model: Model, kind: string, isNormalized: boolean) => {
    const { embedding } = await model.run(TEXTS);
    expect(embedding!.shape).toEqual([2, 16]);
    for (const [n, tokens] of TEXTS.entries()) {
      const must = expected((round) => {
        const { hidden } = computed("mpnet", { tokens })(round);
        const row = hidden[0]!.map((_, i) => KINDS[kind]!(column(hidden, i)));
        const length = isNormalized ? Math.sqrt(total(row.map((value) => value * value))) : 1;
        return [row.map((value) => value / length)];
      });
      expect(differences({ data: embedding!.data.subarray(16 * n, 16 * n + 16) }, must)).toEqual([]);
    }
    model.dispose();
  };

  test.each(Object.keys(KINDS))("with %s", async (kind) => {
    await check(await loadModel(hw, folder({ [kind]: true }, MODULES.slice(0, 2))), kind, false);
    await check(await loadModel(hw, folder({ [kind]: true }, null)), kind, false);
  });

  test.each([
    ["cls", "pooling_mode_cls_token"],
    ["lasttoken", "pooling_mode_lasttoken"],
    ["mean", "pooling_mode_mean_tokens"],
    ["mean_sqrt_len_tokens", "pooling_mode_mean_sqrt_len_tokens"],
    ["max", "pooling_mode_max_tokens"],
  ])("with the pooling_mode %s, as sentence-transformers 6 writes it", async (mode, kind) => {
    const written = (pooling_mode: unknown, older: Config = {}) => ({
      ...folder(),
      "1_Pooling/config.json": textFile({ embedding_dimension: 16, pooling_mode, include_prompt: true, ...older }),
    });
    await check(await loadModel(hw, written(mode)), kind, true);
    await check(await loadModel(hw, written([mode])), kind, true);
    // it does not read the older fields then
    await check(await loadModel(hw, written(mode, { pooling_mode_max_tokens: true })), kind, true);
  });

  const withNorm = (fields: Config) => ({ ...folder(), "2_Normalize/config.json": textFile(fields) });

  test("of length 1, if modules.json says so", async () => {
    await check(await loadModel(hw, folder()), "pooling_mode_mean_tokens", true);
    const fields = { module_input_name: "sentence_embedding", module_output_name: "sentence_embedding" };
    await check(await loadModel(hw, withNorm(fields)), "pooling_mode_mean_tokens", true);
  });

  test("do not count what an attentionMask hides", async () => {
    const model = await loadModel(hw, folder());
    const { embedding } = await model.run([...TOKENS.slice(0, 3), 1, 1], { attentionMask: [1, 1, 1, 0, 0] });
    const alone = await model.run(TOKENS.slice(0, 3));
    const values = Float64Array.from(alone.embedding!.data);
    expect(differences(embedding, { values, tolerance: values.map(() => 1e-6) })).toEqual([]);
    expect(embedding!.shape).toEqual([16]);
    model.dispose();
  });

  test("take the first token that is shown", async () => {
    const model = await loadModel(hw, folder({ pooling_mode_cls_token: true }, MODULES.slice(0, 2)));
    const texts = [TOKENS.slice(0, 4), [1, 1, ...TOKENS.slice(0, 2)]];
    const { embedding, lastHiddenState } = await model.run(texts, { attentionMask: [[1, 1, 1, 1], [0, 0, 1, 1]] }); // oxfmt-ignore
    const row = (text: number, token: number) => [...lastHiddenState.data].slice(16 * (4 * text + token), 16 * (4 * text + token + 1)); // oxfmt-ignore
    expect([...embedding!.data]).toEqual([...row(0, 0), ...row(1, 2)]);
    model.dispose();
  });

  test.each(Object.keys(KINDS))("of a text that is all hidden are zeros with %s", async (kind) => {
    const model = await loadModel(hw, folder({ [kind]: true }));
    const texts = [TOKENS.slice(0, 2), [1, 1]];
    const { embedding } = await model.run(texts, { attentionMask: [[1, 1], [0, 0]] }); // oxfmt-ignore
    expect([...embedding!.data.subarray(16)]).toEqual(Array.from({ length: 16 }, () => 0));
    expect(embedding!.data.every(Number.isFinite)).toBe(true);
    model.dispose();
  });

  test.each<readonly [string, () => Files, string]>([
    [
      "another step",
      () => folder(undefined, [...MODULES.slice(0, 2), { ...MODULES[2], type: "sentence_transformers.models.Dense" }]),
      'modules.json: [2].type must be Transformer, then Pooling, then Normalize, and no more, got "sentence_transformers.models.Dense"',
    ],
    [
      "a model in a folder of its own",
      () => folder(undefined, [{ ...MODULES[0], path: "0_Transformer" }, MODULES[1]!]),
      'modules.json: [0].path must be "", the folder of config.json, got "0_Transformer"',
    ],
    [
      "two kinds of pooling",
      () => folder({ pooling_mode_mean_tokens: true, pooling_mode_cls_token: true }),
      "1_Pooling/config.json: pooling_mode_mean_tokens must be false: one kind of pooling is supported, got true",
    ],
    ["no kind", () => folder({}), "pooling_mode_mean_tokens must be true: one kind of pooling is supported, got false"],
    [
      "weights by position",
      () => folder({ pooling_mode_weightedmean_tokens: true }),
      "pooling_mode_weightedmean_tokens must be false, got true",
    ],
    ["another width", () => folder({ word_embedding_dimension: 9 }), "word_embedding_dimension must be the width"],
    [
      "length 1 of something else",
      () => withNorm({ module_input_name: "token_embeddings" }),
      '2_Normalize/config.json: module_input_name must be "sentence_embedding", got "token_embeddings"',
    ],
    ["another norm", () => withNorm({ p: 1 }), "2_Normalize/config.json: p must be absent"],
    [
      "another width, by its newer name",
      () => folder({ embedding_dimension: 9 }),
      "embedding_dimension must be the width",
    ],
    [
      "a pooling_mode that is not known",
      () => folder({ pooling_mode: "weightedmean" }),
      '1_Pooling/config.json: pooling_mode must be "cls" or "lasttoken" or "mean" or "mean_sqrt_len_tokens" or "max": one kind of pooling is supported, got "weightedmean"',
    ],
    [
      "two of pooling_mode",
      () => folder({ pooling_mode: ["cls", "mean"] }),
      ": one kind of pooling is supported, got [",
    ],
    ["a field that is not known", () => folder({ pooling_mode_mean_tokens: true, own: 1 }), "own must be absent"],
  ])("by %s are refused", async (_, files, message) => {
    const error = await errorOf(loadModel(hw, files()));
    expect(error.message).toContain(message);
    expect(UnsupportedError.is(error)).toBe(true);
  });

  test("whose pooling is not among the files are refused", async () => {
    const { "1_Pooling/config.json": _, ...rest } = folder();
    const error = await errorOf(loadModel(hw, rest));
    expect(error.message).toContain("files must have 1_Pooling/config.json, which modules.json names, got config.json");
    expect(error.hint).toContain("To compute the model without its embedding, leave modules.json");
    expect(OptionError.is(error)).toBe(true);
    const { "modules.json": __, ...plain } = rest;
    const model = await loadModel(hw, plain);
    expect((await model.run(TOKENS)).embedding).toBeUndefined();
    model.dispose();
  });
});
