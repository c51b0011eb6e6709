import { setTimeout as wait } from "node:timers/promises";

import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { Attention, AttentionOptions, CallProgress, ForwardOptions } from "headwise";

import { endOfSubmit, MOST_SECONDS, piecesOf, Speed, UNKNOWN_SPEED } from "../../web/src/webgpu/plan/pieces.js";
import { bits } from "../web/close.js";
import { randomTensor } from "../web/randomTensor.js";
import { prototypeOf, replace } from "./faultyGpu.js";
import { createOnSharedDevice, describeOnGpu } from "./gpu.js";

/** Runs a call whose results come a second late: so the device looks slow, however fast it is. */
async function whileSlow(call: () => Promise<unknown>): Promise<void> {
  const restore = replace(
    prototypeOf("GPUBuffer"),
    "mapAsync",
    (original) =>
      async function (...parameters) {
        await wait(1000);
        return original.apply(this, parameters);
      },
  );
  await call().finally(restore);
}

/** The seconds of each submit of a kernel, as the engine predicts them. */
function submitsOf(workgroups: number, operations: number, speed: number): number[] {
  const pieces = piecesOf(workgroups, operations, speed).map((piece) => piece.operations);
  const seconds: number[] = [];
  for (let from = 0; from < pieces.length;) {
    const to = endOfSubmit(pieces, from, speed);
    seconds.push(pieces.slice(from, to).reduce((sum, each) => sum + each, 0) / speed);
    from = to;
  }
  return seconds;
}

describe("the submits of a long call", () => {
  // 32 heads of 128, 32,768 rows and keys: 64 rows a workgroup
  const OPERATIONS = 2 * 32 * 32_768 * 32_768 * 256;
  const WORKGROUPS = 32 * 512;

  test("are at least 100 on a device of 1 TFLOP/s, and none is longer than 100 ms", () => {
    const seconds = submitsOf(WORKGROUPS, OPERATIONS, UNKNOWN_SPEED);
    expect(seconds.length).toBeGreaterThanOrEqual(100);
    expect(Math.max(...seconds)).toBeLessThanOrEqual(MOST_SECONDS);
    expect(seconds.reduce((sum, each) => sum + each, 0)).toBeCloseTo(OPERATIONS / UNKNOWN_SPEED, 6);
  });

  test("are one if the call is short, and as many as workgroups if each takes too long", () => {
    expect(submitsOf(WORKGROUPS, OPERATIONS, 1e15)).toHaveLength(1);
    expect(submitsOf(8, OPERATIONS, UNKNOWN_SPEED)).toHaveLength(8);
    expect(submitsOf(1, OPERATIONS, UNKNOWN_SPEED)).toHaveLength(1);
  });

  test.each([1, 3, 7, 64, 1000])("have every one of %i workgroups once", (workgroups) => {
    for (const operations of [1, 1e11, 1e12, 1e15]) {
      const pieces = piecesOf(workgroups, operations, UNKNOWN_SPEED);
      const each = pieces.flatMap(({ first, count }) => Array.from({ length: count }, (_, n) => first + n));
      expect(each).toEqual(Array.from({ length: workgroups }, (_, n) => n));
    }
  });
});

test("A speed is learned from long calls only, and one slow call halves it at most", () => {
  const speed = new Speed();
  speed.learn(1e6, 10);
  expect(speed.now).toBe(UNKNOWN_SPEED);
  speed.learn(1e10, 1);
  expect(speed.now).toBe(1e10);
  speed.learn(1e10, 100);
  expect(speed.now).toBe(5e9);
  speed.learn(1e10, 0.1);
  expect(speed.now).toBe(1e11);
});

test("A speed that was learned too low rises again from the submits that follow from it", () => {
  const speed = new Speed();
  speed.learn(2e9, 5);
  expect(speed.now).toBe(4e8);
  for (let submit = 0; submit < 20; ++submit) {
    const operations = speed.now * MOST_SECONDS;
    speed.learn(operations, operations / 1e12);
  }
  expect(speed.now).toBeGreaterThanOrEqual(1e12);
  const fast = new Speed();
  fast.learn(1e9, 1e-5); // too short to be exact
  expect(fast.now).toBe(UNKNOWN_SPEED);
});

describeOnGpu("A long call on WebGPU", () => {
  type Rows = ReturnType<typeof randomTensor>;
  const heads = (rows: number) => [1, 2, 3].map((seed) => randomTensor(seed, [1, 2, rows, 64])) as [Rows, Rows, Rows];
  const inputs = heads(640);
  const returns = { output: true, lse: true } as const;

  type Watch = Pick<AttentionOptions, "signal" | "onProgress">;

  /** An instance that has measured nothing yet: its calls are one submit. */
  let fresh: Attention;
  let whole: Awaited<ReturnType<typeof attend>>;
  const attend = (hw: Attention, options: Watch = {}) =>
    hw.scaledDotProductAttention(...inputs, { returns, ...options });

  beforeAll(async () => {
    fresh = await createOnSharedDevice();
    whole = await attend(fresh);
  });
  afterAll(() => fresh.dispose());

  /**
   * An instance that has measured a slow device: the same calls are several submits. Each test has one of its own, because
   * it learns from the first submits how fast the device is.
   */
  async function createSlow(): Promise<Attention> {
    const slow = await createOnSharedDevice();
    await whileSlow(() => slow.scaledDotProductAttention(...heads(1400))); // 1 GFLOP, just enough to learn from
    return slow;
  }

  test("gives the same bits in several submits as in one, and tells how far it has come", async () => {
    using slow = await createSlow();
    const told: CallProgress[] = [];
    const parts = await attend(slow, { onProgress: (each) => told.push(each) });
    expect(bits(parts)).toEqual(bits(whole));
    expect(told.length).toBeGreaterThan(1);
    const done = told.map((each) => each.done);
    expect(done).toEqual([...done].sort((a, b) => a - b));
    for (const { total } of told) expect(done.at(-1)).toBeCloseTo(total, -1);
  });

  test("has the same bits in its gradients", async () => {
    using slow = await createSlow();
    const [query, key, value] = inputs;
    const { output, lse } = whole;
    const told: CallProgress[] = [];
    const given = { query, key, value, output, lse, dOutput: randomTensor(4, [1, 2, 640, 64]) };
    const parts = await slow.attentionBackward({ ...given, onProgress: (each) => told.push(each) });
    expect(bits(parts)).toEqual(bits(await fresh.attentionBackward(given)));
    expect(told.length).toBeGreaterThan(1);
  });

  test("has the same bits in a layer, forward and back", async () => {
    using slow = await createSlow();
    const names = ["Wq", "Wk", "Wv", "Wo"] as const;
    const weights = Object.fromEntries(names.map((name, n) => [name, randomTensor(10 + n, [128, 128], 0.2)])) as Record<(typeof names)[number], Rows>; // oxfmt-ignore
    const [x, dOutput] = [randomTensor(20, [1, 512, 128]), randomTensor(21, [1, 512, 128])];
    const run = async (hw: Attention) => {
      const layer = await hw.multiHeadAttention({ numHeads: 2, weights });
      const { output, saved } = await layer.forward(x, { save: true });
      const back = await layer.backward(saved, dOutput);
      layer.dispose();
      return { output, dInput: back.dInput, ...back.gradients };
    };
    expect(bits(await run(slow))).toEqual(bits(await run(fresh)));
  });

  test("counts the rounds of topK, whose results have the same bits", async () => {
    using slow = await createSlow();
    const [query, key] = [randomTensor(1, [1, 1, 32, 4]), randomTensor(2, [1, 1, 8000, 4])];
    const told: CallProgress[] = [];
    const call = (hw: Attention, options: Watch = {}) =>
      hw.scaledDotProductAttention(query, key, undefined, { returns: { output: false, topK: 300 }, ...options });
    const parts = await call(slow, { onProgress: (each) => told.push(each) });
    expect(bits(parts.topK)).toEqual(bits((await call(fresh)).topK));
    expect(told.length).toBeGreaterThan(1);
  });

  test("counts the rounds of topK in a recorded step", async () => {
    using slow = await createSlow();
    using step = await slow.record((recorder) => {
      const x = recorder.input("x", [32, 8000]);
      const [first, second] = [recorder.topK(x, 200), recorder.topK(recorder.scale(x, -1), 200)];
      return { first: first.values, second: second.values };
    });
    let submits = 0;
    const restore = replace(
      prototypeOf("GPUQueue"),
      "submit",
      (original) =>
        function (...parameters) {
          submits += 1;
          return original.apply(this, parameters);
        },
    );
    await step.run({ x: randomTensor(6, [32, 8000]) }).finally(restore);
    expect(submits).toBeGreaterThan(1);
  });

  test("counts the sums over weights that a patch gives", async () => {
    using slow = await createSlow();
    const weights = { Wq: randomTensor(10, [4, 4]), Wk: randomTensor(11, [4, 4]), Wv: randomTensor(12, [4, 64]), Wo: randomTensor(13, [64, 4]) }; // oxfmt-ignore
    const layer = await slow.multiHeadAttention({ numHeads: 1, weights });
    const x = randomTensor(20, [1, 640, 4]);
    const totalOf = async (options: Pick<ForwardOptions, "patch">) => {
      const totals: number[] = [];
      for (let call = 0; call < 2; ++call)
        await layer.forward(x, { ...options, onProgress: ({ total }) => totals.push(total) });
      return Math.max(...totals);
    };
    const whole = await totalOf({});
    const probs = { data: randomTensor(5, [1, 640, 640]) };
    expect(await totalOf({ patch: { probs } })).toBeGreaterThan(1.5 * whole);
  });

  test("ends between two submits when its signal aborts, and the instance goes on", async () => {
    using slow = await createSlow();
    const controller = new AbortController();
    const reason = new Error("stop");
    let told = 0;
    const onProgress = () => {
      told += 1;
      controller.abort(reason);
    };
    const settled = await attend(slow, { signal: controller.signal, onProgress }).catch((error: unknown) => error);
    expect(told).toBe(1);
    expect(settled).toBe(reason);
    expect(bits(await attend(slow))).toEqual(bits(whole));
  });

  test("rejects with what its listener throws", async () => {
    using slow = await createSlow();
    const error = new TypeError("no");
    const onProgress = () => {
      throw error;
    };
    const settled = await attend(slow, { onProgress }).catch((thrown: unknown) => thrown);
    expect(settled).toBe(error);
    expect(bits(await attend(slow))).toEqual(bits(whole));
  });

  test("a listener must be a function", async () => {
    const call = fresh.scaledDotProductAttention(...inputs, { onProgress: 3 as unknown as () => void });
    await expect(call).rejects.toThrow("onProgress must be a function, got 3");
  });
});
