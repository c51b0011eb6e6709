import { expect, test } from "@jest/globals";
import {
  createAttention,
  quantizeWeight,
  toBfloat16,
  toFloat32,
  type Attention,
  type GpuResult,
  type QuantizedWeight,
  type Tensor,
  type TypedTensor,
} from "headwise";
import { setFloat16 } from "@petamoriken/float16";

import { planColumnSums, planWeightGradient } from "../../web/src/webgpu/layer/weightGradient.js";
import { bits, differences, valuesOf } from "../web/close.js";
import { randomTensor } from "../web/randomTensor.js";
import type { Expected } from "../attention-conformance/reference/reference.js";
import { CountedGpu } from "./countedGpu.js";
import { WatchedGpu } from "./faultyGpu.js";
import { describeOnGpu, describeOnNullGpu, disposeAll, nullGpu, onSharedDevice, openTestDevice } from "./gpu.js";
import { thrown } from "../web/thrownBy.js";

type Floats = Tensor<"float32"> | Tensor<"float16">;

const EPSILON = 2 ** -24;

interface Given {
  readonly x: Floats;
  readonly weight: Floats;
  readonly weightLayout?: "in-out" | "out-in";
}

function shared({ x, weight, weightLayout = "in-out" }: Given) {
  const inputDim = x.shape.at(-1)!;
  const outputDim = weight.shape[weightLayout === "in-out" ? 1 : 0]!;
  return { rows: x.data.length / inputDim, inputDim, outputDim };
}

/** A · B in double precision for [rows, depth] and [depth, columns], and the bound of a float32 sum of its products. */
function product(
  [rows, depth, columns]: readonly [number, number, number],
  a: (row: number, k: number) => number,
  b: (k: number, column: number) => number,
): Expected {
  const values = new Float64Array(rows * columns);
  const tolerance = new Float64Array(rows * columns);
  for (let r = 0; r < rows; ++r)
    for (let c = 0; c < columns; ++c) {
      let [sum, size] = [0, 0];
      for (let k = 0; k < depth; ++k) {
        const term = a(r, k) * b(k, c);
        sum += term;
        size += Math.abs(term);
      }
      values[r * columns + c] = sum;
      tolerance[r * columns + c] = (depth + 4) * EPSILON * size + 1e-37;
    }
  return { values, tolerance };
}

interface Sizes {
  readonly rows: number;
  readonly inputDim: number;
  readonly outputDim: number;
}

const weightAt = ({ weight, weightLayout = "in-out" }: Pick<Given, "weight" | "weightLayout">, sizes: Sizes) => {
  const W = valuesOf(weight);
  return weightLayout === "in-out"
    ? (i: number, o: number) => W[i * sizes.outputDim + o]!
    : (i: number, o: number) => W[o * sizes.inputDim + i]!;
};

/** y in float16 is rounded once more. */
function referenceLinear(given: Given & { readonly bias?: Floats }, half = false): Expected {
  const { rows, inputDim, outputDim } = shared(given);
  const X = valuesOf(given.x);
  const w = weightAt(given, { rows, inputDim, outputDim });
  const b = given.bias && valuesOf(given.bias);
  const { values, tolerance } = product(
    [rows, inputDim + 1, outputDim],
    (r, k) => (k < inputDim ? X[r * inputDim + k]! : 1),
    (k, o) => (k < inputDim ? w(k, o) : (b?.[o] ?? 0)),
  );
  return { values, tolerance: tolerance.map((t, n) => t + (half ? 2 ** -11 * Math.abs(values[n]!) + 2 ** -25 : 0)) };
}

function referenceBackward(
  given: Given & { readonly dOutput: Floats },
): Record<"dInput" | "dWeight" | "dBias", Expected> {
  const sizes = shared(given);
  const { rows, inputDim, outputDim } = sizes;
  const [X, dY] = [valuesOf(given.x), valuesOf(given.dOutput)];
  const w = weightAt(given, sizes);
  const x = (r: number, i: number) => X[r * inputDim + i]!;
  const dy = (r: number, o: number) => dY[r * outputDim + o]!;
  return {
    dInput: product([rows, outputDim, inputDim], dy, (o, i) => w(i, o)),
    dWeight:
      given.weightLayout === "out-in"
        ? product([outputDim, rows, inputDim], (o, r) => dy(r, o), x)
        : product([inputDim, rows, outputDim], (i, r) => x(r, i), dy),
    dBias: product([1, rows, outputDim], () => 1, dy),
  };
}

/** The numbers that a weight of int8 means, exactly: a byte times a scale has up to 31 bits. */
function dequantized({ data, shape, scales }: QuantizedWeight, weightLayout: "in-out" | "out-in"): Tensor<"float32"> {
  const columns = shape[1]!;
  const output = (n: number) => (weightLayout === "in-out" ? n % columns : Math.floor(n / columns));
  return { data: Float64Array.from(data, (q, n) => q * scales[output(n)]!) as never, shape };
}

function toHalves({ data, shape }: Tensor<"float32">): TypedTensor<"float16"> {
  const view = new DataView(new ArrayBuffer(2 * data.length));
  data.forEach((x, k) => setFloat16(view, 2 * k, x, true));
  return { data: new Uint16Array(view.buffer), shape, dtype: "float16" };
}

/** Rows, inputs and outputs: one row, few rows, odd widths, great depth, several tiles and parts of rows. */
const SHAPES: readonly (readonly [rows: number, inputs: number, outputs: number])[] = [
  [1, 4, 4],
  [3, 5, 7],
  [17, 64, 64],
  [70, 30, 131],
  [33, 1100, 9],
  [700, 68, 20],
];

describeOnGpu("linear on WebGPU", () => {
  let hw: Attention;
  onSharedDevice((_, instance) => {
    hw = instance;
  });

  const cases = SHAPES.flatMap((shape) => (["in-out", "out-in"] as const).map((layout) => [...shape, layout] as const));
  const tensorsOf = (rows: number, inputs: number, outputs: number, weightLayout: "in-out" | "out-in") => ({
    x: randomTensor(1, [rows, inputs]),
    weight: randomTensor(2, weightLayout === "in-out" ? [inputs, outputs] : [outputs, inputs]),
    bias: randomTensor(3, [outputs]),
    dOutput: randomTensor(4, [rows, outputs]),
    weightLayout,
  });
  const backward = ({ x, weight, dOutput, weightLayout }: ReturnType<typeof tensorsOf>) =>
    hw.linearBackward({ x, weight, dOutput, weightLayout });

  test.each(cases)("%i rows, %i → %i, %s: the formula holds", async (...shape) => {
    const given = tensorsOf(...shape);
    const { x, weight, bias, weightLayout } = given;
    const y = await hw.linear(x, weight, bias, { weightLayout });
    expect([y.shape, differences(y, referenceLinear(given))]).toEqual([[shape[0], shape[2]], []]);
  });

  test.each(cases)("%i rows, %i → %i, %s: the formula holds over a weight of int8 and of float16", async (...shape) => {
    const { x, weight, bias, weightLayout } = tensorsOf(...shape);
    const bytes = quantizeWeight(weight, { weightLayout });
    const scales = await hw.gpu!.upload({ data: bytes.scales, shape: [shape[2]], dtype: "float32" });
    const there = Object.assign(await hw.gpu!.upload(bytes), { scales });
    const meant = dequantized(bytes, weightLayout);
    for (const b of [bias, undefined]) {
      const y = await hw.linear(x, bytes, b, { weightLayout });
      const expected = referenceLinear({ x, weight: meant, ...(b && { bias: b }), weightLayout });
      expect(differences(y, expected)).toEqual([]);
      expect((await hw.linear(x, there, b, { weightLayout })).data).toEqual(y.data);
    }
    const halves = toHalves(weight);
    const y = await hw.linear(x, halves, bias, { weightLayout });
    expect(differences(y, referenceLinear({ x, weight: halves, bias, weightLayout }))).toEqual([]);
    disposeAll({ there, scales });
  });

  test.each(cases)(
    "%i rows, %i → %i, %s: a weight of bfloat16 gives what the widened weight gives",
    async (...shape) => {
      const { x, weight, bias, dOutput, weightLayout } = tensorsOf(...shape);
      const [given, givenBias] = [toBfloat16(weight), toBfloat16(bias)];
      const [meant, meantBias] = [toFloat32(given), toFloat32(givenBias)];
      const y = await hw.linear(x, given, givenBias, { weightLayout });
      expect(differences(y, referenceLinear({ x, weight: meant, bias: meantBias, weightLayout }))).toEqual([]);
      expect(y.data).toEqual((await hw.linear(x, meant, meantBias, { weightLayout })).data);
      const gradients = await hw.linearBackward({ x, weight: given, dOutput, weightLayout });
      expect(bits(gradients)).toEqual(bits(await hw.linearBackward({ x, weight: meant, dOutput, weightLayout })));
      if (given.data.length % 2 === 1 || givenBias.data.length % 2 === 1) return; // the GPU copies whole words
      const there = { weight: await hw.gpu!.upload(given), bias: await hw.gpu!.upload(givenBias) };
      expect((await hw.linear(x, there.weight, there.bias, { weightLayout })).data).toEqual(y.data);
      expect(await hw.gpu!.download(there.weight)).toEqual(given);
      disposeAll(there);
    },
  );

  test("a weight of bfloat16 keeps NaN, infinities and the largest and smallest normal numbers", async () => {
    const odd = [NaN, Infinity, -Infinity, 3.3895313892515355e38, 2 ** -126, -0, 1, 2];
    const weight = toBfloat16({ data: Float32Array.from(odd), shape: [1, 8], dtype: "float32" });
    const x = { data: Float32Array.of(1), shape: [1, 1] };
    for (const weightLayout of ["in-out", "out-in"] as const) {
      const given = { ...weight, shape: weightLayout === "in-out" ? [1, 8] : [8, 1] };
      const meant = await hw.linear(x, toFloat32(given), undefined, { weightLayout });
      expect((await hw.linear(x, given, undefined, { weightLayout })).data).toEqual(meant.data);
    }
  });

  test.each(cases)(
    "%i rows, %i → %i, %s: a weight of any dtype that was uploaded gives the formula",
    async (...shape) => {
      const { x, weight, bias, weightLayout } = tensorsOf(...shape);
      const bytes = quantizeWeight(weight, { weightLayout });
      for (const [given, meant] of [
        [weight, weight],
        [toHalves(weight), toHalves(weight)],
        [toBfloat16(weight), toFloat32(toBfloat16(weight))],
        [bytes, dequantized(bytes, weightLayout)],
      ] as const) {
        using uploaded = await hw.gpu!.uploadWeight(given, { weightLayout });
        expect(uploaded).toMatchObject({ shape: given.shape, dtype: given.dtype ?? "float32", weightLayout });
        const there = await hw.gpu!.upload(bias);
        const y = await hw.linear(x, uploaded, bias);
        expect(differences(y, referenceLinear({ x, weight: meant, bias, weightLayout }))).toEqual([]);
        expect((await hw.linear(x, uploaded, there)).data).toEqual(y.data);
        // the bias of one call is not that of the next
        const unbiased = referenceLinear({ x, weight: meant, weightLayout });
        expect(differences(await hw.linear(x, uploaded, undefined, { weightLayout }), unbiased)).toEqual([]);
        there.dispose();
      }
    },
  );

  test("a weight that lies on the GPU can be uploaded, with its scales", async () => {
    const { x, weight } = tensorsOf(3, 20, 12, "out-in");
    const bytes = quantizeWeight(weight, { weightLayout: "out-in" });
    const scales = await hw.gpu!.upload({ data: bytes.scales, shape: [12], dtype: "float32" });
    const there = Object.assign(await hw.gpu!.upload(bytes), { scales });
    using fromGpu = await hw.gpu!.uploadWeight(there, { weightLayout: "out-in" });
    using fromCpu = await hw.gpu!.uploadWeight(bytes, { weightLayout: "out-in" });
    disposeAll({ there, scales });
    expect((await hw.linear(x, fromGpu)).data).toEqual((await hw.linear(x, fromCpu)).data);
  });

  test("an uploaded weight that a call cannot use is refused by name", async () => {
    const { x, weight, dOutput } = tensorsOf(2, 8, 6, "in-out");
    const uploaded = await hw.gpu!.uploadWeight(weight);
    for (const change of [{ shape: [1000, 1000] }, { dtype: "int8" }, { weightLayout: "out-in" }])
      expect(() => Object.assign(uploaded, change)).toThrow(TypeError);
    expect(() => ((uploaded.shape as number[])[0] = 1000)).toThrow(TypeError);
    const other = await createAttention({ backend: "wasm", threads: 1 });
    const { data, shape } = quantizeWeight(weight);
    const refusals: readonly (readonly [Promise<unknown>, string])[] = [
      [other.linear(x, uploaded), "OptionError: linear: weight must be a weight of this instance, got one of another"],
      [
        hw.linear(x, uploaded, undefined, { weightLayout: "out-in" }),
        'OptionError: linear: weightLayout must be "in-out", as `uploadWeight` was told, got "out-in"',
      ],
      [hw.linear(dOutput, uploaded), "ShapeError: linear: x.shape[1] must be weight.shape[0] (inputDim), got 6 and 8"],
      [
        hw.linearBackward({ x, weight: uploaded as never, dOutput }),
        "UnsupportedError: linearBackward: weight must be a tensor, got an UploadedWeight",
      ],
      [
        hw.linear(x, { data: new Float32Array(8 * 16), shape: [1, 8, 16] }, undefined, { weightLayout: "panels" }),
        'UnsupportedError: linear: WebGPU does not read a weight with weightLayout "panels"',
      ],
      [hw.gpu!.uploadWeight({ data, shape } as never), "OptionError: gpu.uploadWeight: weight.scales must be given"],
      [hw.gpu!.uploadWeight(x.data as never), "OptionError: gpu.uploadWeight: weight must be a tensor"],
    ];
    for (const [refused, message] of refusals) expect(String(await thrown(refused))).toContain(message);
    uploaded.dispose();
    uploaded.dispose();
    expect(uploaded.bytes).toBe(0);
    expect(String(await thrown(hw.linear(x, uploaded)))).toBe("DisposedError: linear: weight was disposed");
    other.dispose();
  });

  test("an int8 weight on the GPU needs its scales, and has no gradient", async () => {
    const { x, weight, dOutput } = tensorsOf(2, 8, 6, "in-out");
    const there = await hw.gpu!.upload(quantizeWeight(weight));
    await expect(hw.linear(x, there as never)).rejects.toThrow("linear: weight.scales must be given");
    const short = Object.assign(there, { scales: Float32Array.of(1) });
    await expect(hw.linear(x, short)).rejects.toThrow("linear: weight.scales.shape must be [6], got [1]");
    await expect(hw.linearBackward({ x, weight: short as never, dOutput })).rejects.toThrow(
      expect.objectContaining({ name: "UnsupportedError" }),
    );
    there.dispose();
  });

  test.each(cases)("%i rows, %i → %i, %s: the gradients are those of the formula", async (...shape) => {
    const given = tensorsOf(...shape);
    const found = await backward(given);
    for (const [name, expected] of Object.entries(referenceBackward(given)))
      expect([name, differences(found[name as "dInput"], expected)]).toEqual([name, []]);
    expect(found.dInput.shape).toEqual(given.x.shape);
    expect(found.dWeight.shape).toEqual(given.weight.shape);
    expect(found.dBias.shape).toEqual(given.bias.shape);
  });

  test("x may have any rank", async () => {
    const { x, weight, dOutput } = tensorsOf(24, 8, 6, "in-out");
    const split = { ...x, shape: [2, 3, 4, 8] };
    const y = await hw.linear(split, weight);
    expect(y.shape).toEqual([2, 3, 4, 6]);
    expect(y.data).toEqual((await hw.linear(x, weight)).data);
    const { dInput } = await hw.linearBackward({ x: split, weight, dOutput: { ...dOutput, shape: [2, 3, 4, 6] } });
    expect(dInput.shape).toEqual([2, 3, 4, 8]);
  });

  test("float16 inputs give a float16 output and float32 gradients", async () => {
    const { x, weight, bias, dOutput } = tensorsOf(20, 30, 41, "in-out");
    const given = { x: toHalves(x), weight: toHalves(weight), bias: toHalves(bias), dOutput: toHalves(dOutput) };
    const y = await hw.linear(given.x, given.weight, given.bias);
    expect([y.dtype, differences(y, referenceLinear(given, true))]).toEqual(["float16", []]);
    const found = await hw.linearBackward({ x: given.x, weight: given.weight, dOutput: given.dOutput });
    for (const [name, expected] of Object.entries(referenceBackward(given))) {
      const gradient = found[name as "dInput"];
      expect([name, gradient.dtype, differences(gradient, expected)]).toEqual([name, "float32", []]);
    }
  });

  test("tensors on the GPU give the bits of tensors in JavaScript, and results can stay there", async () => {
    const { x, weight, bias, dOutput } = tensorsOf(70, 30, 41, "out-in");
    const weightLayout = "out-in";
    const there = {
      x: await hw.gpu!.upload(x),
      weight: await hw.gpu!.upload(weight),
      bias: await hw.gpu!.upload(bias),
      dOutput: await hw.gpu!.upload(dOutput),
    };
    const location = "gpu";
    const y = await hw.linear(there.x, there.weight, there.bias, { weightLayout, location });
    expect(await y.data()).toEqual((await hw.linear(x, weight, bias, { weightLayout })).data);
    const given = { x: there.x, weight: there.weight, dOutput: there.dOutput };
    const gradients = await hw.linearBackward({ ...given, weightLayout, location });
    const inJavaScript = await hw.linearBackward({ x, weight, dOutput, weightLayout });
    for (const [name, gradient] of Object.entries(gradients) as ["dInput", GpuResult][])
      expect([name, await gradient.data()]).toEqual([name, inJavaScript[name].data]);
    disposeAll({ y, ...gradients, ...there });
  });

  test("`into` gets the output, in JavaScript and on the GPU", async () => {
    const { x, weight, bias } = tensorsOf(9, 8, 6, "in-out");
    const { data: expected } = await hw.linear(x, weight, bias);
    const into = { data: new Float32Array(54), shape: [9, 6] };
    expect((await hw.linear(x, weight, bias, { into })).data).toBe(into.data);
    expect(into.data).toEqual(expected);
    const there = await hw.gpu!.upload({ data: new Float32Array(54), shape: [9, 6], dtype: "float32" });
    expect(await hw.linear(x, weight, bias, { into: there })).toBe(there);
    expect(await there.data()).toEqual(expected);
    there.dispose();
  });

  test("only the gradients that are wanted are computed", async () => {
    const { x, weight, dOutput } = tensorsOf(9, 8, 6, "in-out");
    for (const name of ["dInput", "dWeight", "dBias"] as const) {
      const found = await hw.linearBackward({ x, weight, dOutput, returns: { [name]: true } });
      expect(Object.keys(found)).toEqual([name]);
    }
  });

  test("no rows give no output, and gradients of zero", async () => {
    const given = tensorsOf(0, 8, 6, "in-out");
    expect((await hw.linear(given.x, given.weight, given.bias)).data).toEqual(new Float32Array(0));
    const { dInput, dWeight, dBias } = await backward(given);
    expect(dInput.data).toEqual(new Float32Array(0));
    expect(dWeight.data).toEqual(new Float32Array(48));
    expect(dBias.data).toEqual(new Float32Array(6));
  });

  test("gradients have the same bits when they are computed again", async () => {
    const given = tensorsOf(700, 68, 20, "in-out");
    const first = bits(await backward(given));
    for (let n = 0; n < 3; ++n) expect(bits(await backward(given))).toEqual(first);
  });

  test("a row whose gradient is zero counts for nothing, even if its x is NaN", async () => {
    const given = tensorsOf(200, 12, 9, "in-out");
    given.dOutput.data.fill(0, 150 * 9, 151 * 9);
    const clean = bits(await backward(given));
    const spoilt = given.x.data.slice();
    spoilt.set([NaN, Infinity, -Infinity], 150 * 12 + 4);
    expect(bits(await backward({ ...given, x: { ...given.x, data: spoilt } }))).toEqual(clean);
  });
});

describeOnNullGpu("linear that is repeated", () => {
  test("makes no buffer, no bind group and no pipeline, and waits for nothing with results on the GPU", async () => {
    const counted = new CountedGpu();
    const hw = await createAttention({ backend: "webgpu", gpu: nullGpu! });
    const up = (seed: number, shape: readonly number[]) => hw.gpu!.upload(randomTensor(seed, shape));
    const [x, weight, bias, dOutput] = [
      await up(1, [70, 32]),
      await up(2, [32, 48]),
      await up(3, [48]),
      await up(4, [70, 48]),
    ];
    const work = async () => {
      const y = await hw.linear(x, weight, bias, { location: "gpu" });
      const gradients = await hw.linearBackward({ x, weight, dOutput, location: "gpu" });
      disposeAll({ y, ...gradients });
    };
    for (let n = 0; n < 2; ++n) await work();
    const counts = await counted.count(work);
    expect(counts).toMatchObject({ createBuffer: 0, createBindGroup: 0, createComputePipelineAsync: 0, submit: 2, waits: 0 }); // oxfmt-ignore
    hw.dispose();
    counted.restore();
  });

  test.each(["float32", "int8"] as const)("a weight of %s that was uploaded is not packed again", async (dtype) => {
    const counted = new CountedGpu();
    const hw = await createAttention({ backend: "webgpu", gpu: nullGpu! });
    const [weight, bias] = [randomTensor(2, [48, 32]), randomTensor(3, [48])]; // [out, in]
    const weightLayout = "out-in";
    const stored = dtype === "int8" ? quantizeWeight(weight, { weightLayout }) : weight;
    const uploaded = await hw.gpu!.uploadWeight(stored, { weightLayout });
    const x = await hw.gpu!.upload(randomTensor(1, [1, 32]));
    const countsOf = async (given: typeof stored | typeof uploaded) => {
      const work = async () => (await hw.linear(x, given, bias, { weightLayout, location: "gpu" })).dispose();
      for (let n = 0; n < 2; ++n) await work();
      return counted.count(work);
    };
    const nothing = { createBuffer: 0, createBindGroup: 0, createComputePipelineAsync: 0, submit: 1, waits: 0 };
    // uploads: the bias, and the numbers of the kernels
    expect(await countsOf(uploaded)).toMatchObject({ ...nothing, dispatchWorkgroups: 1, writeBuffer: 2 });
    expect((await countsOf(stored)).dispatchWorkgroups).toBeGreaterThan(1);
    hw.dispose();
    counted.restore();
  });

  test("an uploaded weight has buffers of its own until it is disposed", async () => {
    const watch = new WatchedGpu();
    const device = await openTestDevice(nullGpu);
    const hw = await createAttention({ backend: "webgpu", device });
    const weight = quantizeWeight(randomTensor(1, [32, 48]));
    (await hw.gpu!.uploadWeight(weight)).dispose(); // its scratch stays in the pool
    const before = new Set(watch.buffers);
    const [first, second] = [await hw.gpu!.uploadWeight(weight), await hw.gpu!.uploadWeight(weight)];
    const sizes = [...watch.buffers].filter((buffer) => !before.has(buffer)).map(({ size }) => size);
    // each: whole numbers, scales, and for each column a bias and a gain; columns are padded to 64
    expect(sizes.sort((a, b) => a - b)).toEqual([64 * 4, 64 * 4, 64 * 8, 64 * 8, 32 * 64, 32 * 64]);
    expect(first.bytes).toBe(64 * 4 + 64 * 8 + 32 * 64);
    first.dispose();
    second.dispose();
    await new Promise((done) => setImmediate(done)); // memory is given back after the calls made before
    expect(watch.buffers).toEqual(before);
    const kept = await hw.gpu!.uploadWeight(weight);
    hw.dispose(); // the instance's end is the weight's end
    expect(watch.buffers.size).toBe(0);
    kept.dispose();
    device.destroy();
    watch.restore();
  });
});

test("the rows of a gradient are split by its shape alone, in whole tiles, and no part is empty", () => {
  for (const rows of [0, 1, 15, 128, 700, 8192, 100000])
    for (const [x4, dy4] of [
      [1, 1],
      [16, 48],
      [192, 576],
    ] as const)
      for (const { parts, partRows } of [planWeightGradient(rows, x4, dy4), planColumnSums(rows, dy4)]) {
        expect(partRows % 8).toBe(0);
        expect(parts * partRows).toBeGreaterThanOrEqual(rows);
        expect(Math.max(parts - 1, 0) * partRows).toBeLessThan(Math.max(rows, 1));
      }
});
