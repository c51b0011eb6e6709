import { describe, expect, test } from "@jest/globals";
import {
  combineMasks,
  createAttention,
  maskFromHiddenKeys,
  maskFromHiddenPairs,
  maskFromTokenizer,
  tensor,
  type TokenizerMask,
} from "headwise";

import { bits } from "./close.js";
import { randomTensor } from "./randomTensor.js";
import { thrownBy } from "./thrownBy.js";

const bool = (values: number[], shape: number[]) => tensor(Uint8Array.from(values), shape);

describe("maskFromTokenizer", () => {
  const two = tensor(Uint8Array.from([1, 1, 0, 1, 0, 0]), [2, 1, 1, 3]);
  const flat = [1, 1, 0, 1, 0, 0];
  const forms: [string, TokenizerMask][] = [
    ["lists", [flat.slice(0, 3), flat.slice(3)]],
    ["lists of booleans", [flat.slice(0, 3).map(Boolean), flat.slice(3).map(Boolean)]],
    ["typed arrays", [Int32Array.from(flat.slice(0, 3)), BigInt64Array.from(flat.slice(3), BigInt)]],
    ["a tensor of 64-bit integers", { data: BigInt64Array.from(flat, BigInt), shape: [2, 3] }],
    ["a tensor of transformers.js", { data: BigInt64Array.from(flat, BigInt), dims: [2, 3] }],
    ["a tensor of 32-bit integers", { data: Int32Array.from(flat), shape: [2, 3] }],
    ["a tensor of booleans", bool(flat, [2, 3])],
    ["a tensor of a plain list", { data: flat, shape: [2, 3] }],
  ];

  test.each(forms)("of %s shows the tokens of each batch and hides its padding", (_, mask) => {
    expect(maskFromTokenizer(mask)).toEqual(two);
  });

  test.each<[string, TokenizerMask]>([
    ["a list", [1, 1, 0]],
    ["a typed array", Int32Array.of(1, 1, 0)],
    ["a list of one list", [[1, 1, 0]]],
    ["a tensor [S]", { data: BigInt64Array.of(1n, 1n, 0n), shape: [3] }],
    ["a tensor [1, S]", { data: BigInt64Array.of(1n, 1n, 0n), dims: [1, 3] }],
  ])("of one sequence may be %s, and attends to its tokens", (_, mask) => {
    expect(maskFromTokenizer(mask)).toEqual(bool([1, 1, 0], [1, 1, 1, 3]));
  });

  test("of no tokens or no sequences is empty", () => {
    expect(maskFromTokenizer([]).shape).toEqual([1, 1, 1, 0]);
    expect(maskFromTokenizer({ data: new Int32Array(0), shape: [0, 4] }).shape).toEqual([0, 1, 1, 4]);
    expect(maskFromTokenizer([[], []]).shape).toEqual([2, 1, 1, 0]);
  });

  test("gives what keyLengths gives for padding on the right", async () => {
    const hw = await createAttention({ backend: "wasm", threads: 1 });
    const x = randomTensor(1, [2, 1, 3, 4]);
    const mask = maskFromTokenizer([
      [1, 1, 0],
      [1, 1, 1],
    ]);
    const masked = await hw.scaledDotProductAttention(x, x, x, { mask });
    const shortened = await hw.scaledDotProductAttention(x, x, x, { keyLengths: [2, 3] });
    expect(bits(masked)).toEqual(bits(shortened));
    hw.dispose();
  });

  test("is a copy", () => {
    const data = Uint8Array.of(1, 0);
    const mask = maskFromTokenizer({ data, shape: [2] });
    data.fill(0);
    expect(mask.data).toEqual(Uint8Array.of(1, 0));
  });

  test.each<[unknown, string, RegExp]>([
    [[101, 2054, 102], "OptionError", /attentionMask\[0\] must be 1 \(token\) or 0 \(padding\), got 101$/],
    [
      [
        [1, 1],
        [1, 0.5],
      ],
      "OptionError",
      /attentionMask\[1\]\[1\] must be 1 .*, got 0\.5$/,
    ],
    [[1, "1"], "OptionError", /attentionMask\[1\] must be 1 .*, got "1"$/],
    [[1, Symbol("1")], "OptionError", /attentionMask\[1\] must be 1 .*, got a symbol$/],
    [{ data: BigInt64Array.of(0n, 2n), dims: [2] }, "OptionError", /attentionMask\.data\[1\] must be 1 .*, got 2n$/],
    [Float32Array.of(0, NaN), "OptionError", /attentionMask\[1\] must be 1 .*, got NaN$/],
    [[[1, 1], [1]], "ShapeError", /attentionMask\[1\] must be a list as long as attentionMask\[0\], got \[1\] and/],
    [[[1, 1], 1], "ShapeError", /attentionMask\[1\] must be a list as long as attentionMask\[0\], got 1 and/],
    [{ data: [1, 1], shape: [3] }, "ShapeError", /data\.length must be the product of shape \[3\], got 2 and 3$/],
    [{ data: [1], shape: [1, 1, 1] }, "ShapeError", /attentionMask\.shape must be \[B, S\] or \[S\], got \[1, 1, 1\]$/],
    [{ data: [1], shape: [-1] }, "ShapeError", /attentionMask\.shape\[0\] must be an integer from 0 /],
    [{ data: [1] }, "OptionError", /attentionMask must be a list or a tensor, got an object with data$/],
    [null, "OptionError", /attentionMask must be a list or a tensor, got null$/],
    ["1 1 0", "OptionError", /attentionMask must be a list or a tensor, got "1 1 0"$/],
  ])("refuses %p", (mask, name, message) => {
    const error = thrownBy(() => maskFromTokenizer(mask as TokenizerMask));
    expect([error.name, error.message]).toEqual([name, expect.stringMatching(message)]);
    expect(error.message).toMatch(/^maskFromTokenizer: /);
  });

  test("refuses a list of holes at its first, however long it is", () => {
    const holes = new Array<number>(2 ** 32 - 1);
    const error = thrownBy(() => maskFromTokenizer(holes));
    expect(error.message).toBe("maskFromTokenizer: attentionMask[0] must be 1 (token) or 0 (padding), got undefined");
  });

  test("says of an array without memory that it had none when the call was made", () => {
    const gone = Int32Array.of(1, 1);
    structuredClone(gone.buffer, { transfer: [gone.buffer] });
    const error = thrownBy(() => maskFromTokenizer(gone));
    expect(error.message).toBe(
      "maskFromTokenizer: the memory of attentionMask was transferred, shrunk or detached when the call was made",
    );
  });

  test("says of token ids that they are not the mask", () => {
    expect(thrownBy(() => maskFromTokenizer([101, 102])).hint).toMatch(/attention_mask, not its input_ids/);
  });
});

describe("masks that say what is hidden", () => {
  test("hiddenKeys are shown where they are false", () => {
    expect(maskFromHiddenKeys(bool([0, 0, 1, 0, 1, 2], [2, 3]))).toEqual(bool([1, 1, 0, 1, 0, 0], [2, 1, 1, 3]));
    expect(maskFromHiddenKeys(bool([0, 1], [2])).shape).toEqual([1, 1, 1, 2]);
  });

  test("hiddenPairs become visible where they are false, for all heads or for each", () => {
    expect(maskFromHiddenPairs(bool([0, 1, 1, 0], [2, 2]))).toEqual(bool([1, 0, 0, 1], [1, 1, 2, 2]));
    expect(maskFromHiddenPairs(bool(Array<number>(24).fill(0), [6, 2, 2]), 3).shape).toEqual([2, 3, 2, 2]);
  });

  test("numbers and other shapes are refused", () => {
    expect(() => maskFromHiddenKeys(randomTensor(1, [2]) as never)).toThrow(/hiddenKeys must be of dtype bool/);
    expect(() => maskFromHiddenKeys(bool([1], [1, 1, 1]))).toThrow(/shape must be \[B, S\] or \[S\]/);
    expect(() => maskFromHiddenPairs(bool([1, 1], [2]))).toThrow(/shape must be \[Sq, Skv\]/);
    expect(() => maskFromHiddenPairs(bool([1, 1], [2, 1, 1]), 3)).toThrow(/got \[2, 1, 1\] and numHeads 3/);
    expect(() => maskFromHiddenPairs(bool([1], [1, 1, 1]), 0)).toThrow(/numHeads must be an integer of at least 1/);
  });

  test.each([maskFromHiddenKeys, maskFromHiddenPairs])(
    "%p sends a tokenizer's integers to maskFromTokenizer",
    (mask) => {
      const error = thrownBy(() => mask({ data: Int32Array.of(1, 1, 0), shape: [1, 3] } as never));
      expect(error.hint).toMatch(/attention_mask of a tokenizer, 1 = token, goes to maskFromTokenizer/);
    },
  );
});

describe("combineMasks", () => {
  test("shows what every mask shows, and broadcasts shapes from the right", () => {
    const padding = maskFromTokenizer([
      [1, 1, 0],
      [1, 0, 0],
    ]);
    const causal = bool([1, 0, 0, 1, 1, 0, 1, 1, 1], [3, 3]);
    const both = combineMasks(padding, causal);
    expect(both).toEqual(bool([1, 0, 0, 1, 1, 0, 1, 1, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0], [2, 1, 3, 3]));
    expect(combineMasks(causal, padding)).toEqual(both);
    const rows = bool([0, 1, 1], [3, 1]);
    expect(combineMasks(rows, causal, bool([1], [1]), bool([1], []))).toEqual(
      bool([0, 0, 0, 1, 1, 0, 1, 1, 1], [3, 3]),
    );
  });

  test("gives what a call with one mask after the other gives", async () => {
    const hw = await createAttention({ backend: "wasm", threads: 1 });
    const x = randomTensor(1, [2, 2, 3, 4]);
    const heads = bool([1, 0, 1, 1, 1, 1], [2, 1, 3]);
    const mask = combineMasks(maskFromTokenizer([1, 1, 0]), heads);
    const combined = await hw.scaledDotProductAttention(x, x, x, { mask });
    const asLengths = await hw.scaledDotProductAttention(x, x, x, { mask: heads, keyLengths: [2, 2] });
    expect(bits(combined)).toEqual(bits(asLengths));
    hw.dispose();
  });

  test("leaves out null and undefined, copies, and takes integers", () => {
    const data = Uint8Array.of(1, 0);
    const one = combineMasks(null, { data, shape: [2] }, undefined);
    data.fill(1);
    expect(one).toEqual(bool([1, 0], [2]));
    expect(combineMasks({ data: Int32Array.of(0, 1), shape: [2] }, [true, true])).toEqual(bool([0, 1], [2]));
    expect(combineMasks(tensor(Int32Array.of(0, 1), [2]), [true, true])).toEqual(bool([0, 1], [2]));
    expect(combineMasks({ data: new Uint8Array(0), shape: [2 ** 31 - 1, 0] }).shape).toEqual([2 ** 31 - 1, 0]);
  });

  test.each<[string, () => unknown, string]>([
    ["no mask", () => combineMasks(null), "combineMasks: masks must hold at least one mask, got [null]"],
    [
      "shapes that do not fit",
      () => combineMasks(bool([1, 1], [2]), bool([1, 1, 1], [3])),
      "combineMasks: masks[1].shape must broadcast to [2], the shape of the masks before it, got [3]",
    ],
    [
      "numbers that are added to scores",
      () => combineMasks(tensor([0, -1e9], [2]) as never),
      "combineMasks: masks[0] must",
    ],
  ])("refuses %s", (_, run, message) => {
    expect((thrownBy(run) as Error).message).toContain(message);
  });
});
