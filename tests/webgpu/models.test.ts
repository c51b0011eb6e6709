import { describe, expect, jest, test } from "@jest/globals";
import { createAttention } from "headwise";
import { loadModel, type GenerateOptions, type Model } from "headwise/models";

import { differences } from "../web/close.js";
import { FAMILY_MODELS, type FamilyName } from "../web/familyModels.js";
import { compute, expected, KINDS, settingsOf, throughInt8, TOKENS } from "../web/modelExpected.js";
import { expectStory, hasStories, storiesTitle } from "../web/storiesCheckpoint.js";
import { CONFIGS, DECODERS, filesOf, longFiles, randomWeights, shapesOf } from "../web/smallModels.js";
import { WatchedGpu } from "./faultyGpu.js";
import { bothEngines, describeOnGpu, gpu } from "./gpu.js";

/** The tokens and scores that a model generates. */
async function generated(model: Model, prompt: readonly number[], options: GenerateOptions = {}) {
  const all = [];
  for await (const step of model.generate(prompt, { maxNewTokens: 8, stopTokens: [], temperature: 0, ...options }))
    all.push(step);
  return all;
}

describeOnGpu("Models on WebGPU", () => {
  const engines = bothEngines();

  describe.each(KINDS)("of type %s", (kind) => {
    const { config, weights } = settingsOf(kind);

    test.each([
      ["F32", "as-stored"],
      ["F16", "as-stored"],
      ["BF16", "as-stored"],
      ["BF16", "float16"],
      ["F32", "bfloat16"],
      ["BF16", "int8"],
    ] as const)("stored as %s, with precision %s, computes its formula", async (stored, precision) => {
      const model = await loadModel(engines.onGpu, filesOf(config, weights, stored), { precision });
      const { logits } = await model.run(TOKENS);
      const kept = precision === "int8" ? throughInt8(weights) : weights;
      const { values, tolerance } = expected((round) => compute(kind, { weights: kept }, round).logits);
      // scales are float32 and not powers of two: products with them are rounded once more
      const factor = precision === "int8" ? 2 : 1;
      expect(differences(logits, { values, tolerance: tolerance.map((each) => factor * each) })).toEqual([]);
      model.dispose();
    });

    test("gives texts of a batch the probabilities that wasm gives them", async () => {
      const tokens = [
        [3, 17, 5, 28, 0],
        [4, 1],
      ];
      const options = { returns: { probs: true } } as const;
      const files = filesOf(config, weights);
      const [onGpu, onCpu] = await Promise.all([engines.onGpu, engines.onCpu].map((hw) => loadModel(hw, files)));
      const [result, other] = [await onGpu!.run(tokens, options), await onCpu!.run(tokens, options)];
      for (const name of onCpu!.names) {
        const values = Float64Array.from(other.layers[name]!.probs.data);
        // probabilities of at most 1, from products of at most 64 terms in two layers
        expect(differences(result.layers[name]!.probs, { values, tolerance: values.map(() => 1e-5) })).toEqual([]);
      }
      onGpu!.dispose();
      onCpu!.dispose();
    });
  });

  test.each(Object.keys(FAMILY_MODELS) as FamilyName[])("of type %s, computes its formula", async (name) => {
    const { config, shapes, compute: computeFamily } = FAMILY_MODELS[name];
    const weights = randomWeights(shapes);
    const tokens = Array.from({ length: 20 }, (_, n) => (n * 7 + 3) % 29);
    const model = await loadModel(engines.onGpu, filesOf(config, weights));
    const { logits } = await model.run(tokens);
    const must = expected((round) => computeFamily({ config, weights, tokens, round }).logits);
    expect(differences(logits, must)).toEqual([]);
    model.dispose();
  });

  // A cache grows at 64 tokens. The whole text is that of tests/web/stories.test.ts.
  (hasStories ? test.each : test.skip.each)(["float32", "float16"] as const)(
    `${storiesTitle} with weights of %s writes the first 70 tokens of its published text`,
    (precision) => expectStory(engines.onGpu, precision, 70),
  );

  test("weights lie on the GPU only, but for tables whose rows JavaScript reads", async () => {
    const weights = randomWeights(shapesOf("gpt2"));
    const own = new Map([...weights, ["lm_head.weight", weights.get("transformer.wte.weight")!] as const]);
    const tied = await loadModel(engines.onGpu, filesOf(CONFIGS.gpt2, weights));
    const untied = await loadModel(engines.onGpu, filesOf({ ...CONFIGS.gpt2, tie_word_embeddings: false }, own));
    // the tied table is at both places; of two tables one is here, one there
    expect(untied.bytes).toBe(tied.bytes);
    expect((await untied.run([1, 2])).logits).toEqual((await tied.run([1, 2])).logits);
    tied.dispose();
    untied.dispose();
    expect(tied.bytes).toBe(0);
  });

  test("a model that is disposed leaves no buffer, but for scratch that the next one uses again", async () => {
    const watch = new WatchedGpu();
    const hw = await createAttention({ backend: "webgpu", gpu: gpu! });
    const files = filesOf(CONFIGS.gpt2, randomWeights(shapesOf("gpt2")));
    const left: number[] = [];
    for (let n = 0; n < 3; ++n) {
      const model = await loadModel(hw, files, { precision: "int8" });
      for await (const { token } of model.generate([1, 2, 3], { maxNewTokens: 2 })) expect(token).toBeLessThan(29);
      expect(watch.buffers.size).toBeGreaterThan(left[0] ?? 0);
      model.dispose();
      await new Promise((done) => setImmediate(done)); // memory is given back after the calls made before
      left.push(watch.buffers.size);
    }
    expect(left[2]).toBe(left[1]);
    hw.dispose();
    expect(watch.buffers.size).toBe(0);
    watch.restore();
  });

  /** The tokens and scores of steps are those of single calls. */
  async function expectSteps(model: Model, prompt: readonly number[], recorded: number) {
    const record = jest.spyOn(engines.onGpu, "record");
    const steps = await generated(model, prompt);
    expect(record).toHaveBeenCalledTimes(recorded);
    const calls = await generated(model, prompt, { returns: { lse: true } });
    expect(record).toHaveBeenCalledTimes(recorded);
    record.mockRestore();
    expect(steps.map(({ token }) => token)).toEqual(calls.map(({ token }) => token));
    for (const [n, { logits }] of calls.entries()) {
      const values = Float64Array.from(logits);
      const most = values.reduce((largest, value) => Math.max(largest, Math.abs(value)), 0);
      // norms and activations of a step are computed in float32, those between calls in double
      const tolerance = values.map(() => 2e-5 * most);
      expect(differences({ data: steps[n]!.logits }, { values, tolerance })).toEqual([]);
    }
    model.dispose();
  }

  test.each(DECODERS)("tokens after the prompt of %s go through one recorded step", async (kind) => {
    const { config, weights } = settingsOf(kind);
    await expectSteps(await loadModel(engines.onGpu, filesOf(config, weights)), [3, 17, 5], 1);
  });

  // A block has 64 tokens.
  test.each([64, 130])("a prompt of %i tokens goes through the step of a block, and one of a token", async (length) => {
    for (const kind of ["gpt2", "llama"] as const) {
      const prompt = Array.from({ length }, (_, n) => (7 * n * n + 3) % 29);
      await expectSteps(await loadModel(engines.onGpu, longFiles(kind)), prompt, 2);
    }
  });

  test("a text that is generated has the tokens that wasm gives", async () => {
    const files = filesOf(CONFIGS.gpt2, randomWeights(shapesOf("gpt2")));
    const texts = [];
    for (const hw of [engines.onGpu, engines.onCpu]) {
      const model = await loadModel(hw, files);
      const tokens = [];
      for await (const { token } of model.generate([1, 2, 3], { maxNewTokens: 6 })) tokens.push(token);
      texts.push(tokens);
      model.dispose();
    }
    expect(texts[0]).toHaveLength(6);
    expect(texts[0]).toEqual(texts[1]);
  });
});
