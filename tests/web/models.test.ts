// What models of headwise/models compute, against a reference in double precision.

import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createAttention, type Attention } from "headwise";
import { inspectModel, loadModel, type Model, type Tokens } from "headwise/models";

import { sampler } from "../../web/src/models/sampling.js";
import { differences } from "./close.js";
import { compute, expected, KINDS, settingsOf, throughInt8, TOKENS, type Settings } from "./modelExpected.js";
import * as reference from "./modelReference.js";
import { exact, type Rounding } from "./modelReference.js";
import { CONFIGS, filesOf, FORMS, shardedFilesOf, type Kind, type Stored } from "./smallModels.js";

let hw: Attention;
beforeAll(async () => {
  hw = await createAttention({ backend: "wasm", variant: "simd", threads: 1 });
});
afterAll(() => hw.dispose());

const DECODERS = KINDS.filter((kind) => kind !== "bert");

const load = (kind: Kind, settings: Settings = {}, stored: Stored = "F32") => {
  const { config, weights } = settingsOf(kind, settings);
  return loadModel(hw, filesOf(config, weights, stored));
};

describe.each(KINDS)("A model of type %s", (kind) => {
  const files: Readonly<Record<Stored, () => object>> = {
    F32: () => filesOf(CONFIGS[kind], settingsOf(kind).weights, "F32"),
    F16: () => filesOf(CONFIGS[kind], settingsOf(kind).weights, "F16"),
    BF16: () => shardedFilesOf(CONFIGS[kind], settingsOf(kind).weights, "BF16", 3),
  };

  test.each([
    ["F32", "as-stored"],
    ["F16", "as-stored"],
    ["F16", "float32"],
    ["BF16", "as-stored"],
    ["BF16", "float32"],
    ["BF16", "float16"],
    ["BF16", "bfloat16"],
    ["F32", "bfloat16"],
  ] as const)("stored as %s, with precision %s, computes its formula", async (stored, precision) => {
    const model = await loadModel(hw, files[stored]() as never, { precision });
    const { logits, lastHiddenState, hiddenStates } = await model.run(TOKENS, { hiddenStates: true });
    expect(logits!.shape).toEqual([TOKENS.length, 29]);
    expect(
      differences(
        logits,
        expected((round) => compute(kind, {}, round).logits),
      ),
    ).toEqual([]);
    expect(
      differences(
        lastHiddenState,
        expected((round) => compute(kind, {}, round).hidden),
      ),
    ).toEqual([]);
    expect(hiddenStates!.map(({ shape }) => shape)).toEqual(Array.from({ length: 3 }, () => [8, 16]));
    expect(hiddenStates!.at(-1)).toEqual(lastHiddenState);
    model.dispose();
  });

  test("stored as BF16 has the same bits as stored and widened to float32", async () => {
    const logitsWith = async (precision: "as-stored" | "float32") => {
      const model = await loadModel(hw, files.BF16() as never, { precision });
      const { logits } = await model.run(TOKENS);
      model.dispose();
      return logits!.data;
    };
    expect(await logitsWith("as-stored")).toEqual(await logitsWith("float32"));
  });

  test("with precision int8 computes with weights that are rounded by half a scale at most", async () => {
    const { weights } = settingsOf(kind);
    const rounded = throughInt8(weights);
    const model = await loadModel(hw, files.BF16() as never, { precision: "int8" });
    const { logits } = await model.run(TOKENS);
    // scales are float32 and not powers of two: products with them are rounded once more
    const { values, tolerance } = expected((round) => compute(kind, { weights: rounded }, round).logits);
    expect(differences(logits, { values, tolerance: tolerance.map((each) => 2 * each) })).toEqual([]);
    model.dispose();
  });

  test("gives each text of a batch what it gives to that text alone", async () => {
    const model = await load(kind);
    const texts = [TOKENS, TOKENS.slice(2, 7), [4]];
    const { logits, lastHiddenState } = await model.run(texts);
    expect(logits!.shape).toEqual([3, 8, 29]);
    for (const [n, text] of texts.entries()) {
      const alone = await model.run(text);
      for (const [result, single, width] of [
        [logits!, alone.logits!, 29],
        [lastHiddenState, alone.lastHiddenState, 16],
      ] as const) {
        const start = n * TOKENS.length * width;
        const part = result.data.slice(start, start + text.length * width);
        const tolerance = Float64Array.from(part, () => 1e-5); // other shapes may be summed in another order
        expect(differences({ data: part }, { values: Float64Array.from(single.data), tolerance })).toEqual([]);
      }
    }
    model.dispose();
  });

  test("shows the probabilities of its layers under their names", async () => {
    const model = await load(kind);
    const { probs: all } = compute(kind, {}, exact);
    const { layers } = await model.run(TOKENS, { returns: { probs: true } });
    expect(Object.keys(layers)).toEqual(model.names);
    for (const [n, name] of model.names.entries()) {
      const { probs, output } = layers[name]!;
      expect(output.shape).toEqual([8, 16]);
      const values = Float64Array.from(all[n]!.flat(2));
      expect(differences(probs, { values, tolerance: values.map(() => 1e-4) })).toEqual([]);
    }
    const { layers: some } = await model.run(TOKENS, { returns: { topK: 2 }, layers: [1] });
    expect(Object.keys(some)).toEqual([model.names[1]]);
    expect(some[model.names[1]!]!.topK.values.shape).toEqual([4, 8, 2]);
    model.dispose();
  });

  test("changes with a head that is removed, and only from that layer on", async () => {
    const model = await load(kind);
    const plain = await model.run(TOKENS, { hiddenStates: true });
    const headGain = { [model.names[1]!]: [1, 0, 1, 1] };
    const changed = await model.run(TOKENS, { hiddenStates: true, headGain });
    expect(changed.hiddenStates!.slice(0, 2)).toEqual(plain.hiddenStates!.slice(0, 2));
    expect(changed.lastHiddenState).not.toEqual(plain.lastHiddenState);
    model.dispose();
  });
});

test("Layers have the names that transformers gives them", async () => {
  const names = await Promise.all(
    (["bert", "gpt2", "qwen3"] as const).map(async (kind) => {
      const model = await load(kind);
      const { names } = model;
      model.dispose();
      return names[1];
    }),
  );
  expect(names).toEqual(["encoder.layer.1.attention", "transformer.h.1.attn", "model.layers.1.self_attn"]);
});

describe("BERT", () => {
  const { config, weights } = settingsOf("bert");
  let model: Model;
  beforeAll(async () => {
    model = await load("bert");
  });
  afterAll(() => model.dispose());

  test("uses kinds of tokens, and pools the first token", async () => {
    const types = [0, 0, 0, 1, 1, 1, 1, 1];
    const { logits, pooled } = await model.run(TOKENS, { tokenTypes: types });
    const computed = (round: Rounding) => reference.bert(config, weights, TOKENS, { types, round });
    expect(
      differences(
        logits,
        expected((round) => computed(round).logits),
      ),
    ).toEqual([]);
    expect(pooled!.shape).toEqual([16]);
    expect(
      differences(
        pooled,
        expected((round) => [computed(round).pooled!]),
      ),
    ).toEqual([]);
  });

  test("does not see what a mask hides", async () => {
    const attentionMask = [1, 1, 0, 1, 1, 1, 0, 0];
    const { logits } = await model.run(TOKENS, { attentionMask });
    const sees = (j: number) => attentionMask[j] === 1;
    const computed = (round: Rounding) => reference.bert(config, weights, TOKENS, { sees, round }).logits;
    expect(differences(logits, expected(computed))).toEqual([]);
    const batch = await model.run([TOKENS, TOKENS], { attentionMask: [attentionMask, attentionMask] });
    expect(batch.logits!.data.subarray(0, 8 * 29)).toEqual(batch.logits!.data.subarray(8 * 29));
    expect(differences({ data: batch.logits!.data.subarray(0, 8 * 29) }, expected(computed))).toEqual([]);
  });

  test("reads files without heads, with older names", async () => {
    const renamed = [...weights].flatMap(([name, weight]) =>
      /^cls|pooler/.test(name)
        ? []
        : [
            [
              name
                .replace("bert.", "")
                .replace("LayerNorm.weight", "LayerNorm.gamma")
                .replace("LayerNorm.bias", "LayerNorm.beta"),
              weight,
            ] as const,
          ],
    );
    const bare = await loadModel(hw, filesOf(config, new Map(renamed)));
    const result = await bare.run(TOKENS);
    expect(Object.keys(result).sort()).toEqual(["lastHiddenState", "layers"]);
    expect(result.lastHiddenState).toEqual((await model.run(TOKENS)).lastHiddenState);
    bare.dispose();
  });

  test("generates nothing", () => {
    expect(() => model.generate(TOKENS)).toThrow("model.generate: a model of type bert predicts hidden tokens");
  });
});

describe("What layer.forward can look at and overwrite, a run can too", () => {
  test.each(KINDS)("%s: its own head outputs change no bit, zeros are heads that are removed", async (kind) => {
    const model = await load(kind);
    const name = model.names[0]!;
    const plain = await model.run(TOKENS, { returns: { headOutputs: true, query: true }, layers: [name] });
    const { headOutputs, query } = plain.layers[name]!;
    const width = model.config.headDim;
    expect([headOutputs.shape, query.shape]).toEqual([
      [4, 8, width],
      [4, 8, width],
    ]);
    const own = await model.run(TOKENS, { patch: { [name]: { headOutputs } } });
    expect(own.logits).toEqual(plain.logits);
    const without = await model.run(TOKENS, { patch: { [name]: { headOutputs: { heads: [2], data: [0] } } } });
    const removed = await model.run(TOKENS, { headGain: { [name]: [1, 1, 0, 1] } });
    expect(without.logits).toEqual(removed.logits);
    expect(without.logits).not.toEqual(plain.logits);
    model.dispose();
  });

  test("the values of another text bring its result to where they are put", async () => {
    const model = await load("gpt2");
    const [first, last] = model.names as [string, string];
    const other = TOKENS.map((token) => (token + 5) % 29);
    const from = await model.run(other, { returns: { headOutputs: true }, hiddenStates: true });
    const patch = Object.fromEntries(
      [first, last].map((name) => [name, { headOutputs: from.layers[name]!.headOutputs }]),
    );
    const { layers } = await model.run(TOKENS, { returns: { headOutputs: true }, patch });
    for (const name of [first, last]) {
      expect(layers[name]!.headOutputs).toEqual(from.layers[name]!.headOutputs);
      expect(layers[name]!.output).toEqual(from.layers[name]!.output);
    }
    model.dispose();
  });
});

describe("Variants of fields", () => {
  const check = async (kind: Kind, settings: Settings) => {
    const model = await load(kind, settings);
    const { tokens } = settingsOf(kind, settings);
    const { logits } = await model.run(tokens);
    expect(
      differences(
        logits,
        expected((round) => compute(kind, settings, round).logits),
      ),
    ).toEqual([]);
    model.dispose();
  };
  const LONG = Array.from({ length: 30 }, (_, n) => (n * 7 + 3) % 29);

  test.each([
    ["scale_attn_weights", { scale_attn_weights: false }],
    ["scale_attn_by_inverse_layer_idx", { scale_attn_by_inverse_layer_idx: true }],
    ["activation_function", { activation_function: "relu" }],
  ])("GPT-2: %s", async (_, fields) => {
    await check("gpt2", { config: { ...CONFIGS.gpt2, ...fields } });
  });

  test("Llama: attention_bias", async () => {
    const config = { ...CONFIGS.llama, attention_bias: true };
    await check("llama", { config, form: { inputBias: true, outputBias: true } });
  });

  test("Mistral: a window of null sees everything", async () => {
    await check("mistral", { config: { ...CONFIGS.mistral, sliding_window: null }, form: {}, tokens: LONG });
  });

  test("Qwen: layer_types", async () => {
    const config = { ...CONFIGS.qwen2, layer_types: ["sliding_attention", "full_attention"] };
    await check("qwen2", {
      config,
      form: { inputBias: true, window: (layer) => (layer === 0 ? 4 : Infinity) },
      tokens: LONG,
    });
  });

  const theta = (pair: number, width: number) => 500 ** ((-2 * pair) / width);
  /** The number of turns of a pair within a length. */
  const turns = (pair: number, width: number, length: number) => (length * theta(pair, width)) / (2 * Math.PI);

  test("rope_scaling linear divides positions", async () => {
    const config = { ...CONFIGS.llama, rope_scaling: { type: "linear", factor: 4 } };
    const angle = (width: number) => (pair: number, position: number) => (position / 4) * theta(pair, width);
    await check("llama", { config, form: { angle }, tokens: LONG });
  });

  test("Phi-3: packed matrices, and the short factors of longrope up to the length of its training", async () => {
    const { weights } = settingsOf("llama");
    const packed = new Map(weights);
    const pack = (name: string, parts: readonly string[]) => {
      const all = parts.map((part) => weights.get(`${part}.weight`)!);
      parts.forEach((part) => packed.delete(`${part}.weight`));
      const rows = all.reduce((sum, { shape }) => sum + shape[0]!, 0);
      const data = Float64Array.from(all.flatMap((part) => Array.from(part.data)));
      packed.set(`${name}.weight`, { shape: [rows, all[0]!.shape[1]!], data });
    };
    for (const n of [0, 1]) {
      const at = `model.layers.${n}`;
      pack(
        `${at}.self_attn.qkv_proj`,
        ["q_proj", "k_proj", "v_proj"].map((name) => `${at}.self_attn.${name}`),
      );
      pack(
        `${at}.mlp.gate_up_proj`,
        ["gate_proj", "up_proj"].map((name) => `${at}.mlp.${name}`),
      );
    }
    const short = [1, 2.5];
    const rope = { short_factor: short, long_factor: [4, 8] };
    const config = {
      ...CONFIGS.llama,
      model_type: "phi3",
      original_max_position_embeddings: 8,
      sliding_window: null,
      rope_scaling: { type: "longrope", ...rope },
    };
    const angle = (width: number) => (pair: number, position: number) => (position * theta(pair, width)) / short[pair]!;
    const size = Math.sqrt(1 + Math.log(32 / 8) / Math.log(8));
    const values = expected((round) => compute("llama", { form: { angle, size } }, round).logits);
    for (const type of ["longrope", "su"]) {
      const named = { ...config, rope_scaling: { type, ...rope } };
      const model = await loadModel(hw, filesOf(named, packed));
      expect((await inspectModel(filesOf(named, packed))).bytes["as-stored"]).toBe(model.bytes);
      const { logits } = await model.run(TOKENS);
      expect(differences(logits, values)).toEqual([]);
      expect(model.config.maxLength).toBe(8);
      await expect(model.run([...TOKENS, 1])).rejects.toThrow(
        /tokens must be at most config\.maxLength = 8 long, got 9/,
      );
      model.dispose();
    }
    const wrong = { ...config, rope_scaling: { type: "longrope", ...rope, short_factor: [1] } };
    await expect(loadModel(hw, filesOf(wrong, packed))).rejects.toThrow(
      /rope_scaling\.short_factor must be a list of 2 numbers above 0/,
    );
  });

  test("rope_scaling llama3 divides the slow pairs, and blends those between", async () => {
    const scaling = { rope_type: "llama3", factor: 8, low_freq_factor: 1, high_freq_factor: 4 };
    const config = {
      ...CONFIGS.qwen3,
      rope_scaling: { ...scaling, original_max_position_embeddings: 16 },
    };
    const angle = (width: number) => (pair: number, position: number) => {
      const smooth = Math.min(Math.max((turns(pair, width, 16) - 1) / (4 - 1), 0), 1);
      return position * theta(pair, width) * (smooth + (1 - smooth) / 8);
    };
    await check("qwen3", { config, form: { headNorm: true, angle }, tokens: LONG });
  });

  test("rope_parameters with yarn: the blend, and the factor on cosines and sines", async () => {
    const { rope_theta: base, ...rest } = CONFIGS.mistral;
    const rope = {
      rope_type: "yarn",
      rope_theta: base,
      factor: 4,
      original_max_position_embeddings: 8,
      truncate: false,
    };
    const config = { ...rest, rope_parameters: { ...rope, beta_fast: 2, beta_slow: 0.25 } };
    const angle = (width: number) => {
      // the pair that turns so often within the original length (Peng et al. 2023, arXiv:2309.00071)
      const pairOf = (count: number) => (width * Math.log(8 / (count * 2 * Math.PI))) / (2 * Math.log(500));
      const [low, high] = [Math.max(pairOf(2), 0), Math.min(pairOf(0.25), width - 1)];
      return (pair: number, position: number) => {
        const slow = Math.min(Math.max((pair - low) / (high - low), 0), 1);
        return position * theta(pair, width) * (1 - slow + slow / 4);
      };
    };
    const form = { ...FORMS.mistral, angle, size: 0.1 * Math.log(4) + 1 };
    await check("mistral", { config, form, tokens: LONG });
  });
});

describe.each(DECODERS)("Generation with %s", (kind) => {
  const greedy = async (model: Model, prompt: readonly number[], count: number) => {
    const steps = [];
    for await (const step of model.generate(prompt, { maxNewTokens: count, stopTokens: [], returns: { probs: true } }))
      steps.push(step);
    return steps;
  };

  test("is running the whole text again for each token", async () => {
    const model = await load(kind);
    const text = TOKENS.slice(0, 5);
    const steps = await greedy(model, text, 10);
    expect(steps).toHaveLength(10);
    for (const { token, logits, probability, layers } of steps) {
      const whole = await model.run(text, { logits: "last", returns: { probs: { queries: [text.length - 1] } } });
      const values = Float64Array.from(whole.logits!.data);
      expect(differences({ data: logits }, { values, tolerance: values.map(() => 1e-5) })).toEqual([]);
      expect(token).toBe(values.indexOf(Math.max(...values)));
      const sum = values.reduce((total, value) => total + Math.exp(value), 0);
      expect(probability).toBeCloseTo(Math.exp(values[token]!) / sum, 4);
      for (const name of model.names) {
        const latest = layers[name]!.probs.data;
        const { data } = whole.layers[name]!.probs;
        // a step after the first has one row for each head, as the other call has
        if (text.length > 5)
          expect(
            differences(
              { data: latest },
              { values: Float64Array.from(data), tolerance: Float64Array.from(data, () => 1e-5) },
            ),
          ).toEqual([]);
      }
      text.push(token);
    }
    model.dispose();
  });

  test("with a function as patch overwrites in every step what running the whole text with that patch does", async () => {
    const model = await load(kind);
    const [first] = model.names as [string];
    const text = TOKENS.slice(0, 5);
    const asked: object[] = [];
    const [reads, heads] = [[5, 1, 1, 1], [1]];
    const steps = model.generate(text, {
      maxNewTokens: 4,
      stopTokens: [],
      patch: async (step) => {
        asked.push(step);
        // position 2, which the prompt has, and position 6, which the third step reads
        const rows = [2, 6].map((position) => position - step.position).filter((row) => row >= 0 && row < step.length);
        await Promise.resolve(); // the answer may come later
        return rows.length > 0 ? { [first]: { headOutputs: { heads, queries: rows, data: [0.5] } } } : undefined;
      },
    });
    for await (const { logits } of steps) {
      const queries = [2, 6].filter((position) => position < text.length);
      const patch = { [first]: { headOutputs: { heads, queries, data: [0.5] } } };
      const whole = await model.run(text, { logits: "last", patch });
      const values = Float64Array.from(whole.logits!.data);
      expect(differences({ data: logits }, { values, tolerance: values.map(() => 1e-5) })).toEqual([]);
      text.push(values.indexOf(Math.max(...values)));
    }
    expect(asked).toEqual(reads.map((length, n) => ({ position: n === 0 ? 0 : 4 + n, length })));
    model.dispose();
  });

  test("refuses what the function patch must not return, and passes on what it throws", async () => {
    const model = await load(kind);
    const patched = (patch: () => unknown) => model.generate(TOKENS, { patch: patch as () => undefined }).next();
    await expect(patched(() => 3)).rejects.toThrow("model.generate: patch() must be an object, got 3");
    await expect(patched(() => ({ layer9: {} }))).rejects.toThrow("model.generate: patch() must name layers");
    const run = model.run(TOKENS, { patch: (() => undefined) as unknown as Record<string, never> });
    await expect(run).rejects.toThrow("model.run: patch must be an object, got a function");
    const error = new Error("mine");
    await expect(patched(() => Promise.reject(error))).rejects.toBe(error);
    model.dispose();
  });

  test("ends with a stop token, which it gives", async () => {
    const model = await load(kind);
    const all = (await greedy(model, TOKENS, 8)).map(({ token }) => token);
    const stop = all[4]!;
    const tokens = [];
    for await (const { token } of model.generate(TOKENS, { maxNewTokens: 8, stopTokens: [stop] })) tokens.push(token);
    expect(tokens).toEqual(all.slice(0, all.indexOf(stop) + 1));
    model.dispose();
  });
});

describe("Generation", () => {
  let model: Model;
  beforeAll(async () => {
    model = await load("gpt2", { config: { ...CONFIGS.gpt2, eos_token_id: 28 } });
  });
  afterAll(() => model.dispose());

  const tokensOf = async (options: object, prompt: Tokens = TOKENS) => {
    const tokens = [];
    for await (const { token } of model.generate(prompt, { stopTokens: [], ...options })) tokens.push(token);
    return tokens;
  };

  test("ends where the model has no more positions", async () => {
    expect(model.config.stopTokens).toEqual([28]);
    const tokens = await tokensOf({ maxNewTokens: 1000 });
    expect(tokens).toHaveLength(32 - TOKENS.length + 1); // the last position predicts one more token
  });

  test("with a seed repeats itself, with another one it differs", async () => {
    const options = { temperature: 1.5, maxNewTokens: 20 };
    const first = await tokensOf({ ...options, seed: 1 });
    expect(await tokensOf({ ...options, seed: 1 })).toEqual(first);
    expect(await tokensOf({ ...options, seed: 2 })).not.toEqual(first);
  });

  test("takes tokens as often as their probabilities say", async () => {
    let probabilities: number[] = [];
    const counts = new Float64Array(29);
    const draws = 600;
    for (let seed = 0; seed < draws; seed++)
      for await (const { token, logits } of model.generate([1, 2], { temperature: 0.7, seed, maxNewTokens: 1 })) {
        counts[token]!++;
        const weights = Array.from(logits, (score) => Math.exp(score / 0.7));
        const sum = weights.reduce((total, weight) => total + weight, 0);
        probabilities = weights.map((weight) => weight / sum);
      }
    // a count has the deviation √(n·p·(1 − p)); five of them are exceeded once in a million
    for (const [token, p] of probabilities.entries())
      expect(Math.abs(counts[token]! - draws * p)).toBeLessThan(5 * Math.sqrt(draws * p * (1 - p)) + 1);
  });

  test("with topK or topP takes only the likeliest tokens", async () => {
    const { logits } = await model.run(TOKENS, { logits: "last" });
    const order = Array.from(logits!.data.keys()).sort((a, b) => logits!.data[b]! - logits!.data[a]!);
    const drawn = async (options: object) => {
      const found = new Set<number>();
      for (let seed = 0; seed < 100; seed++)
        for (const token of await tokensOf({ ...options, temperature: 100, seed, maxNewTokens: 1 })) found.add(token);
      return [...found].sort((a, b) => order.indexOf(a) - order.indexOf(b));
    };
    expect(await drawn({ topK: 3 })).toEqual(order.slice(0, 3));
    // at temperature 100 all 29 tokens are nearly equally likely: 0.1 of them are the first three
    expect(await drawn({ topP: 0.1 })).toEqual(order.slice(0, 3));
    expect(await drawn({ topK: 1, topP: 0.9 })).toEqual(order.slice(0, 1));
  });

  test("takes topP of all tokens that topK keeps, also of more than topK, if the last ones are equal", () => {
    const scores = Float32Array.from([0.5, 0.1, 0.1, 0.1, 0.1, 0.1], Math.log);
    const drawn = (topK: number, topP: number) => {
      const choose = sampler({ temperature: 1, topK, topP });
      return new Set(Array.from({ length: 200 }, () => choose(scores))).size;
    };
    expect(drawn(2, 1)).toBe(6);
    expect(drawn(2, 0.75)).toBe(6); // 0.5 are too few; of equal ones all are taken
    expect(drawn(2, 0.45)).toBe(1);
    expect(drawn(1, 0.9)).toBe(1);
  });

  test("with caches in float16 and int8 stays near", async () => {
    const logitsWith = async (cacheDtype: "float32" | "float16" | "int8") => {
      const rows = [];
      for await (const { logits } of model.generate(TOKENS, { cacheDtype, maxNewTokens: 1 })) rows.push(...logits);
      return rows;
    };
    const exactly = await logitsWith("float32");
    const range = Math.max(...exactly.map(Math.abs));
    for (const [dtype, part] of [
      ["float16", 2e-3],
      ["int8", 5e-2],
    ] as const) {
      const far = Math.max(...(await logitsWith(dtype)).map((value, n) => Math.abs(value - exactly[n]!)));
      expect(far).toBeGreaterThan(0);
      expect(far).toBeLessThan(part * range);
    }
  });
});
