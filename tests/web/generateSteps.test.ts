// What model.generate computes as a recorded step, against the same tokens call by call.

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

import { afterAll, beforeAll, describe, expect, jest, test } from "@jest/globals";
import { createAttention, DisposedError, OutOfMemoryError, type Attention } from "headwise";
import { loadModel, type GenerateOptions, type Model } from "headwise/models";
import { createAttention as createInWorker } from "headwise/worker";

import { settingsOf } from "./modelExpected.js";
import { errorOf } from "./refusal.js";
import { CONFIGS, DECODERS, filesOf, longFiles, randomWeights, shapesOf, type Kind } from "./smallModels.js";

const TOKENS = 12;

const filesFor = (kind: Kind) => filesOf(CONFIGS[kind], settingsOf(kind).weights, "F32");

/** Files of a model with so many words. */
function filesWithWords(count: number) {
  const tables = { "model.embed_tokens.weight": [count, 16], "lm_head.weight": [count, 16] };
  const weights = randomWeights({ ...shapesOf("llama"), ...tables });
  return filesOf({ ...CONFIGS.llama, vocab_size: count }, weights, "F32");
}

/** The tokens and scores that a model generates. */
async function generated(model: Model, options: GenerateOptions = {}, prompt = [3, 17, 5]) {
  const all: { token: number; logits: Float32Array }[] = [];
  const steps = model.generate(prompt, { maxNewTokens: TOKENS, stopTokens: [], temperature: 0, ...options });
  for await (const { token, logits } of steps) all.push({ token, logits });
  return all;
}

/** Norms and activations of a step are computed in float32, those between calls in double: two layers differ by this much. */
const MOST_DIFFERENCE = 2e-5;

function expectAlike(steps: Awaited<ReturnType<typeof generated>>, calls: typeof steps) {
  expect(steps.map(({ token }) => token)).toEqual(calls.map(({ token }) => token));
  steps.forEach(({ logits }, n) => {
    const expected = calls[n]!.logits;
    const most = (of: (value: number, i: number) => number) =>
      logits.reduce((largest, value, i) => Math.max(largest, Math.abs(of(value, i))), 0);
    expect(most((value, i) => value - expected[i]!) / most((_, i) => expected[i]!)).toBeLessThan(MOST_DIFFERENCE);
  });
}

describe("tokens after the prompt", () => {
  let hw: Attention;
  beforeAll(async () => (hw = await createAttention({ backend: "wasm", threads: 1 })));
  afterAll(() => hw.dispose());

  test.each(DECODERS)("of %s are those of single calls, as one step and with heads switched off", async (kind) => {
    const model = await loadModel(hw, filesFor(kind));
    const record = jest.spyOn(hw, "record");
    const steps = await generated(model);
    expect(record).toHaveBeenCalledTimes(1);
    const calls = await generated(model, { returns: { probs: true } });
    expectAlike(steps, calls);
    const headGain = { [model.names[1]!]: [0, 1, 1, 0.5] };
    expectAlike(await generated(model, { headGain }), await generated(model, { headGain, returns: { lse: true } }));
    expect(record).toHaveBeenCalledTimes(2);
    await generated(model, { patch: () => undefined });
    expect(record).toHaveBeenCalledTimes(2);
    record.mockRestore();
    model.dispose();
  });

  // A block has 64 tokens.
  test.each([63, 64, 65, 130])(
    "a prompt of %i tokens is read as by single calls, in blocks where it has some",
    async (length) => {
      for (const kind of DECODERS) {
        const model = await loadModel(hw, longFiles(kind));
        const prompt = Array.from({ length }, (_, n) => (7 * n * n + 3) % model.config.vocabSize);
        const record = jest.spyOn(hw, "record");
        const options = { maxNewTokens: 3 };
        const steps = await generated(model, options, prompt);
        expect(record).toHaveBeenCalledTimes(length < 64 ? 1 : 2);
        expectAlike(steps, await generated(model, { ...options, returns: { lse: true } }, prompt));
        expect(await generated(model, options, prompt)).toEqual(steps);
        record.mockRestore();
        model.dispose();
      }
    },
  );

  test("of the next text run the same step, until the model is disposed or another model is loaded", async () => {
    const model = await loadModel(hw, filesFor("llama"));
    const record = jest.spyOn(hw, "record");
    const first = await generated(model);
    expect(await generated(model)).toEqual(first);
    for await (const { token } of model.generate([9, 9], { maxNewTokens: 50, stopTokens: [] })) if (token >= 0) break;
    expect(await generated(model)).toEqual(first);
    expect(record).toHaveBeenCalledTimes(1);
    const signal = AbortSignal.abort();
    await expect(generated(model, { signal })).rejects.toThrow();
    expect(await generated(model)).toEqual(first);
    expect(record).toHaveBeenCalledTimes(2);
    const other = await loadModel(hw, filesFor("gpt2"));
    expect(await generated(model)).toEqual(first);
    expect(record).toHaveBeenCalledTimes(3);
    record.mockRestore();
    model.dispose();
    other.dispose();
  });

  test("of two texts at a time have a step each, and one of them is kept", async () => {
    const model = await loadModel(hw, filesFor("llama"));
    const first = await generated(model);
    const record = jest.spyOn(hw, "record");
    const [a, b] = await Promise.all([generated(model), generated(model)]);
    expect(a).toEqual(first);
    expect(b).toEqual(first);
    expect(record).toHaveBeenCalledTimes(1);
    const narrow = await generated(model, { cacheDtype: "int8" });
    expect(await generated(model, { cacheDtype: "int8" })).toEqual(narrow);
    expect(record).toHaveBeenCalledTimes(2);
    record.mockRestore();
    model.dispose();
  });

  test("leave no memory behind when the model is disposed", async () => {
    const small = await createAttention({ backend: "wasm", threads: 1, maximumMemory: 24 * 2 ** 20 });
    const files = filesFor("llama");
    for (let n = 0; n < 40; n++) {
      const model = await loadModel(small, files);
      await generated(model);
      model.dispose();
    }
    const most = small.allocate([3 * 2 ** 20]); // 12 MiB
    most.dispose();
    small.dispose();
  });

  test("of a text that is left in the middle leave no memory behind when the model is disposed", async () => {
    const small = await createAttention({ backend: "wasm", threads: 1, maximumMemory: 24 * 2 ** 20 });
    const files = longFiles("llama");
    const prompt = Array.from({ length: 130 }, (_, n) => n % 29);
    const disposed = [];
    for (let n = 0; n < 60; n++) {
      const model = await loadModel(small, files);
      const options = n % 2 ? {} : ({ returns: { output: true }, layers: [0] } as const);
      const steps = model.generate(prompt, { maxNewTokens: 9, stopTokens: [], ...options });
      await steps.next();
      model.dispose();
      if (n < 4) disposed.push(await errorOf(steps.next()));
    }
    for (const error of disposed) {
      expect(error.message).toBe("model.generate: the model was disposed");
      expect(DisposedError.is(error)).toBe(true);
    }
    const most = small.allocate([4 * 2 ** 20]); // 16 MiB
    most.dispose();
    small.dispose();
  });

  test("of a text whose iterator is dropped in the middle leave no memory behind", async () => {
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void;
    const small = await createAttention({ backend: "wasm", threads: 1, maximumMemory: 24 * 2 ** 20 });
    const model = await loadModel(small, longFiles("llama"));
    const prompt = Array.from({ length: 130 }, (_, n) => n % 29);
    for (let n = 0; n < 150; n++) {
      const options = n % 2 ? {} : ({ returns: { output: true }, layers: [0] } as const);
      await model.generate(prompt, { maxNewTokens: 9, stopTokens: [], ...options }).next();
      await new Promise((resolve) => setTimeout(resolve, 0)); // nothing on the stack holds the iterator
      collect();
      await new Promise((resolve) => setTimeout(resolve, 0)); // what was collected is told
    }
    const kept = await generated(model);
    expect(kept).toHaveLength(TOKENS); // the model's own step is not harmed
    small.allocate([4 * 2 ** 20]).dispose(); // 16 MiB
    small.dispose();
  });

  test("of a text during which the model is disposed end with an error that says so", async () => {
    const model = await loadModel(hw, filesFor("llama"));
    const [steps, run] = [generated(model), model.run([3, 17, 5])];
    model.dispose();
    expect((await errorOf(steps)).message).toBe("model.generate: the model was disposed");
    expect((await errorOf(run)).message).toBe("model.run: the model was disposed");
  });

  test.each(["run", "generate"])("a step that was kept is given back when model.%s finds no memory", async (method) => {
    const model = await loadModel(hw, filesFor("llama"));
    const first = await generated(model);
    const run = async () => (await model.run([3, 17, 5], { logits: "last" })).logits!.data;
    const logits = await run();
    const record = jest.spyOn(hw, "record");
    const linear = jest.spyOn(hw, "linear").mockRejectedValueOnce(new OutOfMemoryError("linear: no room"));
    if (method === "run") expect(await run()).toEqual(logits);
    else expect(await generated(model)).toEqual(first);
    expect(await generated(model)).toEqual(first);
    expect(record).toHaveBeenCalledTimes(1);
    linear.mockRejectedValue(new OutOfMemoryError("linear: no room"));
    await expect(run()).rejects.toThrow("linear: no room");
    await expect(generated(model)).rejects.toThrow("linear: no room");
    jest.restoreAllMocks();
    expect(await generated(model)).toEqual(first);
    model.dispose();
  });

  test("a step is not kept if it holds more than a quarter of the memory", async () => {
    const files = filesWithWords(60_000);
    for (const [megabytes, times] of [
      [128, 1],
      [32, 2],
    ] as const) {
      const worker = await createInWorker({ backend: "wasm", threads: 1, maximumMemory: megabytes * 2 ** 20 });
      const model = await loadModel(worker, files);
      const record = jest.spyOn(worker, "record");
      const first = await generated(model, { maxNewTokens: 3 });
      expect(await generated(model, { maxNewTokens: 3 })).toEqual(first);
      expect(record).toHaveBeenCalledTimes(times);
      worker.dispose();
    }
  });

  test("of a model in a worker are the same", async () => {
    const worker = await createInWorker({ backend: "wasm", threads: 1 });
    const record = jest.spyOn(worker, "record");
    const there = await generated(await loadModel(worker, filesFor("llama")));
    expect(record).toHaveBeenCalledTimes(1);
    expect(there).toEqual(await generated(await loadModel(hw, filesFor("llama"))));
    worker.dispose();
  });

  test("go on call by call if a worker has no room for the step, which copies all weights", async () => {
    const files = filesWithWords(120_000);
    const worker = await createInWorker({ backend: "wasm", threads: 1, maximumMemory: 16 * 2 ** 20 });
    const record = jest.spyOn(worker, "record");
    const there = await generated(await loadModel(worker, files));
    expect(record).toHaveBeenCalledTimes(1);
    expectAlike(there, await generated(await loadModel(hw, files), { returns: {} }));
    worker.dispose();
  });
});
