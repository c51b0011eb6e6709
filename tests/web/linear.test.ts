import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import {
  createAttention,
  quantizeWeight,
  tensor,
  toBfloat16,
  toFloat16,
  toFloat32,
  type Attention,
  type TypedTensor,
} from "headwise";
import { setFloat16 } from "@petamoriken/float16";

import { bits, differences, valuesOf } from "./close.js";
import { variants } from "./engines.js";
import { dequantized, place, referenceLinear as reference, shapeOf, type Weight } from "./linearReference.js";
import { randomTensor } from "./randomTensor.js";
import { float16ToNumber } from "../attention-conformance/reference/reference.js";

/** The tensor's numbers as the bits of float16. */
function halved({ data, shape }: TypedTensor<"float32">): TypedTensor<"float16"> {
  const view = new DataView(new ArrayBuffer(2));
  const bitsOf = (value: number) => {
    setFloat16(view, 0, value);
    return view.getUint16(0);
  };
  return { data: Uint16Array.from(data, bitsOf), shape, dtype: "float16" };
}

type Floats = TypedTensor<"float32"> | TypedTensor<"float16"> | TypedTensor<"bfloat16">;

/** A weight [in, out] in panels of 16 outputs. */
function inPanels<T extends Floats>({ data, shape, dtype }: T): T {
  const [inputs, outputs] = shape as [number, number];
  const panels = Math.ceil(outputs / 16);
  const numbers = new (data.constructor as new (length: number) => Float32Array)(panels * inputs * 16);
  for (let n = 0; n < data.length; n++) {
    const output = n % outputs;
    numbers[((output >> 4) * inputs + Math.floor(n / outputs)) * 16 + (output % 16)] = data[n]!;
  }
  return { data: numbers, shape: [panels, inputs, 16], dtype } as unknown as T;
}

describe.each(variants)("linear on %s", (variant) => {
  let hw: Attention;
  beforeAll(async () => {
    hw = await createAttention({ backend: "wasm", variant, threads: 2 });
  });
  afterAll(() => hw.dispose());

  const weights: Weight[] = [
    { layout: "in-out", inputDim: 7, outputDim: 5 },
    { layout: "out-in", inputDim: 7, outputDim: 5 },
    { layout: "in-out", inputDim: 64, outputDim: 192 },
    { layout: "out-in", inputDim: 130, outputDim: 33 },
  ];
  describe.each(weights)("$inputDim to $outputDim stored $layout", (w) => {
    const { inputDim, outputDim, layout: weightLayout } = w;
    const x = randomTensor(1, [3, 13, inputDim]);
    const weight = randomTensor(2, shapeOf(w));
    const bias = randomTensor(3, [outputDim]);
    const dOutput = randomTensor(4, [3, 13, outputDim]);

    test("equals the formula in double", async () => {
      const y = await hw.linear(x, weight, bias, { weightLayout });
      expect(y.shape).toEqual([3, 13, outputDim]);
      expect(y.dtype).toBe("float32");
      expect(differences(y, reference(w, x, weight, bias, dOutput).y)).toEqual([]);
      const without = await hw.linear(x, weight, undefined, { weightLayout });
      expect(differences(without, reference(w, x, weight, undefined, dOutput).y)).toEqual([]);
    });

    test("has the gradients of the formula in double", async () => {
      const { dInput, dWeight, dBias } = await hw.linearBackward({ x, weight, dOutput, weightLayout });
      const expected = reference(w, x, weight, undefined, dOutput);
      expect([dInput.shape, dWeight.shape, dBias.shape]).toEqual([x.shape, weight.shape, [outputDim]]);
      expect(differences(dInput, expected.dInput)).toEqual([]);
      expect(differences(dWeight, expected.dWeight)).toEqual([]);
      expect(differences(dBias, expected.dBias)).toEqual([]);
    });

    test("takes float16, and gives float32 gradients", async () => {
      const halves = { x: halved(x), weight: halved(weight), dOutput: halved(dOutput) };
      const widened = (t: TypedTensor<"float16">) => ({
        data: Float32Array.from(t.data, float16ToNumber),
        shape: t.shape,
      });
      const full = { x: widened(halves.x), weight: widened(halves.weight), dOutput: widened(halves.dOutput) };
      const y = await hw.linear(halves.x, halves.weight, undefined, { weightLayout });
      const rounded = halved(await hw.linear(full.x, full.weight, undefined, { weightLayout }));
      expect(bits(y)).toEqual(bits(rounded));
      const gradients = await hw.linearBackward({ ...halves, weightLayout });
      expect(bits(gradients)).toEqual(bits(await hw.linearBackward({ ...full, weightLayout })));
      expect(gradients.dInput.dtype).toBe("float32");
    });

    test("takes a weight and a bias of bfloat16, with the bits of the widened ones", async () => {
      const [W, b] = [toBfloat16(weight), toBfloat16(bias)];
      const y = await hw.linear(x, W, b, { weightLayout });
      expect(bits(y)).toEqual(bits(await hw.linear(x, toFloat32(W), toFloat32(b), { weightLayout })));
      const gradients = await hw.linearBackward({ x, weight: W, dOutput, weightLayout });
      expect(bits(gradients)).toEqual(
        bits(await hw.linearBackward({ x, weight: toFloat32(W), dOutput, weightLayout })),
      );
      const int8 = quantizeWeight(W, { weightLayout });
      expect(int8).toEqual(quantizeWeight(toFloat32(W), { weightLayout }));
      expect(bits(await hw.linear(x, int8, b, { weightLayout }))).toEqual(
        bits(await hw.linear(x, int8, toFloat32(b), { weightLayout })),
      );
    });
  });

  describe.each([1, 2, 5, 8, 9])("of %i rows", (rows) => {
    test.each(weights)("reads $inputDim to $outputDim stored $layout in every dtype", async (w) => {
      const { inputDim, outputDim, layout: weightLayout } = w;
      const x = randomTensor(1, [rows, inputDim]);
      const weight = randomTensor(2, shapeOf(w));
      const bias = randomTensor(3, [outputDim]);
      const dOutput = randomTensor(4, [rows, outputDim]);
      const y = await hw.linear(x, weight, bias, { weightLayout });
      expect(differences(y, reference(w, x, weight, bias, dOutput).y)).toEqual([]);

      const halves = toFloat16(weight);
      const widened = { data: Float32Array.from(halves.data, float16ToNumber), shape: weight.shape };
      const ofHalves = await hw.linear(x, halves, bias, { weightLayout });
      expect(bits(ofHalves)).toEqual(bits(await hw.linear(x, widened, bias, { weightLayout })));

      const short = toBfloat16(weight);
      const ofShort = await hw.linear(x, short, bias, { weightLayout });
      expect(bits(ofShort)).toEqual(bits(await hw.linear(x, toFloat32(short), bias, { weightLayout })));

      const bytes = quantizeWeight(weight, { weightLayout });
      for (const b of [bias, undefined]) {
        const ofBytes = await hw.linear(x, bytes, b, { weightLayout });
        const expected = reference(w, x, dequantized(w, bytes), b, dOutput).y;
        // one rounding more: the sum is multiplied by the scale
        const tolerance = expected.tolerance.map((t) => (t * (inputDim + 4)) / (inputDim + 2));
        expect(differences(ofBytes, { ...expected, tolerance })).toEqual([]);
      }
    });
  });

  test("gives a row the same bits beside any number of rows, in every dtype", async () => {
    for (const w of weights) {
      const weightLayout = w.layout;
      const X = randomTensor(1, [40, w.inputDim]);
      const full = randomTensor(2, shapeOf(w));
      const bytes = quantizeWeight(full, { weightLayout });
      for (const W of [full, toFloat16(full), toBfloat16(full), bytes]) {
        // up to 8 rows meet int8 that is stored "out-in" as whole numbers
        const most = W === bytes && weightLayout === "out-in" ? 8 : 40;
        const first = (rows: number) => ({ data: X.data.slice(0, rows * w.inputDim), shape: [rows, w.inputDim] });
        const all = await hw.linear(first(most), W, undefined, { weightLayout });
        for (const rows of [1, 3, 8, 9].filter((count) => count <= most)) {
          const few = first(rows);
          const y = await hw.linear(few, W, undefined, { weightLayout });
          expect(y.data).toEqual(all.data.slice(0, rows * w.outputDim));
        }
      }
    }
  });

  test("reads panels with the bits of the same weight [in, out], in every dtype that they may have", async () => {
    for (const [inputDim, outputDim] of [
      [7, 5],
      [64, 192],
      [130, 33],
      [1, 16],
    ] as const) {
      const full = randomTensor(2, [inputDim, outputDim]);
      const bias = randomTensor(3, [outputDim]);
      for (const W of [full, toFloat16(full), toBfloat16(full)]) {
        const panels = inPanels(W);
        const own = hw.allocate(panels.shape, panels.dtype);
        (own.data as { set(numbers: ArrayLike<number>): void }).set(panels.data);
        for (const rows of [0, 1, 2, 9, 40]) {
          const X = randomTensor(1, [rows, inputDim]);
          const expected = bits(await hw.linear(X, W, bias));
          for (const weight of [panels, own])
            expect(bits(await hw.linear(X, weight as Floats, bias, { weightLayout: "panels" }))).toEqual(expected);
          if (outputDim % 16 > 0) continue;
          const without = await hw.linear(X, panels, undefined, { weightLayout: "panels" });
          expect(bits(without)).toEqual(bits(await hw.linear(X, W)));
        }
        own.dispose();
      }
    }
  });

  test("reads panels wherever they begin in a tensor of allocate, also in a step", async () => {
    const [x, full] = [randomTensor(1, [2, 6]), randomTensor(2, [6, 16])];
    const expected = bits(await hw.linear(x, full));
    const own = hw.allocate([100]);
    for (const start of [1, 4]) {
      own.data.set(inPanels(full).data, start);
      const panels = { data: own.data.subarray(start, start + 96), shape: [1, 6, 16] };
      const step = await hw.record((recorder) => ({
        y: recorder.linear(recorder.input("x", [2, 6]), panels, undefined, { weightLayout: "panels" }),
      }));
      expect(bits(await hw.linear(x, panels, undefined, { weightLayout: "panels" }))).toEqual(expected);
      expect(bits((await step.run({ x })).y)).toEqual(expected);
      step.dispose();
    }
    own.dispose();
  });

  test("without a bias gives all outputs that the panels hold", async () => {
    const full = randomTensor(2, [6, 3]);
    const y = await hw.linear(randomTensor(1, [2, 6]), inPanels(full), undefined, { weightLayout: "panels" });
    expect(y.shape).toEqual([2, 16]);
    const some = await hw.linear(randomTensor(1, [2, 6]), full);
    expect([...y.data.subarray(0, 4)]).toEqual([...some.data.subarray(0, 3), 0]);
  });

  test("keeps infinities, NaN and the smallest numbers of bfloat16, wherever they lie in the weight", async () => {
    const odd = [Infinity, -Infinity, NaN, 2 ** -133, -(2 ** -126), 3.3895313892515355e38, -0];
    for (const { layout: weightLayout, ...w } of weights) {
      const weight = toFloat32(toBfloat16(randomTensor(2, shapeOf({ layout: weightLayout, ...w }))));
      odd.forEach((value, n) => (weight.data[Math.floor((n * weight.data.length) / odd.length) + (n % 3)] = value));
      for (const rows of [1, 4, 9]) {
        const x = randomTensor(1, [rows, w.inputDim]);
        const y = await hw.linear(x, toBfloat16(weight), undefined, { weightLayout });
        expect(y.data).toEqual((await hw.linear(x, weight, undefined, { weightLayout })).data);
      }
    }
  });

  test("reads weights of every dtype in tensors of the engine", async () => {
    const full = randomTensor(6, [6, 3]);
    const X = randomTensor(5, [2, 6]);
    const halves = toFloat16(full);
    const bytes = quantizeWeight(full);
    const ownHalves = hw.allocate([6, 3], "float16");
    (ownHalves.data as Uint16Array).set(halves.data);
    const ownScales = hw.allocate([3]);
    ownScales.data.set(bytes.scales);
    const ownBytes = Object.assign(hw.allocate([6, 3], "int8"), { scales: ownScales });
    ownBytes.data.set(bytes.data);
    expect((await hw.linear(X, ownHalves)).data).toEqual((await hw.linear(X, halves)).data);
    const ownShort = hw.allocate([6, 3], "bfloat16");
    ownShort.data.set(toBfloat16(full).data);
    expect((await hw.linear(X, ownShort)).data).toEqual((await hw.linear(X, toBfloat16(full))).data);
    await expect(hw.linear(ownShort as never, full)).rejects.toThrow(
      "linear: x must be of dtype float32 or float16, got bfloat16",
    );
    const expected = (await hw.linear(X, bytes)).data;
    expect((await hw.linear(X, ownBytes)).data).toEqual(expected);
    const views = { data: ownBytes.data, shape: [6, 3], scales: ownScales.data };
    expect((await hw.linear(X, views)).data).toEqual(expected);
    const into = { data: ownScales.data, shape: [1, 3] };
    await expect(hw.linear(randomTensor(5, [1, 6]), ownBytes, undefined, { into })).rejects.toThrow(
      "linear: into must not overlap weight.scales",
    );
    for (const own of [ownHalves, ownShort, ownBytes, ownScales]) own.dispose();
    await expect(hw.linear(X, { data: views.data, shape: [6, 3], scales: bytes.scales })).rejects.toThrow(
      expect.objectContaining({ name: "DisposedError" }),
    );
  });

  const x = randomTensor(5, [4, 6]);
  const weight = randomTensor(6, [6, 3]);
  const dOutput = randomTensor(7, [4, 3]);

  test("computes one row of rank 1, and no rows", async () => {
    const all = await hw.linear(x, weight);
    const row = await hw.linear({ data: x.data.slice(6, 12), shape: [6] }, weight);
    expect(row.shape).toEqual([3]);
    expect(row.data).toEqual(all.data.slice(3, 6));
    const none = await hw.linear({ data: new Float32Array(0), shape: [0, 6] }, weight);
    expect(none).toEqual({ data: new Float32Array(0), shape: [0, 3], dtype: "float32" });
    const gradients = await hw.linearBackward({
      x: { data: new Float32Array(0), shape: [0, 6] },
      weight,
      dOutput: { data: new Float32Array(0), shape: [0, 3] },
    });
    expect(gradients.dWeight.data).toEqual(new Float32Array(18));
    expect(gradients.dBias.data).toEqual(new Float32Array(3));
  });

  test("gives only the gradients that are asked for", async () => {
    const all = await hw.linearBackward({ x, weight, dOutput });
    const { dWeight, ...rest } = await hw.linearBackward({ x, weight, dOutput, returns: { dWeight: true } });
    expect(bits(dWeight)).toEqual(bits(all.dWeight));
    expect(rest).toEqual({});
    expect(await hw.linearBackward({ x, weight, dOutput, returns: { dBias: false } })).toEqual({});
  });

  test("writes into an array and into a tensor of the engine", async () => {
    const expected = await hw.linear(x, weight);
    const into = { data: new Float32Array(12), shape: [4, 3] };
    expect(await hw.linear(x, weight, undefined, { into })).toBe(into);
    expect(into.data).toEqual(expected.data);
    const inEngine = hw.allocate([4, 3]);
    await hw.linear(x, weight, undefined, { into: inEngine });
    expect(inEngine.data.slice()).toEqual(expected.data);
    inEngine.dispose();
  });

  test("takes plain arrays and tensors of the engine", async () => {
    const own = hw.allocate([4, 6]);
    own.data.set(x.data);
    const expected = await hw.linear(x, weight);
    expect((await hw.linear(own, weight)).data).toEqual(expected.data);
    expect((await hw.linear(tensor([[1, 2]]), [[3], [4]], [5])).data).toEqual(Float32Array.of(16));
    own.dispose();
  });

  test("a row of dOutput that is 0 adds nothing, whatever its row of x holds", async () => {
    const silent = { data: dOutput.data.slice().fill(0, 3, 6), shape: [4, 3] };
    const spoiled = { data: x.data.slice().fill(NaN, 6, 12), shape: [4, 6] };
    const clean = await hw.linearBackward({ x, weight, dOutput: silent });
    expect(bits(await hw.linearBackward({ x: spoiled, weight, dOutput: silent }))).toEqual(bits(clean));
  });

  test("has the same bits for every number of threads", async () => {
    const one = await createAttention({ backend: "wasm", variant, threads: 1 });
    const [X, W, G] = [randomTensor(8, [700, 40]), randomTensor(9, [40, 30]), randomTensor(10, [700, 30])];
    expect(bits(await hw.linear(X, W))).toEqual(bits(await one.linear(X, W)));
    const call = { x: X, weight: W, dOutput: G };
    expect(bits(await hw.linearBackward(call))).toEqual(bits(await one.linearBackward(call)));
    one.dispose();
  });

  test("gives its memory back", async () => {
    const big = await createAttention({ backend: "wasm", variant, threads: 1, maximumMemory: 48 * 2 ** 20 });
    const X = randomTensor(8, [2000, 300]);
    const W = randomTensor(9, [300, 200]);
    const G = randomTensor(10, [2000, 200]);
    for (let n = 0; n < 20; ++n) {
      await big.linear(X, W);
      await big.linearBackward({ x: X, weight: W, dOutput: G });
    }
    await expect(big.linear({ data: new Float32Array(40_000 * 300), shape: [40_000, 300] }, W)).rejects.toThrow(
      expect.objectContaining({ name: "OutOfMemoryError" }),
    );
    expect((await big.linear(X, W)).shape).toEqual([2000, 200]);
    big.dispose();
  });

  test("says how to name a weight that is stored the other way", async () => {
    await expect(hw.linear(dOutput, weight)).rejects.toMatchObject({
      name: "ShapeError",
      hint: expect.stringMatching(/^Is the weight stored the other way\? Give weightLayout: "out-in"\./),
    });
  });

  test("can be aborted while it waits", async () => {
    const controller = new AbortController();
    const first = hw.linear(x, weight);
    const second = hw.linear(x, weight, undefined, { signal: controller.signal });
    controller.abort();
    await expect(second).rejects.toThrow(expect.objectContaining({ name: "AbortError" }));
    await first;
  });

  test.each<[string, () => Promise<unknown>, string, RegExp]>([
    [
      "a weight of rank 1",
      () => hw.linear(x, [1, 2]),
      "ShapeError",
      /^linear: weight\.shape must be \[inputDim, outputDim\] with extents of at least 1, got \[2\]/,
    ],
    [
      "a weight without columns",
      () => hw.linear(x, { data: new Float32Array(0), shape: [0, 6] }, undefined, { weightLayout: "out-in" }),
      "ShapeError",
      /^linear: weight\.shape must be \[outputDim, inputDim\] with extents of at least 1, got \[0, 6\]/,
    ],
    [
      "rows of another width",
      () => hw.linear(randomTensor(1, [2, 5]), weight),
      "ShapeError",
      /^linear: x\.shape\[1\] must be weight\.shape\[0\] \(inputDim\), got 5 and 6/,
    ],
    [
      "a bias of another width",
      () => hw.linear(x, weight, [1, 2]),
      "ShapeError",
      /^linear: bias\.shape must be \[3\], got \[2\]/,
    ],
    [
      "panels of another shape",
      () => hw.linear(x, weight, undefined, { weightLayout: "panels" }),
      "ShapeError",
      /^linear: weight\.shape must be \[panels, inputDim, 16\] with weightLayout "panels", got \[6, 3\]/,
    ],
    [
      "panels of int8",
      () =>
        hw.linear(x, { data: new Int8Array(96), shape: [1, 6, 16] } as never, undefined, { weightLayout: "panels" }),
      "UnsupportedError",
      /^linear: weight must not be int8 with weightLayout "panels"/,
    ],
    [
      "a bias that needs more panels",
      () => hw.linear(x, randomTensor(1, [1, 6, 16]), randomTensor(1, [17]), { weightLayout: "panels" }),
      "ShapeError",
      /^linear: bias\.shape must be \[outputDim\] with 0 < outputDim <= 16, which the weight's panels hold, got \[17\]/,
    ],
    ...[[1, 5], []].map((shape): [string, () => Promise<unknown>, string, RegExp] => [
      `a bias of rank ${shape.length} beside panels`,
      () => hw.linear(x, randomTensor(1, [1, 6, 16]), randomTensor(1, shape), { weightLayout: "panels" }),
      "ShapeError",
      /^linear: bias\.shape must be \[outputDim\] with 0 < outputDim <= 16, which the weight's panels hold, got \[(1, 5)?\]/,
    ]),
    [
      "rows that do not fit panels",
      () => hw.linear(x, randomTensor(1, [1, 5, 16]), undefined, { weightLayout: "panels" }),
      "ShapeError",
      /^linear: x\.shape\[1\] must be weight\.shape\[1\] \(inputDim\), got 6 and 5/,
    ],
    [
      "a gradient of panels",
      () => hw.linearBackward({ x, weight: randomTensor(1, [1, 6, 16]), dOutput, weightLayout: "panels" } as never),
      "OptionError",
      /^linearBackward: weightLayout must be/,
    ],
    ["a number for x", () => hw.linear(5 as never, weight), "OptionError", /^linear: x must be a tensor/],
    [
      "int8 without scales",
      () => hw.linear(x, { data: new Int8Array(18), shape: [6, 3] } as never),
      "OptionError",
      /^linear: weight\.scales must be given, because weight is int8/,
    ],
    [
      "scales of another length",
      () => hw.linear(x, { data: new Int8Array(18), shape: [6, 3], scales: new Float32Array(6) }),
      "ShapeError",
      /^linear: weight\.scales\.shape must be \[3\], got \[6\]/,
    ],
    [
      "a scale that is not finite",
      () => hw.linear(x, { data: new Int8Array(18), shape: [6, 3], scales: Float32Array.of(1, NaN, 1) }),
      "OptionError",
      /^linear: weight\.scales\[1\] must be finite, got NaN/,
    ],
    [
      "scales in another dtype",
      () => hw.linear(x, { data: new Int8Array(18), shape: [6, 3], scales: new Int32Array(3) as never }),
      "OptionError",
      /^linear: weight\.scales must be of dtype float32, got int32/,
    ],
    [
      "scales of floats",
      () => hw.linear(x, { ...weight, scales: new Float32Array(3) } as never),
      "OptionError",
      /^linear: weight\.scales needs a weight of int8, got float32/,
    ],
    [
      "int8 for x",
      () => hw.linear({ data: new Int8Array(24), shape: [4, 6] } as never, weight),
      "OptionError",
      /^linear: x must be of dtype float32 or float16, got int8/,
    ],
    [
      "bfloat16 for x",
      () => hw.linear(toBfloat16(x) as never, weight),
      "OptionError",
      /^linear: x must be of dtype float32 or float16, got bfloat16/,
    ],
    [
      "an output of bfloat16",
      () => hw.linear(x, weight, undefined, { into: toBfloat16(dOutput) as never }),
      "OptionError",
      /^linear: into must be of dtype float32 or float16, got bfloat16/,
    ],
    [
      "gradients of bfloat16",
      () => hw.linearBackward({ x, weight, dOutput: toBfloat16(dOutput) as never }),
      "OptionError",
      /^linearBackward: dOutput must be of dtype float32 or float16, got bfloat16/,
    ],
    [
      "floats that are said to be bfloat16",
      () => hw.linear(x, { ...weight, dtype: "bfloat16" } as never),
      "OptionError",
      /^linear: weight\.dtype must be "float32", which its data \(Float32Array\) holds, got "bfloat16"/,
    ],
    [
      "the gradient of int8",
      () => hw.linearBackward({ x, weight: quantizeWeight(weight) as never, dOutput }),
      "UnsupportedError",
      /^linearBackward: weight must be float32, float16 or bfloat16, got int8/,
    ],
    [
      "an unknown layout",
      () => hw.linear(x, weight, undefined, { weightLayout: "io" as never }),
      "OptionError",
      /^linear: weightLayout must be "in-out" or "out-in" or "panels", got "io"/,
    ],
    [
      "an unknown option",
      () => hw.linear(x, weight, undefined, { wieghtLayout: "in-out" } as never),
      "OptionError",
      /^linear: unknown option "wieghtLayout"; did you mean "weightLayout"\?/,
    ],
    [
      "results on a GPU that the engine lacks",
      () => hw.linear(x, weight, undefined, { location: "gpu" }),
      "UnsupportedError",
      /^linear: location "gpu" needs the WebGPU backend/,
    ],
    [
      "an output of another shape",
      () => hw.linear(x, weight, undefined, { into: { data: new Float32Array(6), shape: [2, 3] } }),
      "ShapeError",
      /^linear: into\.shape must be that of the output, \[4, 3\], got \[2, 3\]/,
    ],
    [
      "backward without dOutput",
      () => hw.linearBackward({ x, weight } as never),
      "OptionError",
      /^linearBackward: dOutput must be given/,
    ],
    [
      "backward with a dOutput of another shape",
      () => hw.linearBackward({ x, weight, dOutput: randomTensor(1, [3, 4]) }),
      "ShapeError",
      /^linearBackward: dOutput\.shape must be \[4, 3\], got \[3, 4\]/,
    ],
    [
      "backward with an unknown gradient",
      () => hw.linearBackward({ x, weight, dOutput, returns: { dX: true } as never }),
      "OptionError",
      /^linearBackward: unknown option "dX" in returns/,
    ],
    [
      "backward with nothing",
      () => hw.linearBackward(undefined as never),
      "OptionError",
      /^linearBackward: x must be given/,
    ],
  ])("refuses %s", async (_, call, name, message) => {
    await expect(call()).rejects.toThrow(expect.objectContaining({ name, message: expect.stringMatching(message) }));
    expect((await hw.linear(x, weight)).shape).toEqual([4, 3]);
  });
});

describe("quantizeWeight", () => {
  test("is off by half a scale and the rounding of a quotient, where a weight lies between two integers", () => {
    const most = Array.from({ length: 200 }, (_, seed) => {
      const largest = Math.fround(1 + seed / 200);
      const scale = Math.fround(largest / 127);
      const between = (n: number) => (100.5 + (n % 26)) * scale * (1 + ((n % 9) - 4) * 2 ** -24);
      const data = Float32Array.from({ length: 500 }, (_, n) => (n === 0 ? largest : between(n)));
      const bytes = quantizeWeight({ data, shape: [500, 1] });
      return Math.max(...data.map((x, n) => Math.abs(bytes.data[n]! * bytes.scales[0]! - x) / bytes.scales[0]!));
    });
    expect(Math.max(...most)).toBeGreaterThan(0.500001);
    expect(Math.max(...most)).toBeLessThanOrEqual(0.5 + 2 ** -17);
  });

  test("is off by about half a scale at most, and reaches 127 in every output", () => {
    for (const layout of ["in-out", "out-in"] as const) {
      const w = { layout, inputDim: 9, outputDim: 4 };
      const weight = randomTensor(1, shapeOf(w));
      const bytes = quantizeWeight(weight, { weightLayout: layout });
      const meant = valuesOf(dequantized(w, bytes));
      for (let o = 0; o < 4; ++o) {
        const of = Array.from({ length: 9 }, (_, i) => place(w, i, o));
        expect(Math.max(...of.map((n) => Math.abs(bytes.data[n]!)))).toBe(127);
        for (const n of of)
          expect(Math.abs(meant[n]! - weight.data[n]!)).toBeLessThanOrEqual((0.5 + 2 ** -17) * bytes.scales[o]!);
      }
    }
  });

  test("quantizes the weights of an output as an int8 cache quantizes a row", async () => {
    const hw = await createAttention({ backend: "wasm" });
    const rows = randomTensor(3, [1, 1, 5, 16]);
    rows.data.fill(0, 0, 16);
    rows.data.set([127, 0.5, 1.5, 2.5, -0.5, -3.5], 16); // halves of a scale of 1 go to the even number
    rows.data.set([3.4e38, -3.4e38], 32);
    rows.data.set([1e-45, -1e-44], 48);
    rows.data.fill(0, 50, 64);
    const cache = await hw.kvCache({ batchSize: 1, numKvHeads: 1, headDim: 16, dtype: "int8" });
    await cache.append(rows, rows);
    const { key } = await cache.read();
    const bytes = quantizeWeight({ data: rows.data, shape: [5, 16] }, { weightLayout: "out-in" });
    expect(bytes.data.slice(16, 22)).toEqual(Int8Array.of(127, 0, 2, 2, 0, -4));
    const meant = bytes.data.reduce<number[]>((all, q, n) => [...all, q * bytes.scales[Math.floor(n / 16)]!], []);
    expect(key.data).toEqual(Float32Array.from(meant, (value) => value + 0));
    hw.dispose();
  });

  test("takes float16 and plain arrays, and gives the same as for their numbers", () => {
    const halves = toFloat16(randomTensor(1, [6, 3]));
    const widened = { data: Float32Array.from(halves.data, float16ToNumber), shape: [6, 3] };
    expect(quantizeWeight(halves)).toEqual(quantizeWeight(widened));
    expect(quantizeWeight([[1, 0]])).toEqual({
      data: Int8Array.of(127, 0),
      shape: [1, 2],
      dtype: "int8",
      scales: Float32Array.of(1 / 127, 0),
    });
  });

  test.each<[string, () => unknown, string, RegExp]>([
    [
      "rank 1",
      () => quantizeWeight([1, 2]),
      "ShapeError",
      /^quantizeWeight: weight\.shape must have two extents, got \[2\]/,
    ],
    [
      "numbers that are not finite",
      () =>
        quantizeWeight([
          [1, 2],
          [3, Infinity],
        ]),
      "OptionError",
      /^quantizeWeight: weight must hold finite numbers, got Infinity at \[1, 1\]/,
    ],
    [
      "an unknown layout",
      () => quantizeWeight([[1]], { weightLayout: "oi" as never }),
      "OptionError",
      /^quantizeWeight: weightLayout must be "in-out" or "out-in", got "oi"/,
    ],
  ])("refuses %s", (_, call, name, message) => {
    expect(call).toThrow(expect.objectContaining({ name, message: expect.stringMatching(message) }));
  });
});

test("linear of an instance that chooses its engine computes arrays with WebAssembly", async () => {
  const hw = await createAttention({ backend: "auto" });
  const y = await hw.linear([[1, 2]], [[3], [4]]);
  expect([...y.data]).toEqual([11]);
  const { dInput } = await hw.linearBackward({ x: [[1, 2]], weight: [[3], [4]], dOutput: [[2]] });
  expect([...dInput.data]).toEqual([6, 8]);
  hw.dispose();
});
