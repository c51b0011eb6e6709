import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { tensor, toNested, type Attention, type ErrorCode } from "headwise";

const floats = (...numbers: number[]) => Float32Array.from(numbers);

/** What arguments may be, on one engine. */
export function describePlainArguments(where: string, create: () => Promise<Attention>): void {
  describe(`An argument of ${where}`, () => {
    let hw: Attention;
    const x = tensor([[1, 0], [0, 1], [1, 1]]); // oxfmt-ignore
    beforeAll(async () => {
      hw = await create();
    });
    afterAll(() => hw.dispose());

    const outputOf = async (options: object, q: unknown = x, k: unknown = x, v: unknown = x) =>
      (await hw.scaledDotProductAttention(q as typeof x, k as typeof x, v as typeof x, options)).output;
    const same = async (options: object, as: object) => expect(await outputOf(options)).toEqual(await outputOf(as));

    test("may be nested arrays, plain numbers with a shape, or a tensor with dims", async () => {
      const expected = await outputOf({});
      const nested = [[1, 0], [0, 1], [1, 1]]; // oxfmt-ignore
      for (const like of [nested, { data: nested.flat(), shape: [3, 2] }, { data: x.data, dims: [3, 2] }])
        expect(await outputOf({}, like, like, like)).toEqual(expected);
    });

    test("in plain numbers gives the types of float32", async () => {
      const { output } = await hw.scaledDotProductAttention([[1, 0]], [[1, 0]], [[1, 2]]);
      const data: Float32Array = output.data;
      expect(toNested<number[][]>(output)).toEqual([[1, 2]]);
      expect(data).toEqual(floats(1, 2));
    });

    test("mask and bias may be null, which is none", () => same({ mask: null, bias: null }, {}));

    const mask = tensor([[true, false, true]]);
    test.each([
      ["nested booleans", [[true, false, true]]],
      ["nested numbers", [[1, 0, 1]]],
      ["a list for all queries", [true, false, true]],
      ["int32", { data: Int32Array.of(1, 0, 1), shape: [1, 3] }],
      ["int64", { data: BigInt64Array.of(1n, 0n, 1n), shape: [1, 3] }],
      ["int64 of another package", { data: BigInt64Array.of(1n, 0n, 1n), dims: [1, 3], type: "int64" }],
      ["plain booleans", { data: [true, false, true], shape: [1, 3] }],
    ])("mask may be %s", (_what, like) => same({ mask: like }, { mask }));

    test.each<[what: string, options: object, message: string, code: ErrorCode]>([
      ["a mask of other integers", { mask: { data: Int32Array.of(1, 2, 0), shape: [3] } }, "scaledDotProductAttention: mask.data[1] must be true, false, 1 or 0, got 2", "INVALID_OPTION"], // oxfmt-ignore
      ["a bias of booleans", { bias: [[true, false, true]] }, "scaledDotProductAttention: bias[0] must be a number, got true", "INVALID_OPTION"], // oxfmt-ignore
      ["an output in plain numbers", { into: { data: [0, 0, 0, 0, 0, 0], shape: [3, 2] } }, "scaledDotProductAttention: into must hold its numbers in a typed array, which the call can write to, got an object with data, shape", "INVALID_OPTION"], // oxfmt-ignore
    ])("refuses %s", async (_what, options, message, code) => {
      await expect(outputOf(options)).rejects.toMatchObject({ message, code });
    });

    test.each([Float64Array, Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint32Array, BigUint64Array])(
      "that is a list of numbers may be a %p",
      (List) => {
        const keyLengths = List === BigUint64Array ? BigUint64Array.of(2n) : (List as typeof Int8Array).of(2);
        return same({ keyLengths }, { keyLengths: [2] });
      },
    );

    test("that is a list of numbers may be no Uint16Array, which may hold float16", () =>
      expect(outputOf({ sinks: Uint16Array.of(0x3c00) })).rejects.toMatchObject({
        message: "scaledDotProductAttention: sinks must be a list of numbers, got a Uint16Array of 1",
      }));

    test("in plain numbers may have 65,536 of them, and not one more", async () => {
      const list = (length: number) => ({ data: new Array<number>(length).fill(1), shape: [length, 1] });
      await outputOf({}, [[1]], list(65536), list(65536));
      const rows = (length: number) => new Array<number[]>(length).fill([1]);
      await outputOf({}, [[1]], rows(65536), rows(65536));
      for (const tooMany of [rows(65537), new Array<number[]>(65537).fill([])])
        await expect(outputOf({}, [[1]], tooMany)).rejects.toThrow(
          "scaledDotProductAttention: key may hold at most 65536 numbers in plain arrays",
        );
      await expect(outputOf({}, [[1]], list(65537), list(65537))).rejects.toMatchObject({
        message: "scaledDotProductAttention: key.data may hold at most 65536 numbers in a plain array, got 65537",
        hint: expect.stringContaining("Float32Array.from(data)"),
      });
      await expect(outputOf({}, [[1]], new Array(40000).fill([1, 1]))).rejects.toThrow(
        "scaledDotProductAttention: key may hold at most 65536 numbers in plain arrays",
      );
    });

    test("that is a list may be of int64", () => same({ keyLengths: BigInt64Array.of(2n) }, { keyLengths: [2] }));

    test("of a layer may be plain: weights, bias, x", async () => {
      const weights = { Wq: [[1, 0], [0, 1]], bq: [0.5, 0], Wk: [1, 0, 0, 1], Wv: [[1, 2], [3, 4]], Wo: [[1, 0], [0, 1]] }; // oxfmt-ignore
      const plain = await hw.multiHeadAttention({ inputDim: 2, numHeads: 1, weights: { ...weights, Wk: [[1, 0], [0, 1]] } }); // oxfmt-ignore
      const bare = await hw.multiHeadAttention({ inputDim: 2, numHeads: 1, weights });
      const typed = await hw.multiHeadAttention({
        numHeads: 1,
        weights: {
          Wq: tensor(weights.Wq),
          bq: floats(0.5, 0),
          Wk: tensor(weights.Wq),
          Wv: tensor(weights.Wv),
          Wo: tensor(weights.Wo),
        },
      });
      const expected = await typed.forward(x);
      expect(await plain.forward(toNested<number[][]>(x))).toEqual(expected);
      expect(await bare.forward(x)).toEqual(expected);
    });

    test("of rotaryEmbedding: positions may be int64, tables float16", async () => {
      const rows = tensor([[1, 2], [3, 4], [5, 6]]); // oxfmt-ignore
      const angles = [0, 1, 2].map((position) => [Math.fround(Math.cos(position))]);
      const cos = tensor(angles, "float16");
      const sin = tensor([[0], [0.5], [1]], "float16");
      const wide = { cos: tensor(toNested<number[][]>(cos)), sin: tensor([[0], [0.5], [1]]) };
      expect(await hw.rotaryEmbedding(rows, { cos, sin })).toEqual(await hw.rotaryEmbedding(rows, wide));
      const expected = await hw.rotaryEmbedding(rows, { positions: [4, 0, 2] });
      const int64 = BigInt64Array.of(4n, 0n, 2n);
      for (const positions of [int64, { data: int64, shape: [3] }, { data: int64, shape: [1, 3] }])
        expect(await hw.rotaryEmbedding(rows, { positions })).toEqual(expected);
    });
  });
}
