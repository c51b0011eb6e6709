import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createAttention, type Attention } from "headwise";
import { createAttention as createInline } from "headwise/inline";
import { loadModel } from "headwise/models";
import * as onnx from "headwise/onnx";
import { createAttention as createOnGpu } from "headwise/webgpu";
import { createAttention as createInWorker } from "headwise/worker";

import { bits } from "./close.js";
import { FUNCTIONS } from "./hostileFunctions.js";
import { B, D, floats, H, heads, prepare, PROGRAMS, S } from "./hostilePrograms.js";
import { badEnding, hostileArguments } from "./hostileValues.js";
import { CONFIGS, filesOf, randomWeights, shapesOf } from "./smallModels.js";

/** The arguments for which a call ends badly. */
async function badEndings(args: () => readonly unknown[], run: (args: never) => unknown): Promise<string[]> {
  const bad: string[] = [];
  for (const hostile of hostileArguments(args)) {
    const ending = await badEnding(() => run(hostile.args as never), hostile.isCalled);
    if (ending !== undefined) bad.push(`${hostile.where}: ${ending}`);
  }
  return bad;
}

// headwise/inline reads arguments with the code of headwise
describe.each([
  ["headwise", () => createAttention({ backend: "wasm", variant: "simd", threads: 1 })],
  ["headwise/worker", () => createInWorker({ backend: "wasm", variant: "simd", threads: 1 })],
])("values that throw when they are read, given to %s", (_, create: () => Promise<Attention>) => {
  let hw: Attention;
  beforeAll(async () => {
    hw = await create();
    await prepare(hw);
  });
  afterAll(() => hw.dispose());

  test.each(Object.keys(PROGRAMS))("%s: a typed error or a result, and the next call as before", async (name) => {
    const honest = () => hw.scaledDotProductAttention(heads(4), heads(5), heads(6), { causal: true });
    const expected = bits(await honest());
    const { args, run } = PROGRAMS[name]!;
    expect(await badEndings(args, (given) => run(hw, given))).toEqual([]);
    expect(bits(await honest())).toEqual(expected);
  });
});

describe("values that throw when they are read, given as an instance", () => {
  const x = floats(1, B, H, S, D);
  test.each<[string, (hw: never) => unknown]>([
    ["loadModel", (hw) => loadModel(hw, filesOf(CONFIGS.gpt2, randomWeights(shapesOf("gpt2"))))],
    ["Attention", (hw) => onnx.attention(hw, { Q: x, K: x, V: x })],
    ["RotaryEmbedding", (hw) => onnx.rotaryEmbedding(hw, { X: x, cos_cache: x, sin_cache: x })],
    ["Softmax", (hw) => onnx.softmax(hw, { input: x })],
  ])("%s: a typed error or a result", async (_, run) => {
    expect(
      await badEndings(
        () => [{}],
        ([hw]: never[]) => run(hw!),
      ),
    ).toEqual([]);
  });
});

describe("values that throw when they are read, given to createAttention", () => {
  test.each<[string, (options: never) => Promise<Attention>, object]>([
    ["headwise", createAttention, { wasm: { baseUrl: new URL("../../dist/wasm/", import.meta.url) }, calibrate: {} }],
    ["headwise/inline", createInline, { wasm: {} }],
    ["headwise/worker", createInWorker, { threads: 1, wasm: { binary: new Uint8Array(8) } }],
    ["headwise/webgpu", createOnGpu, { gpu: { requestAdapter: () => null }, tiling: "auto" }],
  ])("of %s: a typed error or an instance", async (_, create, options) => {
    const run = async ([given]: never[]) => (await create(given!)).dispose();
    expect(await badEndings(() => [options], run)).toEqual([]);
  });
});

describe("values that throw when they are read, given to functions", () => {
  test.each(Object.keys(FUNCTIONS))("%s: a typed error or a result", async (name) => {
    const { args, run } = FUNCTIONS[name]!;
    expect(await badEndings(args, run)).toEqual([]);
  });
});
