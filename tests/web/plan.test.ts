import { describe, expect, jest, test } from "@jest/globals";
import { createAttention, ShapeError, type Attention } from "headwise";
import { createAttention as createInline } from "headwise/inline";
import { createAttention as createInWorker } from "headwise/worker";

import { openWasmCore } from "./sourceWasm.js"; // first of the sources
import { attentionProblem, OPTION_NAMES } from "../../web/src/attention/attentionProblem.js";
import { CallArguments } from "../../web/src/read/callArguments.js";
import { readOptions } from "../../web/src/read/options.js";
import { here } from "../../web/src/turn/late.js";
import { attentionMemory } from "../../web/src/wasm/attentionMemory.js";
import { Arena } from "../../web/src/wasm/heap.js";
import * as makers from "../../web/src/wasm/makers.js";
import * as runners from "../../web/src/wasm/runners.js";
import { WasmEngine } from "../../web/src/wasm/wasmEngine.js";
import { FAST, SLOW, syntheticInstance } from "./syntheticEngine.js";

const BERT = { numHeads: 12, queryLength: 128, headDim: 64 };
const zeros = (...shape: number[]) => ({ data: new Float32Array(shape.reduce((a, b) => a * b, 1)), shape });
const MIB = 2 ** 20;

async function withInstance(options: object, use: (hw: Attention) => unknown): Promise<void> {
  const hw = await createAttention({ threads: 1, ...options });
  try {
    await use(hw);
  } finally {
    hw.dispose();
  }
}

describe("plan", () => {
  test('without a GPU refuses location "gpu", as the call does', () =>
    withInstance({}, async (hw) => {
      const x = zeros(1, 1, 2, 2);
      for (const call of [
        hw.plan(BERT, { location: "gpu" }),
        hw.scaledDotProductAttention(x, x, x, { location: "gpu" }),
      ])
        await expect(call).rejects.toMatchObject({ name: "UnsupportedError" });
    }));

  test("gives bytes by purpose, and computes and allocates nothing, however large the shape is", () =>
    withInstance({}, async (hw) => {
      const { bytes, engine, why } = await hw.plan(BERT, {
        causal: true,
        returns: { lse: true, probs: { heads: [0, 1] } },
      });
      const tensor = 4 * 12 * 128 * 64;
      for (const name of ["query", "key", "value", "output"]) {
        expect(bytes.wasm![name]).toBeGreaterThanOrEqual(tensor);
        expect(bytes.wasm![name]).toBeLessThanOrEqual(tensor + 64);
      }
      expect(bytes.wasm!.probs).toBe(4 * 2 * 128 * 128 + 64 + 64); // and the list of heads
      expect(bytes.wasm!.lse).toBeGreaterThanOrEqual(4 * 12 * 128);
      const { total, ...parts } = bytes.wasm!;
      expect(Object.values(parts).reduce((sum, part) => sum + part, 0)).toBe(total);
      expect([engine, why]).toEqual(["wasm", "The instance has only wasm."]);
      const huge = await hw.plan({ ...BERT, queryLength: 2 ** 23 });
      expect(huge.bytes.wasm!.total).toBeGreaterThan(2 ** 36);
      expect(huge.why).toMatch(
        /^The instance has only wasm\. It does not fit: it needs \d+ bytes, and calls have \d+\.$/,
      );
    }));

  test("predicts by assumptions at first, and by the times of the calls that follow the first plan", () =>
    withInstance({}, async (hw) => {
      const before = await hw.plan(BERT);
      expect(before.basis.wasm).toBe("assumed, refined by 0 calls");
      expect(before.milliseconds.wasm).toBeGreaterThan(0);
      expect((await hw.plan({ ...BERT, queryLength: 256 })).milliseconds.wasm).toBeGreaterThan(
        before.milliseconds.wasm!,
      );
      for (let call = 0; call < 4; ++call) await hw.warmup({ numHeads: 1, queryLength: 8, headDim: 4 });
      const x = zeros(4, 8);
      for (let call = 0; call < 4; ++call) await hw.scaledDotProductAttention(x, x, x);
      expect((await hw.plan(BERT)).basis.wasm).toBe("assumed, refined by 3 calls");
    }));

  test("finds the longest sequence that fits: a call of that length is computed, and one a fifth longer is not", () =>
    withInstance({ maximumMemory: 32 * MIB }, async (hw) => {
      const shape = { numHeads: 2, queryLength: 1, keyLength: 1000, headDim: 64 };
      const { longest } = await hw.plan(shape);
      const keys = longest.wasm!;
      expect(keys).toBeGreaterThan(20_000);
      const attend = (length: number) =>
        hw.scaledDotProductAttention(zeros(1, 2, 1, 64), zeros(1, 2, length, 64), zeros(1, 2, length, 64));
      expect((await attend(keys)).output.shape).toEqual([1, 2, 1, 64]);
      await expect(attend(Math.round(1.2 * keys))).rejects.toMatchObject({ code: "OUT_OF_MEMORY" });
      const self = (await hw.plan({ numHeads: 2, queryLength: 1000, headDim: 64 })).longest.wasm!;
      expect(self).toBeLessThan(keys);
      expect(
        (await hw.plan({ numHeads: 2, queryLength: 1000, headDim: 64 }, { returns: { probs: true } })).longest.wasm,
      ).toBeLessThan(self);
    }));

  test("refuses what the call would refuse, with its own name", () =>
    withInstance({}, async (hw) => {
      await expect(hw.plan({ ...BERT, numKvHeads: 5 })).rejects.toThrow(/^plan: .*must divide/);
      await expect(hw.plan({ ...BERT, numHeads: 0 })).rejects.toThrow(
        "plan: shape.numHeads must be an integer of at least 1, got 0",
      );
      await expect(hw.plan(BERT, { casual: true } as never)).rejects.toThrow('plan: unknown option "casual"');
      await expect(hw.plan(BERT, { mask: { data: new Uint8Array(6), shape: [2, 3] } })).rejects.toThrow(ShapeError);
      expect((await hw.plan(BERT, { layout: "BSE" })).bytes.wasm!.total).toBeGreaterThan(0);
    }));

  test("rejects with the reason of a signal that has aborted", () =>
    withInstance({}, async (hw) => {
      const signal = AbortSignal.abort(new Error("enough"));
      await expect(hw.plan(BERT, { signal })).rejects.toBe(signal.reason);
      expect((await hw.plan(BERT, { signal: new AbortController().signal })).engine).toBe("wasm");
    }));

  test.each<[entry: string, create: () => Promise<Attention>]>([
    ["headwise/worker", () => createInWorker({ threads: 1 })],
    ["headwise/inline", () => createInline()],
  ])("works in %s, with the same bytes", async (_entry, create) => {
    const [hw, other] = [await create(), await createAttention({ threads: 1 })];
    expect((await hw.plan(BERT)).bytes).toEqual((await other.plan(BERT)).bytes);
    expect((await hw.plan(BERT)).longest).toEqual((await other.plan(BERT)).longest);
    hw.dispose();
    other.dispose();
  });
});

describe("the bytes that a plan gives for wasm", () => {
  test.each<[what: string, options: object]>([
    ["the output alone", {}],
    [
      "masks, biases and lists",
      {
        mask: { data: new Uint8Array(35).fill(1), shape: [5, 7] },
        bias: zeros(5, 7),
        alibiSlopes: [1, 2, 3],
        sinks: [1, 2, 3],
        headGain: [1, 1, 1],
        keyLengths: [7, 6],
      },
    ],
    [
      "every result",
      { returns: { lse: true, entropy: true, probs: { heads: [1] }, topK: { k: 2, queries: [0, 3] }, scores: "raw" } },
    ],
    ["no output", { returns: { output: false, lse: true } }],
  ])("are those of the arrays that the engine places for %s", async (_what, options) => {
    const core = await openWasmCore();
    const call = new CallArguments("test");
    const tensors = [zeros(2, 3, 5, 4), zeros(2, 3, 7, 4), zeros(2, 3, 7, 6)] as const;
    const problem = attentionProblem(call, ...tensors, readOptions(call, options, OPTION_NAMES));
    let placed = 0;
    const spy = jest.spyOn(Arena.prototype, "bytes");
    await new WasmEngine(core, { layers: here(makers), operations: here(runners) }).attention(problem);
    for (const [bytes] of spy.mock.calls) placed += Math.floor((bytes + 64) / 64) * 64; // as embind.cpp rounds
    spy.mockRestore();
    const { scratch, ...arrays } = attentionMemory(problem, 1);
    expect(Object.values(arrays).reduce((sum, bytes) => sum + bytes, 0)).toBe(placed);
    expect(scratch).toBeGreaterThan(0);
    core.end((operation) => new Error(operation) as never);
  });
});

describe("a plan of an instance with two engines", () => {
  const large = { numHeads: 16, queryLength: 1024, headDim: 64 };
  async function calibrated(device: typeof FAST) {
    const instance = syntheticInstance(device);
    for (let call = 0; call < 3; ++call) {
      const x = () => zeros(1, 16, 1024, 64);
      await instance.hw.scaledDotProductAttention(x(), x(), x());
      await instance.engine.settled;
    }
    return instance.hw;
  }

  test("says that the GPU was not measured, and takes wasm", async () => {
    const { hw } = syntheticInstance(FAST);
    const { engine, why, milliseconds, basis, bytes } = await hw.plan(large);
    expect(engine).toBe("wasm");
    expect(why).toMatch(/^WebGPU is not used: no call so far was large enough to gain from a GPU\./);
    expect(milliseconds.webgpu).toBeUndefined();
    expect(basis.webgpu).toBe(
      "no prediction: no call so far was large enough to gain from a GPU, bytes by the limits that every GPU has",
    );
    expect(bytes.webgpu!.query).toBe(4 * 16 * 1024 * 64);
  });

  test("takes the engine that is predicted to be faster, with both times", async () => {
    const fast = await calibrated(FAST);
    const plan = await fast.plan(large);
    expect(plan.engine).toBe("webgpu");
    expect(plan.why).toMatch(/^webgpu is predicted to take [\d.]+ ms, the other [\d.]+ ms\.$/);
    expect(plan.milliseconds.webgpu).toBeLessThan(plan.milliseconds.wasm!);
    expect(plan.basis.webgpu).toMatch(/^measured in this process, refined by \d+ calls/);
    expect((await fast.plan({ numHeads: 1, queryLength: 4, headDim: 16 })).engine).toBe("wasm");
    const slow = await calibrated(SLOW);
    expect((await slow.plan(large)).engine).toBe("wasm");
  });

  test("says which limit of a GPU a call exceeds, and how long a sequence may be there", async () => {
    const hw = await calibrated(FAST);
    const { engine, why, bytes, longest } = await hw.plan(
      { ...large, queryLength: 8192 },
      { returns: { probs: true } },
    );
    expect(engine).toBe("wasm");
    expect(why).toMatch(/^The GPU cannot compute it: plan: probs needs a buffer of \d+ bytes, over the device's /);
    expect(bytes.webgpu).toBeUndefined();
    expect(longest.webgpu).toBe(Math.floor(Math.sqrt(2 ** 27 / (4 * 16))));
  });
});
