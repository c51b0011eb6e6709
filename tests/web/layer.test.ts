import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { setFloat16 } from "@petamoriken/float16";
import {
  createAttention,
  quantizeWeight,
  sinusoidalPositions,
  tensor,
  toBfloat16,
  toFloat16,
  toFloat32,
  type Attention,
  type ForwardOptions,
  type KvCache,
  type Layer,
  type LayerOptions,
  type TypedTensor,
} from "headwise";

import { bits, differences, valuesOf } from "./close.js";
import { variants } from "./engines.js";
import { randomTensor } from "./randomTensor.js";
import { exactRow, referenceLayer, type Bounded, type ReferenceLayer } from "./referenceLayer.js";

type Floats = TypedTensor<"float32">;
/** Options of a call whose results come to the CPU. */
type CpuOptions = Omit<ForwardOptions, "location">;

/** Weights scaled so that the products keep the size of x. */
const weight = (seed: number, rows: number, columns: number): Floats =>
  randomTensor(seed, [rows, columns], Math.sqrt(3 / rows));
const bias = (seed: number, width: number): Floats => randomTensor(seed, [width]);

/** The square weights of a layer of this width. */
const square = (width: number) => ({
  Wq: weight(1, width, width),
  bq: bias(2, width),
  Wk: weight(3, width, width),
  bk: bias(4, width),
  Wv: weight(5, width, width),
  bv: bias(6, width),
  Wo: weight(7, width, width),
  bo: bias(8, width),
});

/** Identity weights: query, key and value are x itself, bit for bit. */
const identity = (width: number): { Wq: Floats; Wk: Floats; Wv: Floats } => {
  const data = Float32Array.from({ length: width * width }, (_, k) => Number(k % (width + 1) === 0));
  const unit = { data, shape: [width, width], dtype: "float32" } as const;
  return { Wq: unit, Wk: unit, Wv: unit };
};

/** The rows of batch b of [B, S, W]. */
const rowsOf = ({ data, shape }: Floats, b: number): Bounded[][] => {
  const [S, W] = shape.slice(-2) as [number, number];
  return Array.from({ length: S }, (_, s) => exactRow(data.subarray((b * S + s) * W, (b * S + s + 1) * W)));
};

const expected = (rows: readonly Bounded[][]) => ({
  values: Float64Array.from(rows.flat(), ({ value }) => value),
  tolerance: Float64Array.from(rows.flat(), ({ error }) => error),
});

const transposed = ({ data, shape }: Floats): Floats => {
  const [rows, columns] = shape.slice(-2) as [number, number];
  const result = data.map((_, k) => {
    const batch = Math.floor(k / (rows * columns)) * rows * columns;
    const [i, j] = [Math.floor((k - batch) / rows), (k - batch) % rows];
    return data[batch + j * columns + i]!;
  });
  return { data: result, shape: [...shape.slice(0, -2), columns, rows], dtype: "float32" };
};

/** A weight [in, out] as a layer keeps it in int8. */
const throughInt8 = (tensor: Floats): Floats => {
  const { data, shape, scales } = quantizeWeight(tensor);
  return { data: Float32Array.from(data, (q, n) => q * scales[n % scales.length]!), shape, dtype: "float32" };
};

/** Joins tensors: side by side (`beside`) or one below the other (`below`). */
const beside = (...tensors: Floats[]): Floats => transposed(below(...tensors.map(transposed)));
const below = (...tensors: Floats[]): Floats => {
  const data = Float32Array.from(tensors.flatMap((part) => [...part.data]));
  const columns = tensors[0]!.shape.at(-1)!;
  const shape = tensors[0]!.shape.length === 1 ? [data.length] : [data.length / columns, columns];
  return { data, shape, dtype: "float32" };
};

describe.each(variants)("multiHeadAttention, variant %s", (variant) => {
  let hw: Attention;
  let two: Attention;
  beforeAll(async () => {
    hw = await createAttention({ backend: "wasm", variant, threads: 1 });
    two = await createAttention({ backend: "wasm", variant, threads: 2 });
  });
  afterAll(() => {
    hw.dispose();
    two.dispose();
  });

  /** Makes a layer, calls it once, disposes it and returns the result. */
  const run = async (options: LayerOptions, x: Floats, given: CpuOptions = {}, engine = hw) => {
    const layer = await engine.multiHeadAttention(options);
    try {
      return await layer.forward(x, given);
    } finally {
      layer.dispose();
    }
  };

  /** Expects the same bits. */
  const expectSame = (a: object, b: object) => expect(bits(a)).toEqual(bits(b));

  describe("the formula", () => {
    const expectFormula = async (options: LayerOptions, reference: ReferenceLayer, x: Floats) => {
      const { output } = await run(options, x);
      expect(output.shape).toEqual([...x.shape.slice(0, -1), reference.Wo ? options.outputDim : output.shape.at(-1)]);
      const rows = Array.from({ length: x.shape[0]! }, (_, b) => referenceLayer(reference, rowsOf(x, b))).flat();
      expect(differences(output, expected(rows))).toEqual([]);
    };

    test.each([1, 7, 64, 65])("holds for %i tokens", async (length) => {
      const weights = { ...square(24), Wo: weight(7, 24, 10), bo: bias(8, 10) };
      await expectFormula(
        { inputDim: 24, outputDim: 10, numHeads: 3, weights },
        { numHeads: 3, ...weights },
        randomTensor(9, [2, length, 24]),
      );
    });

    test.each([1, 8, 9, 40])("holds for %i tokens over weights that are kept in int8", async (length) => {
      const weights = { ...square(24), Wo: weight(7, 24, 10), bo: bias(8, 10) };
      const rounded = Object.fromEntries(
        Object.entries(weights).map(([name, tensor]) => [name, name.startsWith("W") ? throughInt8(tensor) : tensor]),
      ) as unknown as typeof weights;
      const options: LayerOptions = { inputDim: 24, outputDim: 10, numHeads: 3, weights, weightDtype: "int8" };
      const x = randomTensor(9, [1, length, 24]);
      const { output } = await run(options, x);
      const rows = referenceLayer({ numHeads: 3, ...rounded }, rowsOf(x, 0));
      // Each weight is rounded once more, and each sum is scaled: sums of 24 products become sums of 26 at most.
      const { values, tolerance } = expected(rows);
      expect(differences(output, { values, tolerance: tolerance.map((t) => t * (1 + 2 / 24)) })).toEqual([]);
    });

    test.each([
      ["float16", toFloat16],
      ["bfloat16", toBfloat16],
    ] as const)("has the bits of rounded weights if they are kept in %s", async (weightDtype, round) => {
      const weights = square(24);
      const given = Object.fromEntries(
        Object.entries(weights).map(([name, t]) => [name, name.startsWith("W") ? round(t) : t]),
      );
      const rounded = Object.fromEntries(Object.entries(given).map(([name, t]) => [name, toFloat32(t as never)]));
      for (const length of [1, 9, 40]) {
        const x = randomTensor(9, [1, length, 24]);
        const expected = await run({ numHeads: 3, weights: rounded }, x);
        expectSame(await run({ numHeads: 3, weights, weightDtype }, x), expected);
        for (const dtype of [weightDtype, "float32"] as const)
          expectSame(await run({ numHeads: 3, weights: given, weightDtype: dtype }, x), expected);
      }
    });

    test("takes weights and biases of bfloat16, also in one array, and rounds them to int8", async () => {
      const weights = { Wqkv: weight(1, 24, 72), bqkv: bias(2, 72), Wo: weight(3, 24, 24) };
      const given = Object.fromEntries(Object.entries(weights).map(([name, t]) => [name, toBfloat16(t)]));
      const widened = Object.fromEntries(Object.entries(given).map(([name, t]) => [name, toFloat32(t)]));
      const x = randomTensor(9, [1, 7, 24]);
      for (const weightDtype of ["float32", "bfloat16", "float16", "int8"] as const)
        expectSame(
          await run({ numHeads: 3, modelDim: 24, inputDim: 24, weights: given, weightDtype }, x),
          await run({ numHeads: 3, modelDim: 24, inputDim: 24, weights: widened, weightDtype }, x),
        );
    });

    test("keeps new weights in the dtype of the layer, in fewer bytes", async () => {
      const [before, after] = [square(24), { ...square(24), Wk: weight(30, 24, 24), Wo: weight(31, 24, 24) }];
      const x = randomTensor(9, [1, 5, 24]);
      const bytes: number[] = [];
      for (const weightDtype of ["float32", "float16", "int8", "bfloat16"] as const) {
        using layer = await hw.multiHeadAttention({ numHeads: 3, weights: before, weightDtype });
        await layer.update({ Wk: after.Wk, Wo: after.Wo });
        expectSame(await layer.forward(x), await run({ numHeads: 3, weights: after, weightDtype }, x));
        bytes.push(layer.bytes);
      }
      expect(bytes[1]).toBeLessThan(bytes[0]!);
      expect(bytes[2]).toBeLessThan(bytes[1]!);
      expect(bytes[3]).toBe(bytes[1]);
    });

    test("refuses to keep weights in another dtype", async () => {
      await expect(
        run({ numHeads: 3, weights: square(24), weightDtype: "int4" as never }, randomTensor(9, [1, 24])),
      ).rejects.toThrow(
        'multiHeadAttention: weightDtype must be "float32" or "float16" or "bfloat16" or "int8", got "int4"',
      );
    });

    test("holds beyond one tile of the projections", async () => {
      const weights = {
        Wq: weight(1, 300, 150),
        Wk: weight(2, 300, 150),
        Wv: weight(3, 300, 150),
        Wo: weight(4, 150, 140),
      };
      await expectFormula(
        { inputDim: 300, modelDim: 150, outputDim: 140, numHeads: 3, weights },
        { numHeads: 3, ...weights },
        randomTensor(9, [1, 5, 300]),
      );
    });

    test("holds for shared key and value heads and a value width of its own", async () => {
      const weights = { Wq: weight(1, 20, 24), Wk: weight(2, 20, 8), Wv: weight(3, 20, 10), Wo: weight(4, 30, 20) };
      await expectFormula(
        { inputDim: 20, modelDim: 24, valueHeadDim: 5, outputDim: 20, numHeads: 6, numKvHeads: 2, weights },
        { numHeads: 6, numKvHeads: 2, ...weights },
        randomTensor(9, [2, 9, 20]),
      );
    });

    test("holds for contexts of other widths", async () => {
      const weights = { Wq: weight(1, 12, 16), Wk: weight(2, 20, 16), Wv: weight(3, 9, 16), Wo: weight(4, 16, 12) };
      const [x, key, value] = [randomTensor(5, [2, 4, 12]), randomTensor(6, [2, 7, 20]), randomTensor(7, [2, 7, 9])];
      const options = { inputDim: 12, keyInputDim: 20, valueInputDim: 9, modelDim: 16, numHeads: 2, weights };
      const { output } = await run(options, x, { key, value });
      const rows = [0, 1].flatMap((b) => {
        const [q, k, v] = [x, key, value].map((part) => rowsOf(part, b)) as [Bounded[][], Bounded[][], Bounded[][]];
        return referenceLayer({ numHeads: 2, ...weights }, q, k, v);
      });
      expect(differences(output, expected(rows))).toEqual([]);
    });

    test("of identity weights without output projection is plain attention, bit for bit", async () => {
      const x = randomTensor(1, [2, 9, 12]);
      const layer = { inputDim: 12, numHeads: 3, outputProjection: false, weights: identity(12) };
      const options = { causal: true, alibiSlopes: [0.5, 0.25, 0.125], softcap: 5 } as const;
      const returns = { lse: true, entropy: true, probs: true, scores: "biased", topK: 2 } as const;
      const plain = await hw.scaledDotProductAttention(x, x, x, { layout: "BSE", numHeads: 3, ...options, returns });
      expectSame(await run(layer, x, { ...options, returns }), plain);
    });

    test("of columns is that of rows", async () => {
      const x = randomTensor(1, [2, 9, 24]);
      const options = { inputDim: 24, numHeads: 3, weights: square(24) };
      const rows = await run(options, x);
      const columns = await run({ ...options, layout: "BES" }, transposed(x));
      expect(columns.output.shape).toEqual([2, 24, 9]);
      expect(transposed(columns.output as Floats).data).toEqual(rows.output.data);
    });

    test("keeps its sizes", async () => {
      const layer = await hw.multiHeadAttention({ numHeads: 2, weights: square(8) });
      expect(() => ((layer.shape as { outputDim: number }).outputDim = 1000)).toThrow(TypeError);
      layer.dispose();
    });

    test("of one batch may leave out its axis", async () => {
      const x = randomTensor(1, [1, 9, 24]);
      const options = { inputDim: 24, numHeads: 3, weights: square(24) };
      const returns = { probs: true, lse: true } as const;
      const full = await run(options, x, { returns });
      const flat = await run(options, { ...x, shape: [9, 24] }, { returns });
      expect([flat.output.shape, flat.probs!.shape, flat.lse!.shape]).toEqual([
        [9, 24],
        [3, 9, 9],
        [3, 9],
      ]);
      expect([flat.output.data, flat.probs!.data]).toEqual([full.output.data, full.probs!.data]);
    });

    test("gives the same bits on two threads", async () => {
      const x = randomTensor(1, [2, 70, 48]);
      const options = { inputDim: 48, numHeads: 3, weights: square(48), position: { kind: "rotary" } } as const;
      expectSame(await run(options, x), await run(options, x, {}, two));
    });

    test("writes into a tensor of the caller's, also one inside the engine", async () => {
      const x = randomTensor(1, [1, 5, 24]);
      using layer = await hw.multiHeadAttention({ inputDim: 24, numHeads: 3, weights: square(24) });
      const { output } = await layer.forward(x);
      const into = tensor(new Float32Array(5 * 24), [1, 5, 24]);
      expect((await layer.forward(x, { into })).output).toBe(into);
      expect(into.data).toEqual(output.data);
      using inside = hw.allocate([1, 5, 24]);
      inside.data.set(x.data);
      using outside = hw.allocate([1, 5, 24]);
      await layer.forward(inside, { into: outside });
      expect(Float32Array.from(outside.data)).toEqual(output.data);
      await expect(layer.forward(inside, { into: inside })).rejects.toThrow(/into must not overlap x/);
    });

    test("keeps the sequences of a ragged batch apart, each from position 0", async () => {
      const x = randomTensor(1, [1, 11, 24]);
      using layer = await hw.multiHeadAttention({
        inputDim: 24,
        numHeads: 3,
        weights: square(24),
        position: { kind: "rotary" },
      });
      const starts = [0, 4, 4, 11];
      const { output } = await layer.forward(x, { causal: true, cuSeqLensQuery: starts, cuSeqLensKey: starts });
      for (const [from, to] of [
        [0, 4],
        [4, 11],
      ] as const) {
        const alone = tensor(x.data.slice(from * 24, to * 24), [to - from, 24]);
        const expected = await layer.forward(alone, { causal: true });
        const packed = output.data.subarray(from * 24, to * 24);
        packed.forEach((value, k) => expect(value).toBeCloseTo(expected.output.data[k]!, 5));
      }
    });

    test("takes and gives float16", async () => {
      const view = new DataView(new ArrayBuffer(2));
      const half = (x: number) => (setFloat16(view, 0, x), view.getUint16(0));
      const layer = await hw.multiHeadAttention({ inputDim: 24, numHeads: 3, weights: square(24) });
      const x = tensor(Uint16Array.from(randomTensor(1, [1, 5, 24]).data, half), [1, 5, 24]);
      const widened = tensor(Float32Array.from(valuesOf(x)), [1, 5, 24]);
      const exact = await layer.forward(widened);
      const { output } = await layer.forward(x);
      expect([output.dtype, output.data]).toEqual(["float16", Uint16Array.from(exact.output.data, half)]);
      layer.dispose();
    });
  });

  describe("weights", () => {
    const x = randomTensor(9, [1, 5, 24]);
    const layer = { inputDim: 24, numHeads: 3 };
    const { Wq, bq, Wk, bk, Wv, bv, Wo, bo } = square(24);
    let plain: object;
    beforeAll(async () => {
      plain = await run({ ...layer, weights: square(24) }, x);
    });

    test("may be packed side by side", async () => {
      const weights = { Wqkv: beside(Wq, Wk, Wv), bqkv: below(bq, bk, bv), Wo, bo };
      expectSame(await run({ ...layer, weights }, x), plain);
    });

    test("may be the state dict of PyTorch's nn.MultiheadAttention", async () => {
      const weights = {
        in_proj_weight: transposed(beside(Wq, Wk, Wv)),
        in_proj_bias: below(bq, bk, bv),
        "out_proj.weight": transposed(Wo),
        "out_proj.bias": bo,
      };
      expectSame(await run({ ...layer, weights }, x), plain);
    });

    test("may be those of nn.MultiheadAttention with other key and value widths", async () => {
      const weights = {
        q_proj_weight: transposed(Wq),
        k_proj_weight: transposed(Wk),
        v_proj_weight: transposed(Wv),
        in_proj_bias: below(bq, bk, bv),
        "out_proj.weight": transposed(Wo),
        "out_proj.bias": bo,
      };
      expectSame(await run({ ...layer, weights }, x), plain);
    });

    test("may be packed for shared heads", async () => {
      const [k, v] = [weight(11, 24, 8), weight(12, 24, 5)];
      const shape = { inputDim: 24, numHeads: 3, numKvHeads: 1, valueHeadDim: 5 };
      const out = weight(13, 15, 24);
      const packed = await run({ ...shape, weights: { Wqkv: beside(Wq, k, v), Wo: out } }, x);
      expectSame(packed, await run({ ...shape, weights: { Wq, Wk: k, Wv: v, Wo: out } }, x));
    });

    test("are copied: the caller may change them", async () => {
      const mine = square(24);
      const kept = await hw.multiHeadAttention({ ...layer, weights: mine });
      for (const { data } of Object.values(mine)) data.fill(NaN);
      expectSame(await kept.forward(x), plain);
      kept.dispose();
    });

    test("tell the output's width", async () => {
      const { output } = await run({ ...layer, weights: { Wq, Wk, Wv, Wo: weight(3, 24, 7) } }, x);
      expect(output.shape).toEqual([1, 5, 7]);
    });

    describe("tell the widths that are not given", () => {
      const shapeOf = async (given: Partial<LayerOptions> & { weights: object }) => {
        using made = await hw.multiHeadAttention({ numHeads: 4, ...given });
        return made.shape;
      };
      // inputDim 10, 4 heads of 6, values of 5; contexts of width 7 and 9; outputDim 11
      const wide = {
        inputDim: 10,
        keyInputDim: 7,
        valueInputDim: 9,
        numHeads: 4,
        numKvHeads: 2,
        headDim: 6,
        valueHeadDim: 5,
        outputDim: 11,
        outputProjection: true,
      };
      const query = weight(1, 10, 24);
      const key = weight(2, 7, 12);
      const value = weight(3, 9, 10);
      const out = weight(4, 20, 11);
      const alike = { ...wide, keyInputDim: 10, valueInputDim: 10 };
      const [sameKey, sameValue] = [weight(2, 10, 12), weight(3, 10, 10)];

      test("by the formula's names", async () => {
        expect(await shapeOf({ weights: { Wq: query, Wk: key, Wv: value, Wo: out } })).toEqual(wide);
      });

      test("by the names of a state dict with widths of its own", async () => {
        const weights = {
          q_proj_weight: transposed(query),
          k_proj_weight: transposed(key),
          v_proj_weight: transposed(value),
          "out_proj.weight": transposed(out),
        };
        expect(await shapeOf({ weights })).toEqual(wide);
      });

      test("packed side by side, where modelDim says how wide the queries are", async () => {
        const weights = { Wqkv: beside(query, sameKey, sameValue), Wo: out };
        expect(await shapeOf({ modelDim: 24, weights })).toEqual(alike);
        const stored = { in_proj_weight: transposed(weights.Wqkv), "out_proj.weight": transposed(out) };
        expect(await shapeOf({ modelDim: 24, weights: stored })).toEqual(alike);
      });

      test("packed as nn.MultiheadAttention packs, with no width given at all", async () => {
        const in_proj_weight = weight(1, 72, 24);
        const shape = await shapeOf({ weights: { in_proj_weight, "out_proj.weight": weight(2, 24, 24) } });
        expect(shape).toMatchObject({ inputDim: 24, headDim: 6, numKvHeads: 4, valueHeadDim: 6, outputDim: 24 });
      });

      test("packed as Llama's heads are, which share keys", async () => {
        const shape = await shapeOf({ weights: { Wqkv: weight(1, 24, 24 + 12 + 12), Wo: weight(2, 24, 24) } });
        expect(shape).toMatchObject({ inputDim: 24, headDim: 6, numKvHeads: 2, valueHeadDim: 6 });
      });

      test("packed with values of their own width, by the output's weight or numKvHeads", async () => {
        const Wqkv = weight(1, 24, 24 + 24 + 20);
        expect(await shapeOf({ weights: { Wqkv, Wo: weight(2, 20, 3) } })).toMatchObject({
          numKvHeads: 4,
          valueHeadDim: 5,
        });
        const bare = { Wqkv, Wo: weight(2, 20, 3).data };
        expect(await shapeOf({ numKvHeads: 4, outputDim: 3, weights: bare })).toMatchObject({ valueHeadDim: 5 });
      });

      test("without output projection", async () => {
        const shape = await shapeOf({ outputProjection: false, weights: { Wq: query, Wk: key, Wv: value } });
        expect(shape).toEqual({ ...wide, outputDim: 20, outputProjection: false });
      });

      test("and compute what they compute with all widths given", async () => {
        const x = randomTensor(9, [1, 5, 10]);
        const contexts = { key: randomTensor(10, [1, 6, 7]), value: randomTensor(11, [1, 6, 9]) };
        const weights = { Wq: query, Wk: key, Wv: value, Wo: out };
        const { inputDim, keyInputDim, valueInputDim, numHeads, numKvHeads, valueHeadDim, outputDim } = wide;
        const all = {
          inputDim,
          keyInputDim,
          valueInputDim,
          numHeads,
          numKvHeads,
          valueHeadDim,
          outputDim,
          modelDim: 24,
        };
        expectSame(await run({ numHeads: 4, weights }, x, contexts), await run({ ...all, weights }, x, contexts));
      });

      test("bare arrays tell nothing: the options must", async () => {
        const bare = { Wq: query.data, Wk: query.data, Wv: query.data, Wo: query.data };
        await expect(hw.multiHeadAttention({ numHeads: 4, weights: bare })).rejects.toMatchObject({
          name: "OptionError",
          message:
            "multiHeadAttention: inputDim or modelDim must be given: weights.Wq is an array without a shape, which does not tell it",
        });
        const shape = await shapeOf({ inputDim: 10, modelDim: 24, weights: { ...bare, Wo: transposed(query) } });
        expect(shape).toMatchObject({ inputDim: 10, headDim: 6, numKvHeads: 4, valueHeadDim: 6, outputDim: 10 });
      });

      test.each<[string, object, RegExp]>([
        ["inputDim", { inputDim: 12 }, /weights\.Wq\.shape must be \[12, 24\], got \[10, 24\]/],
        ["modelDim", { modelDim: 20 }, /weights\.Wq\.shape must be \[10, 20\], got \[10, 24\]/],
        ["keyInputDim", { keyInputDim: 8 }, /weights\.Wk\.shape must be \[8, 12\], got \[7, 12\]/],
        ["valueInputDim", { valueInputDim: 8 }, /weights\.Wv\.shape must be \[8, 10\], got \[9, 10\]/],
        ["numKvHeads", { numKvHeads: 4 }, /weights\.Wk\.shape must be \[7, 24\], got \[7, 12\]/],
        ["valueHeadDim", { valueHeadDim: 6 }, /weights\.Wv\.shape must be \[9, 12\], got \[9, 10\]/],
        ["outputDim", { outputDim: 12 }, /weights\.Wo\.shape must be \[20, 12\], got \[20, 11\]/],
        ["numHeads", { numHeads: 5 }, /numHeads must divide modelDim, got 5 and 24/],
      ])("a given %s wins, and a weight of another is refused", async (_, given, message) => {
        const weights = { Wq: query, Wk: key, Wv: value, Wo: out };
        await expect(hw.multiHeadAttention({ numHeads: 4, weights, ...given })).rejects.toThrow(message);
      });

      test.each<[string, object, RegExp]>([
        [
          "keys that are no whole heads",
          { Wk: weight(2, 7, 13) },
          /weights\.Wk\.shape must be \[7, 24\], got \[7, 13\]/,
        ],
        [
          "heads that do not share evenly",
          { Wk: weight(2, 7, 18) },
          /weights\.Wk\.shape must be \[7, 24\], got \[7, 18/,
        ],
        [
          "values that are no whole heads",
          { Wv: weight(3, 9, 11) },
          /weights\.Wv\.shape must be \[9, 10\], got \[9, 11\]/,
        ],
        ["another output", { Wo: weight(4, 24, 11) }, /weights\.Wo\.shape must be \[20, 11\], got \[24, 11\]/],
        ["a bare query weight", { Wq: weight(1, 10, 24).data }, /inputDim or modelDim must be given/],
        ["no rows", { Wk: weight(2, 0, 12) }, /weights\.Wk\.shape must be \[10, 12\], got \[0, 12\]/],
      ])("weights that do not fit each other are refused: %s", async (_, other, message) => {
        const weights = { Wq: query, Wk: key, Wv: value, Wo: out, ...other };
        await expect(hw.multiHeadAttention({ numHeads: 4, weights })).rejects.toThrow(message);
      });

      test("packed weights that fit no heads are refused with what they must be", async () => {
        const weights = { Wqkv: weight(1, 24, 50), Wo: weight(2, 24, 24) };
        await expect(hw.multiHeadAttention({ numHeads: 4, weights })).rejects.toThrow(
          "weights.Wqkv.shape must be [24, 72], got [24, 50]",
        );
      });
    });

    test.each<[string, object, RegExp]>([
      ["none", {}, /the query's weight must be given, as one of weights.Wq, weights.Wqkv/],
      [
        "a missing one",
        { Wq, Wk, Wv },
        /the output's weight must be given, as one of weights.Wo, weights.out_proj.weight/,
      ],
      ["a misspelt name", { WQ: Wq }, /unknown option "WQ" in weights; did you mean "Wq"\?/],
      ["two of a kind", { Wq, Wqkv: Wq }, /weights.Wq and weights.Wqkv both give the query's weight/],
      ["a wrong shape", { Wq: weight(1, 24, 20), Wk, Wv, Wo }, /weights.Wq.shape must be \[24, 24\], got \[24, 20\]/],
      ["a wrong bias", { Wq, bq: bias(1, 3), Wk, Wv, Wo }, /weights.bq.shape must be \[24\], got \[3\]/],
      ["a bias of keys", { Wq, Wk, Wv, Wo, bias_k: bias(1, 24) }, /weights.bias_k \(add_bias_kv\) is not offered/],
      ["no tensor", { Wq: "12", Wk, Wv, Wo }, /weights.Wq must be a tensor/],
    ])("are refused by name: %s", async (_, weights, message) => {
      await expect(hw.multiHeadAttention({ ...layer, weights })).rejects.toThrow(message);
    });

    test("stored the other way get a hint", async () => {
      const weights = { Wq: weight(1, 12, 24), Wk, Wv, Wo };
      const error = hw.multiHeadAttention({ inputDim: 24, modelDim: 12, numHeads: 3, weights });
      await expect(error).rejects.toMatchObject({
        name: "ShapeError",
        hint: expect.stringMatching(/^Wq is stored \[in, out\]\./),
      });
    });
  });

  describe("positions", () => {
    const x = randomTensor(9, [2, 7, 24]);
    const layer = { inputDim: 24, numHeads: 3, weights: square(24) };

    test("that were learned are added to x", async () => {
      const table = randomTensor(1, [10, 24]);
      const added = { ...x, data: x.data.map((value, k) => value + table.data[k % (7 * 24)]!) };
      const learned = await run({ ...layer, position: { kind: "learned", table } }, x);
      expectSame(learned, await run(layer, added));
    });

    test.each(["interleaved", "halves"] as const)(
      "%s sines and cosines are those of sinusoidalPositions",
      async (split) => {
        const table = sinusoidalPositions(10, 24, { split });
        const learned = await run({ ...layer, position: { kind: "learned", table } }, x, { queryOffset: 3 });
        expectSame(await run({ ...layer, position: { kind: "sinusoidal", split } }, x, { queryOffset: 3 }), learned);
      },
    );

    test.each([
      {},
      { interleaved: true, rotaryDim: 4, base: 500 },
      { scaling: { kind: "dynamic-ntk", factor: 2, originalLength: 3 } },
      { scaling: { kind: "yarn", factor: 4, originalLength: 16 } },
    ] as const)("that are rotary turn queries and keys: %p", async (angles) => {
      const turned = await hw.rotaryEmbedding(x, { layout: "BSE", numHeads: 3, ...angles });
      const options = { layout: "BSE", numHeads: 3 } as const;
      const plain = await hw.scaledDotProductAttention(turned, turned, x, options);
      const rotary = { inputDim: 24, numHeads: 3, outputProjection: false, weights: identity(24) };
      expectSame(await run({ ...rotary, position: { kind: "rotary", ...angles } }, x), plain);
    });

    test("of the table end with it", async () => {
      const position = { kind: "learned", table: randomTensor(1, [6, 24]) } as const;
      await expect(run({ ...layer, position }, x)).rejects.toThrow(/has rows 0..5, sequence 0 stands at 0..6/);
    });

    test("left out, equal tokens attend equally; with them they do not", async () => {
      const word = randomTensor(1, [1, 24]).data;
      const other = randomTensor(2, [4, 24]).data;
      const sentence = tensor(Float32Array.from([...word, ...other, ...word]), [6, 24]); // tokens 0 and 5 are equal
      const returns = { probs: true } as const;
      const apart = async (position?: LayerOptions["position"]) => {
        const { probs } = await run({ ...layer, ...(position && { position }) }, sentence, { returns });
        return Math.max(...probs!.data.subarray(0, 6).map((p, j) => Math.abs(p - probs!.data[5 * 6 + j]!)));
      };
      expect(await apart()).toBe(0);
      expect(await apart({ kind: "rotary" })).toBeGreaterThan(1e-3);
      expect(await apart({ kind: "sinusoidal" })).toBeGreaterThan(1e-3);
      expect(await apart({ kind: "learned", table: randomTensor(3, [6, 24]) })).toBeGreaterThan(1e-3);
    });

    test("that are rotary give scores by distance only; learned vectors do not", async () => {
      const x = randomTensor(1, [1, 2, 24]);
      const weights = { Wq: square(24).Wq, Wk: square(24).Wk, Wv: square(24).Wv };
      /** The score of token 1 for token 0, with both positions raised by `start`. */
      const score = async (position: LayerOptions["position"], start: number) => {
        const options = { inputDim: 24, numHeads: 3, outputProjection: false, weights, position: position! };
        const layer = await hw.multiHeadAttention(options);
        const cache = await hw.kvCache({ numKvHeads: 3, headDim: 8 });
        if (start) await layer.forward(randomTensor(5, [1, start, 24]), { cache });
        const { scores } = await layer.forward(x, { cache, returns: { scores: "raw" } });
        layer.dispose();
        cache.dispose();
        return scores.data[(start + 2) * 1 + start]!;
      };
      const rotary = { kind: "rotary" } as const;
      const learned = { kind: "learned", table: randomTensor(3, [40, 24]) } as const;
      expect(await score(rotary, 30)).toBeCloseTo(await score(rotary, 0), 5);
      expect(Math.abs((await score(learned, 30)) - (await score(learned, 0)))).toBeGreaterThan(1e-2);
    });

    test.each<[object, RegExp]>([
      [{}, /position.kind must be given: learned, sinusoidal, rotary/],
      [{ kind: "alibi" }, /position.kind must be "learned" or "sinusoidal" or "rotary", got "alibi"/],
      [{ kind: "learned" }, /position.table must be given/],
      [{ kind: "learned", table: randomTensor(1, [3, 5]) }, /position.table.shape must be \[rows, 24\]/],
      [{ kind: "learned", base: 3 }, /unknown option "base" in position/],
      [{ kind: "rotary", rotaryDim: 5 }, /position.rotaryDim must be even and at most headDim, got 5 and 8/],
      [{ kind: "sinusoidal", base: -1 }, /position.base must be greater than 0, got -1/],
    ])("are refused: %p", async (position, message) => {
      const options = { ...layer, position } as LayerOptions;
      await expect(hw.multiHeadAttention(options)).rejects.toThrow(message);
    });
  });

  describe("qkNorm", () => {
    const x = randomTensor(9, [1, 6, 24]);
    const gain = [1, 2, 0.5, 1, 1, -1, 1, 3];

    test.each(["rms", "l2"] as const)("%s scales every head of queries and keys", async (kind) => {
      const scaled = (gains: readonly number[]) => {
        const data = Float32Array.from(x.data);
        for (let head = 0; head < data.length; head += 8) {
          const squares = data.subarray(head, head + 8).reduce((sum, value) => sum + value * value, 0);
          const size = kind === "rms" ? Math.sqrt(squares / 8 + 1e-6) : Math.sqrt(squares);
          for (let d = 0; d < 8; ++d) data[head + d] = (data[head + d]! / size) * gains[d]!;
        }
        return { ...x, data };
      };
      const layer = { inputDim: 24, numHeads: 3, outputProjection: false, weights: identity(24) };
      const options = { layout: "BSE", numHeads: 3 } as const;
      const ones = Array<number>(8).fill(1);
      const close = (a: { data: ArrayLike<number> }, b: { data: ArrayLike<number> }) =>
        Array.from(a.data).forEach((value, k) => expect(value).toBeCloseTo(b.data[k]!, 5));

      const plain = await run({ ...layer, qkNorm: { kind } }, x);
      close(plain.output, (await hw.scaledDotProductAttention(scaled(ones), scaled(ones), x, options)).output);
      const both = await run({ ...layer, qkNorm: { kind, gain } }, x);
      close(both.output, (await hw.scaledDotProductAttention(scaled(gain), scaled(gain), x, options)).output);
      const one = await run({ ...layer, qkNorm: { kind, gain: { key: gain } } }, x);
      close(one.output, (await hw.scaledDotProductAttention(scaled(ones), scaled(gain), x, options)).output);
    });

    test.each<[object, RegExp]>([
      [{}, /qkNorm.kind must be given/],
      [{ kind: "layer" }, /qkNorm.kind must be "rms" or "l2", got "layer"/],
      [{ kind: "rms", epsilon: -1 }, /qkNorm.epsilon must be at least 0, got -1/],
      [{ kind: "rms", gain: [1, 2] }, /qkNorm.gain must have length 8, got 2/],
      [{ kind: "rms", gain: { keys: gain } }, /qkNorm.gain/],
    ])("is refused: %p", async (qkNorm, message) => {
      const options = { inputDim: 24, numHeads: 3, weights: square(24), qkNorm } as LayerOptions;
      await expect(hw.multiHeadAttention(options)).rejects.toThrow(message);
    });
  });

  describe("with a cache", () => {
    const options = { inputDim: 24, numHeads: 6, numKvHeads: 2, modelDim: 24, position: { kind: "rotary" } } as const;
    const weights = { Wq: weight(1, 24, 24), Wk: weight(2, 24, 8), Wv: weight(3, 24, 8), Wo: weight(4, 24, 24) };
    let layer: Layer;
    beforeAll(async () => {
      layer = await hw.multiHeadAttention({ ...options, weights });
    });
    afterAll(() => layer.dispose());
    const freshCache = (batchSize = 1) => hw.kvCache({ batchSize, numKvHeads: 2, headDim: 4 });

    test("decoding token by token equals the whole sequence", async () => {
      const x = randomTensor(1, [1, 9, 24]);
      const whole = await layer.forward(x, { causal: true });
      using cache = await freshCache();
      const pieces = [5, 1, 1, 2];
      let done = 0;
      for (const piece of pieces) {
        const part = tensor(x.data.slice(done * 24, (done + piece) * 24), [1, piece, 24]);
        const { output } = await layer.forward(part, { cache, causal: true });
        const same = whole.output.data.subarray(done * 24, (done + piece) * 24);
        same.forEach((value, k) => expect(output.data[k]).toBeCloseTo(value, 5));
        done += piece;
        expect(cache.length).toBe(done);
      }
    });

    test("lengths of a padded prompt are those that are appended", async () => {
      using cache = await freshCache(2);
      await layer.forward(randomTensor(1, [2, 5, 24]), { cache, causal: true, queryLengths: [5, 2] });
      expect(cache.lengths).toEqual([5, 2]);
      await layer.forward(randomTensor(2, [2, 3, 24]), { cache, appendLengths: [0, 3] });
      expect(cache.lengths).toEqual([5, 5]);
    });

    test("appendLengths are the lengths of x, where the call says nothing of its queries", async () => {
      const x = randomTensor(1, [2, 3, 24]);
      const forward = async (given: CpuOptions) => {
        using cache = await freshCache(2);
        await layer.forward(randomTensor(2, [2, 4, 24]), { cache });
        const { output } = await layer.forward(x, { cache, ...given });
        // the queries of the tokens that a layer appended may also come in a separate call
        const attended = await cache.attend(randomTensor(3, [2, 6, 3, 4]), { causal: true });
        return { output, attended: attended.output };
      };
      const appendLengths = [3, 1];
      const stated = await forward({ causal: true, appendLengths, queryLengths: appendLengths });
      expectSame(await forward({ causal: true, appendLengths }), stated);
      expectSame(await forward({ causal: true, queryLengths: appendLengths }), stated);
      expectSame(await forward({ appendLengths }), await forward({ queryLengths: appendLengths })); // the cache is rotary
      const elsewhere = { causal: true, appendLengths, queryOffset: 4 } as const;
      expectSame(await forward(elsewhere), await forward({ ...elsewhere, queryLengths: [3, 3] }));
    });

    test("lengths of a context say nothing of the queries", async () => {
      const plain = await hw.multiHeadAttention({
        ...options,
        position: undefined,
        weights,
      });
      const [x, key] = [randomTensor(1, [2, 3, 24]), randomTensor(2, [2, 3, 24])];
      const forward = async (given: CpuOptions) => {
        using cache = await freshCache(2);
        return plain.forward(x, { key, cache, appendLengths: [3, 1], causal: true, ...given });
      };
      expectSame(await forward({}), await forward({ queryLengths: [3, 3] }));
      plain.dispose();
    });

    test("cross-attention projects its context once", async () => {
      using cache = await freshCache();
      const plain = await hw.multiHeadAttention({
        ...options,
        position: undefined,
        weights,
      });
      const [x, key] = [randomTensor(1, [1, 3, 24]), randomTensor(2, [1, 8, 24])];
      const first = await plain.forward(x, { key, cache });
      expectSame(await plain.forward(x, { cache, attendOnly: true }), first);
      expect(cache.length).toBe(8);
      plain.dispose();
    });

    test("a call that fails leaves it as it was", async () => {
      using cache = await freshCache();
      const x = randomTensor(1, [1, 3, 24]);
      await layer.forward(x, { cache });
      const mask = tensor(new Uint8Array(6), [1, 1, 1, 6]);
      await expect(layer.forward(x, { cache, mask, emptyRows: "throw" })).rejects.toThrow(/sees no key/);
      const short = tensor(new Uint8Array(3), [1, 1, 1, 3]);
      await expect(layer.forward(x, { cache, mask: short })).rejects.toThrow(/mask.shape must broadcast/);
      expect(cache.length).toBe(3);
    });

    test("a ring is as it was after a failed call of several tokens, and says so if it keeps a single one", async () => {
      using cache = await hw.kvCache({ numKvHeads: 2, headDim: 4, ring: { window: 4 } });
      await layer.forward(randomTensor(1, [1, 4, 24]), { cache });
      const failing = (tokens: number, keys: number) => {
        const mask = tensor(new Uint8Array(keys), [1, 1, 1, keys]);
        return layer.forward(randomTensor(2, [1, tokens, 24]), { cache, mask, emptyRows: "throw" });
      };
      await expect(failing(3, 7)).rejects.toThrow(/sees no key/);
      expect(cache.appended).toEqual([4]);
      await expect(failing(1, 4)).rejects.toThrow(/sees no key/);
      expect(cache.appended).toEqual([5]);
      const { probs } = await cache.attend(randomTensor(3, [1, 2, 5, 4]), { returns: { probs: true } });
      expect(probs.shape).toEqual([1, 2, 5, 4]);
      const sums = Array.from({ length: 10 }, (_, row) => probs.data.slice(4 * row, 4 * row + 4));
      for (const row of sums) expect(row.reduce((a, b) => a + b)).toBeCloseTo(1, 5);
    });

    test("calls that overlap take their turn", async () => {
      using cache = await freshCache();
      const x = randomTensor(1, [1, 1, 24]);
      const calls = [1, 2, 3].map(() => layer.forward(x, { cache, returns: { probs: true } }));
      const shapes = (await Promise.all(calls)).map(({ probs }) => probs.shape);
      expect(shapes).toEqual([1, 2, 3].map((length) => [1, 6, 1, length]));
    });

    test("that does not fit is refused", async () => {
      using wrong = await hw.kvCache({ numKvHeads: 6, headDim: 4 });
      using rotary = await hw.kvCache({ numKvHeads: 2, headDim: 4, rotary: {} });
      const x = randomTensor(1, [1, 3, 24]);
      await expect(layer.forward(x, { cache: wrong })).rejects.toThrow(/cache.numKvHeads must be that of the layer/);
      await expect(layer.forward(x, { cache: rotary })).rejects.toThrow(/both rotary/);
      await expect(layer.forward(x, { attendOnly: true })).rejects.toThrow(/attendOnly needs a cache/);
      await expect(layer.forward(x, { appendLengths: [1] })).rejects.toThrow(/appendLengths needs a cache/);
      const foreign = await two.kvCache({ numKvHeads: 2, headDim: 4 });
      await expect(layer.forward(x, { cache: foreign })).rejects.toThrow(/a cache of this instance/);
      foreign.dispose();
    });
  });

  describe("what the texts teach", () => {
    test("a head of a layer is single-head attention on its bin of the model dimension", async () => {
      const x = randomTensor(1, [1, 9, 24]);
      const { Wq, bq, Wk, bk, Wv, bv } = square(24);
      const options = { outputProjection: false, inputDim: 24 } as const;
      const all = await run({ ...options, numHeads: 3, weights: { Wq, bq, Wk, bk, Wv, bv } }, x);
      for (let h = 0; h < 3; ++h) {
        const bin = ({ data, shape }: Floats): Floats => ({
          data: data.filter((_, k) => Math.floor((k % 24) / 8) === h),
          shape: [...shape.slice(0, -1), 8],
          dtype: "float32",
        });
        const weights = { Wq: bin(Wq), bq: bin(bq), Wk: bin(Wk), bk: bin(bk), Wv: bin(Wv), bv: bin(bv) };
        const one = await run({ ...options, modelDim: 8, numHeads: 1, weights }, x);
        expect(one.output.data).toEqual(bin(all.output as Floats).data);
      }
    });

    test("GPT-3: 96 heads of 128 attend, and one head's projection is 12288 → 128", async () => {
      const query = randomTensor(1, [1, 4, 12288]);
      const heads = { layout: "BSE", numHeads: 96 } as const;
      const { output, probs } = await hw.scaledDotProductAttention(query, query, query, {
        ...heads,
        causal: true,
        returns: { probs: true },
      });
      expect([output.shape, probs.shape]).toEqual([
        [1, 4, 12288],
        [1, 96, 4, 4],
      ]);
      const weights = { Wq: weight(1, 12288, 128), Wk: weight(2, 12288, 128), Wv: weight(3, 12288, 128) };
      const options = { inputDim: 12288, modelDim: 128, numHeads: 1, outputProjection: false, weights };
      const head = await run(options, query);
      const rows = referenceLayer({ numHeads: 1, ...weights }, rowsOf(query, 0));
      expect(differences(head.output, expected(rows))).toEqual([]);
    });
  });

  describe("life and errors", () => {
    const x = randomTensor(1, [1, 4, 24]);
    const options = { inputDim: 24, numHeads: 3, weights: square(24) };

    test("a disposed layer refuses calls; those made before still run", async () => {
      const layer = await hw.multiHeadAttention(options);
      const before = layer.forward(x);
      layer.dispose();
      layer.dispose();
      expect((await before).output.shape).toEqual([1, 4, 24]);
      await expect(layer.forward(x)).rejects.toMatchObject({ name: "DisposedError", code: "DISPOSED" });
    });

    test("a layer ends with its instance", async () => {
      const short = await createAttention({ backend: "wasm", variant, threads: 1 });
      const layer = await short.multiHeadAttention(options);
      short.dispose();
      await expect(layer.forward(x)).rejects.toMatchObject({ name: "DisposedError" });
      layer.dispose();
    });

    test("a layer tells its shape and its bytes", async () => {
      using layer = await hw.multiHeadAttention({ ...options, numKvHeads: 3 });
      expect(layer.shape).toEqual({
        inputDim: 24,
        keyInputDim: 24,
        valueInputDim: 24,
        numHeads: 3,
        numKvHeads: 3,
        headDim: 8,
        valueHeadDim: 8,
        outputDim: 24,
        outputProjection: true,
      });
      // four weights and biases, with columns padded to whole panels of 16
      expect(layer.bytes).toBe(4 * 4 * (24 * 32 + 32));
    });

    test("layers that are disposed give their memory back", async () => {
      const small = await createAttention({ backend: "wasm", variant, threads: 1, maximumMemory: 24 * 2 ** 20 });
      const width = 512; // each layer packs 4 MB of weights: forty layers would not fit
      const zeros = { data: new Float32Array(width * width), shape: [width, width] };
      const weights = { Wq: zeros, Wk: zeros, Wv: zeros, Wo: zeros };
      for (let n = 0; n < 40; ++n) {
        const layer = await small.multiHeadAttention({ inputDim: width, numHeads: 8, weights });
        await layer.forward(randomTensor(n, [1, 2, width]));
        layer.dispose();
      }
      small.dispose();
    });

    test("weights beyond the memory are an OutOfMemoryError, and the instance stays usable", async () => {
      const small = await createAttention({ backend: "wasm", variant, threads: 1, maximumMemory: 24 * 2 ** 20 });
      const width = 1600;
      const zeros = { data: new Float32Array(width * width), shape: [width, width] };
      const weights = { Wq: zeros, Wk: zeros, Wv: zeros, Wo: zeros };
      const tooLarge = small.multiHeadAttention({ inputDim: width, numHeads: 1, weights });
      await expect(tooLarge).rejects.toMatchObject({ name: "OutOfMemoryError" });
      const layer = await small.multiHeadAttention(options);
      expect((await layer.forward(x)).output.shape).toEqual([1, 4, 24]);
      small.dispose();
    });

    test.each<[object, RegExp]>([
      [{ numHeads: 0 }, /numHeads must be an integer of at least 1, got 0/],
      [{ numHeads: 5 }, /numHeads must divide modelDim, got 5 and 24/],
      [{ numKvHeads: 2 }, /numKvHeads must divide numHeads, got 2 and 3/],
      [
        { inputDim: undefined, weights: { Wq: new Float32Array(24 * 24) } },
        /inputDim or modelDim must be given: weights\.Wq is an array without a shape/,
      ],
      [{ inputDim: undefined, weights: {} }, /the query's weight must be given/],
      [{ layout: "BHSD" }, /layout must be "BSE" or "BES", got "BHSD"/],
      [{ outputProjection: false }, /outputProjection is false, but weights.Wo is given/],
      [{ bias: false }, /bias is false, but weights.bq is given/],
      [{ weights: undefined }, /weights must be given/],
      [{ headDim: 8 }, /unknown option "headDim"/],
    ])("creation refuses %p", async (change, message) => {
      const changed = { ...options, ...change } as LayerOptions;
      await expect(hw.multiHeadAttention(changed)).rejects.toThrow(message);
    });

    test.each<[string, Floats, ForwardOptions, RegExp]>([
      ["a rank", randomTensor(1, [24]), {}, /layer.forward: x must have rank 3, or 2 for one batch, got shape \[24\]/],
      ["a width", randomTensor(1, [1, 4, 20]), {}, /x.shape\[2\] must be inputDim, got 20 and 24/],
      ["a context's rank", x, { key: randomTensor(1, [4, 24]) }, /key must have the rank of x/],
      ["a context's batch", x, { key: randomTensor(1, [2, 4, 24]) }, /key must have the batch size of x, got 2 and 1/],
      ["a value's length", x, { value: randomTensor(1, [1, 5, 24]) }, /value must be as long as its keys, got 5 and 4/],
      ["an unknown option", x, { casual: true } as ForwardOptions, /unknown option "casual"; did you mean "causal"\?/],
      ["what is no cache", x, { cache: {} as KvCache }, /cache must be a cache made by kvCache, got an empty object/],
      ["a GPU result", x, { location: "gpu" } as object, /location "gpu" needs the WebGPU backend/],
    ])("forward refuses %s, and computes the same bits afterwards", async (_, input, given, message) => {
      using layer = await hw.multiHeadAttention(options);
      const before = await layer.forward(x);
      await expect(layer.forward(input, given)).rejects.toThrow(message);
      expectSame(await layer.forward(x), before);
    });
  });
});

test("a layer with weights in int8 stays in WebAssembly if the instance chooses its engine", async () => {
  const hw = await createAttention({ backend: "auto" });
  const layer = await hw.multiHeadAttention({ numHeads: 3, weights: square(24), weightDtype: "int8" });
  expect(layer.placement).toBe("wasm");
  expect((await layer.forward(randomTensor(9, [1, 2, 24]))).output.shape).toEqual([1, 2, 24]);
  hw.dispose();
});
