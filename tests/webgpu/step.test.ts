// Recorded steps on WebGPU: the operations in double precision, layers and products with the bits of their own calls, caches
// that stay as they were after a failure, and what only wasm can record.

import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { createAttention, tensor, type Attention } from "headwise";
import type { Recorder } from "../../web/src/step/recorder.js";
import type { StepTensor } from "../../web/src/step/stepTensor.js";

import { bits as bitsOf, differences } from "../web/close.js";
import { randomTensor } from "../web/randomTensor.js";
import { expectGraph } from "../web/stepGraphs.js";
import { expectAttention } from "../web/stepAttention.js";
import {
  Decoder,
  expectCachesAfterFailure,
  expectCalls,
  expectDisposals,
  expectRefusals,
  VOCABULARY,
  WIDTH as DECODER_WIDTH,
} from "../web/stepDecoder.js";
import { expectedOf, largestColumns, operands, ROW_OPERATIONS, ROWS, tables, WIDTH } from "../web/stepOperations.js";
import { createOnSharedDevice, describeOnGpu, openTestDevice } from "./gpu.js";

/** The bytes of an array, to compare. */
const bits = (data: ArrayBufferView) => bitsOf({ data });

describeOnGpu("A step on WebGPU", () => {
  let hw: Attention;
  beforeEach(async () => {
    hw = await createOnSharedDevice();
  });
  afterEach(() => hw.dispose());

  /** The result of one operation of the operands. */
  async function computed(build: (recorder: Recorder, x: StepTensor) => StepTensor) {
    const step = await hw.record((recorder) => ({ y: build(recorder, recorder.input("x", [ROWS, WIDTH])) }));
    const { y } = await step.run({ x: operands() });
    step.dispose();
    return y;
  }

  test.each(ROW_OPERATIONS)("computes $name", async (operation) => {
    const y = await computed((recorder, x) => operation.build(recorder, x));
    expect(differences(y, expectedOf(operation, operands()))).toEqual([]);
  });

  test.each([1, 2, 3, 4, 5, 6])("overwrites no number before it was read, whatever follows from what: %i", (seed) =>
    expectGraph(hw, seed),
  );

  test.each([1e37, 3e38])("leaves numbers as they are under a softcap of %p", async (cap) => {
    const y = await computed((recorder, x) => recorder.softcap(x, cap));
    expect(y.data).toEqual(operands().data.map((x) => (Number.isFinite(x) ? x : x > 0 ? cap : x < 0 ? -cap : NaN)));
  });

  test("gives the largest of each row and their columns: NaN first, the lower column of equal ones first", async () => {
    const x = operands();
    x.data.fill(0.5, 20, 30);
    x.data[WIDTH + 7] = x.data[WIDTH + 3] = 99;
    for (const k of [1, 7, WIDTH]) {
      const step = await hw.record((recorder) => {
        const { values, indices } = recorder.topK(recorder.input("x", [ROWS, WIDTH]), k);
        return { values, indices, rows: recorder.rows(randomTensor(7, [WIDTH, 5]), indices) };
      });
      const { values, indices, rows } = await step.run({ x });
      const table = randomTensor(7, [WIDTH, 5]).data;
      for (let row = 0; row < ROWS; row++) {
        const numbers = Array.from(x.data.subarray(row * WIDTH, (row + 1) * WIDTH));
        const columns = largestColumns(numbers, k);
        const of = (data: Float32Array | Int32Array, width = 1) => Array.from(data.subarray(row * k * width, (row + 1) * k * width)); // oxfmt-ignore
        expect(of(indices.data)).toEqual(columns);
        expect(of(values.data)).toEqual(columns.map((n) => numbers[n]!));
        expect(of(rows.data, 5)).toEqual(columns.flatMap((n) => Array.from(table.subarray(5 * n, 5 * n + 5))));
      }
      expect(indices.data).toBeInstanceOf(Int32Array);
    }
  });

  test("takes rows of tables of every dtype, and multiplies by them", async () => {
    const table = randomTensor(8, [VOCABULARY, 37]);
    const bias = randomTensor(9, [VOCABULARY]);
    for (const { weight, most } of tables(table)) {
      const step = await hw.record((recorder) => {
        const rows = recorder.rows(weight, recorder.numbers("rows", 2), { scale: 3 });
        return { rows, y: recorder.linear(rows, weight, bias, { weightLayout: "out-in" }) };
      });
      const { rows, y } = await step.run({ rows: [29, 4] });
      const taken = [29, 4].flatMap((n) => Array.from(table.data.subarray(37 * n, 37 * n + 37)));
      const numbers = Float64Array.from(taken, (value) => 3 * value);
      const tolerance = numbers.map((value) => 3 * most + 2 ** -23 * Math.abs(value));
      expect(differences(rows, { values: numbers, tolerance })).toEqual([]);
      const expected = await hw.linear(rows, weight, bias, { weightLayout: "out-in" });
      expect(bits(y.data)).toEqual(bits(expected.data));
    }
  });

  test("reads columns and tokens where they lie, wherever a kernel can bind them", async () => {
    const { data } = operands();
    const weight = randomTensor(10, [37, 5]);
    const part = (from: number, to: number, first: number, last: number) =>
      data.filter((_, n) => first * WIDTH <= n && n < last * WIDTH && from <= n % WIDTH && n % WIDTH < to);
    const step = await hw.record((recorder) => {
      const x = recorder.input("x", [ROWS, WIDTH]);
      const some = recorder.tokens(recorder.columns(x, 3, 40), 1, 3);
      const last = recorder.tokens(recorder.scale(some, 1), 1, 2);
      return { some, last, y: recorder.linear(some, weight), z: recorder.linear(last, weight) };
    });
    const { some, last, y, z } = await step.run({ x: { data, shape: [ROWS, WIDTH] } });
    expect(bits(some.data)).toEqual(bits(part(3, 40, 1, 3)));
    expect(bits(last.data)).toEqual(bits(part(3, 40, 2, 3)));
    expect(bits(y.data)).toEqual(bits((await hw.linear(some, weight)).data));
    expect(bits(z.data)).toEqual(bits((await hw.linear(last, weight)).data));
  });

  test("attends without a layer with the bits of the calls, at the positions that each run gets", () =>
    expectAttention(hw));

  describe("of a decoder", () => {
    test.each([
      ["a cache", {}],
      ["a ring", { ring: { window: 6, keepFirst: 2 } }],
      ["a cache of int8", { dtype: "int8" }],
    ] as const)("has the bits of its calls, with %s", (_, options) => expectCalls(hw, options, "webgpu"));

    test("leaves its caches as they were if it fails, and runs again once there is room", async () =>
      expectCachesAfterFailure(hw, await Decoder.create(hw, {}, "webgpu")));

    test("refuses by name, before anything runs, what does not fit", () => expectRefusals(hw, "webgpu"));

    test("does not run once the step, a layer, a cache or the instance was disposed", () =>
      expectDisposals(hw, "webgpu"));

    test("sees the new weights of an updated layer, and runs in order", async () => {
      const decoder = await Decoder.create(hw, {}, "webgpu");
      const step = await hw.record((recorder) => decoder.record(recorder));
      const together = await Promise.all([1, 2, 3].map((token) => step.run({ token: [token] })));
      for (const cache of decoder.caches) await cache.rewind(0);
      for (const [n, token] of [1, 2, 3].entries())
        expect(bits((await step.run({ token: [token] })).logits.data)).toEqual(bits(together[n]!.logits.data));
      await decoder.layers[0]!.update({ Wv: randomTensor(77, [DECODER_WIDTH, 12]) });
      for (const cache of decoder.caches) await cache.rewind(0);
      const { logits } = await step.run({ token: [1] });
      expect(bits(logits.data)).not.toEqual(bits(together[0]!.logits.data));
      for (const cache of decoder.caches) await cache.rewind(0);
      expect(bits(logits.data)).toEqual(bits((await decoder.compute(hw, 1, decoder.caches)).logits.data));
    });
  });

  test("refuses at each run what the call refuses: rows that tables lack, and keys that a ring has dropped", async () => {
    const weights = Object.fromEntries(["Wq", "Wk", "Wv", "Wo"].map((name, n) => [name, randomTensor(n, [4, 4])]));
    const [cos, sin] = [randomTensor(8, [5, 2]), randomTensor(9, [5, 2])];
    const turned = await hw.multiHeadAttention({
      numHeads: 1,
      weights,
      position: { kind: "rotary", cos, sin },
    } as never);
    const cache = await turned.kvCache();
    const step = await hw.record((recorder) => ({
      y: recorder.layer(turned, recorder.input("x", [2, 4]), { cache, causal: true }),
    }));
    const x = randomTensor(10, [2, 4]);
    for (let n = 0; n < 2; n++) await step.run({ x });
    await expect(step.run({ x })).rejects.toThrow("step.run: positions must be rows of cos and sin, 0 to 4, got 5");
    expect(cache.appended).toEqual([4]);

    const layer = await hw.multiHeadAttention({ numHeads: 1, weights });
    const ring = await layer.kvCache({ ring: { window: 2 } });
    const looks = await hw.record((recorder) => ({
      y: recorder.layer(layer, recorder.input("x", [3, 4]), { cache: ring, causal: true, attendOnly: true }),
    }));
    await layer.forward(randomTensor(11, [1, 6, 4]), { cache: ring, causal: true });
    await expect(looks.run({ x: randomTensor(12, [3, 4]) })).rejects.toThrow("the ring has dropped those before 4");
  });

  test.each(["rotary", "sinusoidal"] as const)("has a layer twice, with texts of other lengths: %s", async (kind) => {
    const weights = Object.fromEntries(["Wq", "Wk", "Wv", "Wo"].map((name, n) => [name, randomTensor(n, [8, 8])]));
    const layer = await hw.multiHeadAttention({ numHeads: 1, weights, position: { kind } });
    const step = await hw.record((recorder) => {
      const x = recorder.input("x", [90, 8]);
      return { some: recorder.layer(layer, recorder.tokens(x, 0, 70)), all: recorder.layer(layer, x) };
    });
    const x = randomTensor(18, [90, 8]);
    const part = { data: x.data.slice(0, 70 * 8), shape: [70, 8] };
    for (let run = 0; run < 2; run++) {
      const { some, all } = await step.run({ x });
      expect(bits(some.data)).toEqual(bits((await layer.forward(part)).output.data));
      expect(bits(all.data)).toEqual(bits((await layer.forward(x)).output.data));
    }
  });

  test.each([1, 2 ** 100, 2 ** -100])(
    "makes zeros of a row of equal numbers of %d, whatever their size",
    async (size) => {
      const gain = tensor(new Float32Array(4).fill(1), [4]);
      const step = await hw.record((recorder) => ({ y: recorder.layerNorm(recorder.input("x", [1, 4]), gain) }));
      const { y } = await step.run({ x: tensor(new Float32Array(4).fill(size), [1, 4]) });
      expect([...y.data]).toEqual([0, 0, 0, 0]);
    },
  );

  test("norms rows that epsilon is larger than", async () => {
    const gain = tensor(new Float32Array(4).fill(1e30), [4]);
    const step = await hw.record((recorder) => ({
      rms: recorder.rmsNorm(recorder.input("x", [3, 4]), gain),
      layer: recorder.layerNorm(recorder.input("z", [3, 4]), gain),
    }));
    const row = [1, 2, -3, 0];
    const sizes = [1e-20, 1e-25, 1e-30];
    const x = tensor(Float32Array.from(sizes.flatMap((size) => row.map((n) => n * size))), [3, 4]);
    const { rms, layer } = await step.run({ x, z: x });
    sizes.forEach((size, r) =>
      row.forEach((n, i) => {
        for (const [data, epsilon] of [
          [rms.data, 1e-6],
          [layer.data, 1e-5],
        ] as const) {
          const expected = (n * size * 1e30) / Math.sqrt(epsilon);
          expect(Math.abs(data[4 * r + i]! - expected)).toBeLessThanOrEqual(1e-5 * Math.abs(expected));
        }
      }),
    );
  });

  test("multiplies by an uploaded weight until that is disposed", async () => {
    const [x, weight, bias] = [randomTensor(12, [3, 37]), randomTensor(13, [37, 6]), randomTensor(14, [6])];
    const uploaded = await hw.gpu!.uploadWeight(weight);
    const step = await hw.record((recorder) => {
      const given = recorder.input("x", [3, 37]);
      return { y: recorder.linear(given, uploaded, bias), z: recorder.linear(given, uploaded) };
    });
    const { y, z } = await step.run({ x });
    expect(bits(y.data)).toEqual(bits((await hw.linear(x, weight, bias)).data));
    expect(bits(z.data)).toEqual(bits((await hw.linear(x, weight)).data));
    uploaded.dispose();
    await expect(step.run({ x })).rejects.toThrow("step.run: weight was disposed");
  });

  test("has copies of what it was given", async () => {
    const [weight, gain] = [randomTensor(15, [4, 4]), randomTensor(16, [4])];
    const step = await hw.record((recorder) => ({
      y: recorder.linear(recorder.multiply(recorder.input("x", [2, 4]), gain), weight, gain),
    }));
    const x = randomTensor(17, [2, 4]);
    const before = await step.run({ x });
    for (const { data } of [weight, gain]) data.fill(NaN);
    expect(bits((await step.run({ x })).y.data)).toEqual(bits(before.y.data));
    step.dispose();
    await expect(step.run({ x })).rejects.toThrow("step.run: the step was disposed");
  });

  test("refuses what only wasm can record, and a table that the device cannot hold", async () => {
    const decoder = await Decoder.create(hw, {}, "webgpu");
    const [layer] = decoder.layers;
    const [cache] = decoder.caches;
    const shared = hw.record((recorder) => {
      const x = recorder.input("x", [1, DECODER_WIDTH]);
      return { y: recorder.layer(layer!, recorder.layer(layer!, x, { cache }), { cache }) };
    });
    await expect(shared).rejects.toThrow("record: on WebGPU a cache must belong to one layer call of a step");
    const computedPositions = hw.record((recorder) => {
      const x = recorder.input("x", [3, 8]);
      return { y: recorder.rotary(x, { positions: recorder.topK(recorder.input("z", [3, 9]), 1).indices }) };
    });
    await expect(computedPositions).rejects.toThrow("record: on WebGPU the positions of rotary must be numbers");
    const device = await openTestDevice(undefined, {});
    const small = await createAttention({ backend: "webgpu", device });
    const width = device.limits.maxStorageBufferBindingSize / 8 + 1;
    const table = { data: new Float32Array(2 * width), shape: [2, width] };
    const large = small.record((recorder) => ({ y: recorder.rows(table, recorder.numbers("n")) }));
    await expect(large).rejects.toThrow(
      /^record: a tensor of the step needs a buffer of \d+ bytes, over the device's max/,
    );
    small.dispose();
    device.destroy();
  });
});
