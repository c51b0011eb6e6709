import { expect, test } from "@jest/globals";
import { loadModel } from "headwise/models";

import { differences } from "../web/close.js";
import { CONFIGS, filesOf, randomWeights, shapesOf, type Kind } from "../web/smallModels.js";
import { bothEngines, describeOnGpu } from "./gpu.js";

describeOnGpu("Models on WebGPU", () => {
  const engines = bothEngines();

  test.each<readonly [Kind, "F32" | "F16"]>([
    ["bert", "F32"],
    ["gpt2", "F16"],
    ["mistral", "F32"],
    ["qwen3", "F16"],
  ])("%s from %s computes what it computes on wasm", async (kind, stored) => {
    const files = filesOf(CONFIGS[kind], randomWeights(shapesOf(kind)), stored);
    const tokens = [
      [3, 17, 5, 28, 0],
      [4, 1],
    ];
    const options = { returns: { probs: true } } as const;
    const [onGpu, onCpu] = await Promise.all([engines.onGpu, engines.onCpu].map((hw) => loadModel(hw, files)));
    const [result, expected] = [await onGpu!.run(tokens, options), await onCpu!.run(tokens, options)];
    // products of at most 64 terms in two layers: both engines stay within 1e-5 of the largest score
    const near = ({ data }: { readonly data: Float32Array }) => {
      const share = 1e-5 * Math.max(...data.map(Math.abs), 1);
      return { values: Float64Array.from(data), tolerance: Float64Array.from(data, () => share) };
    };
    expect(differences(result.logits, near(expected.logits!))).toEqual([]);
    for (const name of onCpu!.names)
      expect(differences(result.layers[name]!.probs, near(expected.layers[name]!.probs))).toEqual([]);
    onGpu!.dispose();
    onCpu!.dispose();
  });

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
