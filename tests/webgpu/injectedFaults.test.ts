import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import {
  createAttention,
  DeviceLostError,
  DisposedError,
  OutOfMemoryError,
  type Attention,
  type Layer,
  type Tensor,
} from "headwise";

import { float32Of } from "../web/close.js";
import { note, timed } from "../web/figures.js";
import { randomTensor } from "../web/randomTensor.js";
import { faultSteps } from "./faultSteps.js";
import { LosingGpu, PoorGpu } from "./faultyGpu.js";
import { describeOnGpu, describeOnNullGpu, gpu, nullGpu, withEmptyKernels } from "./gpu.js";
import { operations, weights, x } from "./gpuOperations.js";

/** Whether one buffer fails, or that one and all after it. */
const HOW = ["once", "for good"] as const;

const settled = (work: Promise<unknown>): Promise<unknown> =>
  work.then(() => "it was computed", (reason: unknown) => reason); // oxfmt-ignore

const unhandled: unknown[] = [];
const noteRejection = (reason: unknown) => unhandled.push(reason);
beforeAll(() => {
  process.on("unhandledRejection", noteRejection);
});
afterAll(() => {
  process.off("unhandledRejection", noteRejection);
});
afterEach(async () => {
  await new Promise((resolve) => setTimeout(resolve, 10)); // reported after the current turn
  expect(unhandled.splice(0)).toEqual([]);
});

describeOnNullGpu("a device that is lost at any step", () => {
  withEmptyKernels();
  let losing: LosingGpu;
  let hw: Attention;
  let layer: Layer;
  beforeAll(async () => {
    losing = new LosingGpu();
    hw = await createAttention({ backend: "webgpu", gpu: nullGpu! });
    layer = await hw.multiHeadAttention({ inputDim: 16, numHeads: 2, weights });
  });
  afterAll(() => {
    hw.dispose();
    losing.restore();
  });

  test.each(operations)("%s rejects with DeviceLostError, and the next call works", async (_, work) => {
    await work(hw, layer);
    losing.lose();
    await work(hw, layer);
    const { taken } = losing;
    expect(taken).toBeGreaterThan(1);
    for (const at of faultSteps(taken))
      for (const moment of ["taken", "done"] as const) {
        losing.lose(at, moment);
        const outcome = await timed("settles", () => settled(work(hw, layer)));
        // A result that was complete before the device was lost may be returned.
        const isExpected = DeviceLostError.is(outcome) || (outcome === "it was computed" && losing.taken >= taken);
        expect([at, moment, isExpected || String(outcome)]).toEqual([at, moment, true]);
        losing.lose();
        const next = await timed("recovers", () => settled(work(hw, layer)));
        expect([at, moment, next]).toEqual([at, moment, "it was computed"]);
        note("faults", 1);
      }
  });

  test.each(operations)(
    "%s settles if the instance is disposed at any step, and another one works",
    async (_, work) => {
      const open = async () => {
        const own = await createAttention({ backend: "webgpu", gpu: nullGpu! });
        return { own, its: await own.multiHeadAttention({ inputDim: 16, numHeads: 2, weights }) };
      };
      const first = await open();
      losing.lose();
      await work(first.own, first.its);
      const { taken } = losing;
      first.own.dispose();
      for (const at of faultSteps(taken)) {
        const { own, its } = await open();
        losing.at(at, () => own.dispose());
        const outcome = await timed("settles", () => settled(work(own, its)));
        const isExpected = DisposedError.is(outcome) || DeviceLostError.is(outcome) || outcome === "it was computed";
        expect([at, isExpected || String(outcome)]).toEqual([at, true]);
        own.dispose();
        note("faults", 1);
      }
      losing.lose();
      const { own, its } = await open();
      expect(await timed("recovers", () => settled(work(own, its)))).toBe("it was computed");
      own.dispose();
    },
  );

  test("createAttention rejects with DeviceLostError, or the first call opens another device", async () => {
    losing.lose();
    (await createAttention({ backend: "webgpu", gpu: nullGpu! })).dispose();
    const { taken } = losing;
    for (let at = 1; at <= taken; ++at) {
      losing.lose(at);
      const outcome: unknown = await createAttention({ backend: "webgpu", gpu: nullGpu! }).catch(
        (error: unknown) => error,
      );
      losing.lose();
      if (!DeviceLostError.is(outcome)) {
        await (outcome as Attention).scaledDotProductAttention(x, x, x);
        (outcome as Attention).dispose();
      }
    }
  });
});

describeOnGpu("a device that computes and is lost", () => {
  let losing: LosingGpu;
  let expected: Float32Array;
  beforeAll(async () => {
    losing = new LosingGpu();
    const onCpu = await createAttention({ backend: "wasm", threads: 1 });
    expected = float32Of((await onCpu.scaledDotProductAttention(x, x, x)).output);
    onCpu.dispose();
  });
  afterAll(() => losing.restore());

  const isRight = (output: Tensor) =>
    float32Of(output).every((number, n) => Math.abs(number - expected[n]!) <= 1e-5) && float32Of(output).length > 0;

  test("never gives zeros for results", async () => {
    const hw = await createAttention({ backend: "webgpu", gpu: gpu! });
    losing.lose();
    await hw.scaledDotProductAttention(x, x, x);
    const { taken } = losing;
    for (const at of [1, taken - 1, taken])
      for (const moment of ["taken", "done"] as const) {
        losing.lose(at, moment);
        const outcome: unknown = await hw.scaledDotProductAttention(x, x, x).catch((error: unknown) => error);
        const isLost = DeviceLostError.is(outcome);
        expect([at, moment, isLost || isRight((outcome as { output: Tensor }).output)]).toEqual([at, moment, true]);
        losing.lose();
        expect(isRight((await hw.scaledDotProductAttention(x, x, x)).output)).toBe(true);
      }
    hw.dispose();
  });
});

describeOnNullGpu("a device without memory", () => {
  withEmptyKernels();
  let poor: PoorGpu;
  beforeAll(() => {
    poor = new PoorGpu();
  });
  afterAll(() => poor.restore());

  /** An instance of its own, because a pool that has all its buffers makes none. */
  const open = async () => {
    poor.fail();
    const hw = await createAttention({ backend: "webgpu", gpu: nullGpu! });
    return { hw, layer: await hw.multiHeadAttention({ inputDim: 16, numHeads: 2, weights }) };
  };

  const ways = operations.flatMap(([name, work]) => HOW.map((how) => [name, how, work] as const));
  test.each(ways)(
    "%s rejects with OutOfMemoryError for every buffer (%s), and the next call works",
    async (_, how, work) => {
      const first = await open();
      poor.fail();
      await work(first.hw, first.layer);
      first.hw.dispose();
      const { made } = poor;
      expect(made).toBeGreaterThan(1);
      for (const at of faultSteps(made)) {
        const { hw, layer } = await open();
        poor.fail(at, how);
        const outcome = await settled(work(hw, layer));
        expect([at, OutOfMemoryError.is(outcome) || String(outcome)]).toEqual([at, true]);
        poor.fail();
        expect([at, await settled(work(hw, layer))]).toEqual([at, "it was computed"]);
        hw.dispose();
        note("refusals", 1);
      }
    },
  );

  test("an append that finds no memory leaves the cache as it was", async () => {
    const { hw } = await open();
    const cache = await hw.kvCache({ numKvHeads: 2, headDim: 8 });
    await cache.append(x, x);
    const before = await cache.save();
    const long = randomTensor(5, [1, 2, 500, 8]);
    let outcome: unknown;
    for (let at = 1; outcome !== "it was computed"; ++at) {
      poor.fail(at);
      outcome = await settled(cache.append(long, long));
      if (outcome === "it was computed") break;
      expect([at, OutOfMemoryError.is(outcome), cache.length]).toEqual([at, true, 4]);
      poor.fail();
      expect([at, Buffer.compare(await cache.save(), before)]).toEqual([at, 0]);
    }
    expect(cache.length).toBe(504);
    hw.dispose();
  });

  test("a recorded step that finds no memory leaves its caches as they were, and runs again", async () => {
    const { hw, layer } = await open();
    const caches = [await layer.kvCache(), await layer.kvCache()];
    const step = await hw.record((recorder) => {
      const y = recorder.layer(layer, recorder.input("x", [300, 16]), { cache: caches[0]!, causal: true });
      return { y: recorder.layer(layer, y, { cache: caches[1]!, causal: true }) };
    });
    const input = randomTensor(6, [300, 16]);
    const lengths = () => caches.map(({ length }) => length);
    const saved = async () => Buffer.concat(await Promise.all(caches.map((cache) => cache.save())));
    await step.run({ x: input });
    const before = await saved();
    let at = 1;
    for (; ; ++at) {
      poor.fail(at);
      const outcome = await settled(step.run({ x: input }));
      if (outcome === "it was computed") break;
      expect([at, OutOfMemoryError.is(outcome) || String(outcome), lengths()]).toEqual([at, true, [300, 300]]);
      poor.fail();
      expect([at, Buffer.compare(await saved(), before)]).toEqual([at, 0]);
    }
    expect(at).toBeGreaterThan(1);
    expect(lengths()).toEqual([600, 600]);
    hw.dispose();
  });
});
