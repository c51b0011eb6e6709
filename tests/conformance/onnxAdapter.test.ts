import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createAttention, DisposedError, HeadwiseError, type Attention, type EngineTensor } from "headwise";
import { attention, rotaryEmbedding, softmax, type AttentionInputs } from "headwise/onnx";

import { word } from "../web/cases.js";
import { float32Of } from "../web/close.js";

/** What the published cases leave open: windows, short masks, mixed types, double softmax, and who is refused. */
let hw: Attention;
beforeAll(async () => {
  hw = await createAttention({ backend: "wasm", threads: 1 });
});
afterAll(() => hw.dispose());

function numbers(stream: number, ...shape: number[]) {
  const length = shape.reduce((product, extent) => product * extent, 1);
  return { data: Float32Array.from({ length }, (_, k) => (word(5, stream, k) >>> 8) / 2 ** 23 - 1), shape };
}

const inputs = (S = 4, K = 6) =>
  ({
    Q: numbers(1, 2, 2, S, 8),
    K: numbers(2, 2, 2, K, 8),
    V: numbers(3, 2, 2, K, 8),
  }) satisfies AttentionInputs;

/** Which keys each query sees, from the scores with −∞ where hidden: one string a row. */
async function seen(given: AttentionInputs, attributes: object, opset: number): Promise<string[]> {
  const { qk_matmul_output } = await attention(hw, given, { ...attributes, qk_matmul_output_mode: 2 }, { opset });
  const T = qk_matmul_output!.shape[3]!;
  const rows = Array.from({ length: qk_matmul_output!.shape[2]! }, (_, i) =>
    [...float32Of(qk_matmul_output!).subarray(i * T, (i + 1) * T)].map((s) => (s === -Infinity ? "." : "x")).join(""),
  );
  return rows;
}

async function refusal(promise: Promise<unknown>): Promise<string> {
  const reason: unknown = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!HeadwiseError.is(reason)) throw new Error(`expected a HeadwiseError, got ${String(reason)}`);
  return `${reason.name} ${reason.message}`;
}

describe("Attention: positions", () => {
  test("causal counts from 0 without a cache, also when the lengths differ", async () => {
    expect(await seen(inputs(), { is_causal: 1 }, 23)).toEqual(["x.....", "xx....", "xxx...", "xxxx.."]);
  });

  test("causal counts from the past's length", async () => {
    const past = { past_key: numbers(4, 2, 2, 3, 8), past_value: numbers(5, 2, 2, 3, 8) };
    expect(await seen({ ...inputs(2, 2), ...past }, { is_causal: 1 }, 23)).toEqual(["xxxx.", "xxxxx"]);
  });

  test("causal counts from nonpad_kv_seqlen − S, and leading rows see nothing where that is negative", async () => {
    const nonpad = (length: number) => ({ nonpad_kv_seqlen: { data: [length, 6], shape: [2] } });
    expect(await seen({ ...inputs(), ...nonpad(5) }, { is_causal: 1 }, 24)).toEqual([
      "xx....",
      "xxx...",
      "xxxx..",
      "xxxxx.",
    ]);
    expect(await seen({ ...inputs(), ...nonpad(3) }, { is_causal: 1 }, 24)).toEqual([
      "......",
      "x.....",
      "xx....",
      "xxx...",
    ]);
  });

  test("nonpad_kv_seqlen alone hides the padding of each batch entry", async () => {
    const nonpad_kv_seqlen = { data: BigInt64Array.of(2n, 5n), shape: [2] };
    expect(await seen({ ...inputs(), nonpad_kv_seqlen }, {}, 24)).toEqual(Array(4).fill("xx...."));
  });

  test("windows reach left and right of a query's position, and −1 is unbounded", async () => {
    expect(await seen(inputs(), { left_window_size: 1, right_window_size: 0 }, 25)).toEqual([
      "x.....",
      "xx....",
      ".xx...",
      "..xx..",
    ]);
    expect(await seen(inputs(), { left_window_size: -1, right_window_size: 2 }, 25)).toEqual([
      "xxx...",
      "xxxx..",
      "xxxxx.",
      "xxxxxx",
    ]);
  });

  test("windows move with the past, and causal still hides the future", async () => {
    const past = { past_key: numbers(4, 2, 2, 3, 8), past_value: numbers(5, 2, 2, 3, 8) };
    const attributes = { left_window_size: 1, right_window_size: 1 };
    expect(await seen({ ...inputs(2, 2), ...past }, attributes, 25)).toEqual(["..xxx", "...xx"]);
    expect(await seen({ ...inputs(2, 2), ...past }, { ...attributes, is_causal: 1 }, 25)).toEqual(["..xx.", "...xx"]);
  });
});

describe("tensors of ONNX Runtime, whose shape is named dims", () => {
  const theirs = <T extends { readonly data: unknown; readonly shape: readonly number[] }>({ data, shape }: T) =>
    ({ data, dims: shape }) as { readonly data: T["data"]; readonly dims: readonly number[] };

  test("are inputs of Attention, its mask and lengths included", async () => {
    const { Q, K, V } = inputs();
    const attn_mask = { data: Uint8Array.of(1, 0, 1, 1), shape: [1, 4] };
    const nonpad_kv_seqlen = { data: BigInt64Array.of(3n, 6n), shape: [2] };
    const given = { Q: theirs(Q), K: theirs(K), V: theirs(V) };
    const options = { attn_mask: theirs(attn_mask), nonpad_kv_seqlen: theirs(nonpad_kv_seqlen) };
    expect(await attention(hw, { ...given, ...options })).toEqual(
      await attention(hw, { Q, K, V, attn_mask, nonpad_kv_seqlen }),
    );
  });

  test("are inputs of RotaryEmbedding, its positions included", async () => {
    const [X, cos_cache, sin_cache] = [numbers(1, 1, 2, 3, 4), numbers(2, 5, 2), numbers(3, 5, 2)];
    const position_ids = { data: BigInt64Array.of(4n, 0n, 2n), shape: [1, 3] };
    const given = { X: theirs(X), cos_cache: theirs(cos_cache), sin_cache: theirs(sin_cache) };
    expect(await rotaryEmbedding(hw, { ...given, position_ids: theirs(position_ids) })).toEqual(
      await rotaryEmbedding(hw, { X, cos_cache, sin_cache, position_ids }),
    );
  });
});

describe("Attention: masks", () => {
  test("a boolean mask shorter than the keys hides the rest", async () => {
    const attn_mask = { data: Uint8Array.of(1, 0, 1, 1), shape: [1, 4] };
    expect(await seen({ ...inputs(), attn_mask }, {}, 23)).toEqual(Array(4).fill("x.xx.."));
  });

  test("a float mask shorter than the keys hides the rest, in float32 and float16", async () => {
    const float32 = { data: Float32Array.of(0, -Infinity, 1), shape: [3] };
    const float16 = { data: Uint16Array.of(0, 0xfc00, 0x3c00), shape: [3] };
    for (const attn_mask of [float32, float16])
      expect(await seen({ ...inputs(), attn_mask }, {}, 23)).toEqual(Array(4).fill("x.x..."));
  });

  test("plain lists and any array are booleans when their dtype says so", async () => {
    for (const data of [[1, 0, 1, 1], Int32Array.of(1, 0, 1, 1), Uint8Array.of(1, 0, 1, 1)])
      expect(await seen({ ...inputs(4, 4), attn_mask: { data, shape: [4], dtype: "bool" } }, {}, 23)).toEqual(
        Array(4).fill("x.xx"),
      );
  });

  test("plain booleans are booleans, without a dtype too", async () => {
    const attn_mask = { data: [true, false, true, true], shape: [4] };
    expect(await seen({ ...inputs(4, 4), attn_mask }, {}, 23)).toEqual(Array(4).fill("x.xx"));
  });

  test("any number but 0 is true", async () => {
    const attn_mask = { data: Int32Array.of(256, 0, -1, 1), shape: [4], dtype: "bool" };
    expect(await seen({ ...inputs(4, 4), attn_mask }, {}, 23)).toEqual(Array(4).fill("x.xx"));
  });

  test("bfloat16 is a type of its own among the arrays of 16 bits", async () => {
    const attn_mask = (data: Uint16Array | Float32Array, dtype: string) => ({ data, shape: [4], dtype });
    const Y = async (mask: ReturnType<typeof attn_mask>) =>
      (await attention(hw, { ...inputs(4, 4), attn_mask: mask })).Y.data;
    expect(await Y(attn_mask(Uint16Array.of(0, 0xff80, 0x3f80, 0xc000), "bfloat16"))).toEqual(
      await Y(attn_mask(Float32Array.of(0, -Infinity, 1, -2), "float32")),
    );
    expect(await Y(attn_mask(Uint16Array.of(0, 3, 1, 2), "uint16"))).toEqual(
      await Y(attn_mask(Float32Array.of(0, 3, 1, 2), "float32")),
    );
  });

  test("of ONNX Runtime are booleans or numbers as their type says", async () => {
    const data = Uint8Array.of(1, 0, 1, 1);
    const of = (type: string) => ({ ...inputs(4, 4), attn_mask: { data, dims: [4], type } });
    expect(await seen(of("bool"), {}, 23)).toEqual(Array(4).fill("x.xx"));
    expect(await seen(of("uint8"), {}, 23)).toEqual(Array(4).fill("xxxx"));
  });

  test("numbers of any type are added to the scores", async () => {
    const plain = await attention(hw, inputs(), { qk_matmul_output_mode: 2 }, { opset: 23 });
    for (const data of [
      Int32Array.of(1, 0, 0, 0, 0, 0),
      [1, 0, 0, 0, 0, 0],
      BigInt64Array.of(1n, 0n, 0n, 0n, 0n, 0n),
    ]) {
      const attn_mask = { data, shape: [6] };
      const { qk_matmul_output } = await attention(hw, { ...inputs(), attn_mask }, { qk_matmul_output_mode: 2 });
      expect(qk_matmul_output!.data[0]).toBeCloseTo(plain.qk_matmul_output!.data[0]! + 1, 5);
      expect(qk_matmul_output!.data[1]).toBe(plain.qk_matmul_output!.data[1]);
    }
  });
});

describe("Attention: outputs", () => {
  test("raw scores cover every key, also those that padding hides", async () => {
    const all = await attention(hw, inputs());
    const nonpad_kv_seqlen = { data: Int32Array.of(2, 3), shape: [2] };
    const { qk_matmul_output } = await attention(hw, { ...inputs(), nonpad_kv_seqlen }, {}, { opset: 24 });
    expect(qk_matmul_output!.data).toEqual(all.qk_matmul_output!.data);
  });

  test("qk_matmul_output can be left out", async () => {
    const { Y, qk_matmul_output } = await attention(hw, inputs(), {}, { qkMatmulOutput: false });
    expect(qk_matmul_output).toBeUndefined();
    expect(Y.data).toEqual((await attention(hw, inputs())).Y.data);
  });

  test("present outputs are the caller's own, the inputs stay as they are", async () => {
    const given = inputs();
    const { present_key } = await attention(hw, given);
    float32Of(present_key).fill(0);
    expect(given.K.data).toEqual(inputs().K.data);
  });

  test("packed 3-D inputs give what 4-D inputs give", async () => {
    const { Q, K, V } = inputs();
    const pack = ({ data, shape }: { data: ArrayLike<number>; shape: readonly number[] }) => {
      const [B, H, S, D] = shape as [number, number, number, number];
      const packed = Float32Array.from({ length: data.length }, (_, k) => {
        const [b, s, h, d] = [Math.floor(k / (S * H * D)), Math.floor(k / (H * D)) % S, Math.floor(k / D) % H, k % D];
        return data[((b * H + h) * S + s) * D + d]!;
      });
      return { data: packed, shape: [B, S, H * D] };
    };
    const full = await attention(hw, { Q, K, V }, { is_causal: 1 });
    const packed = await attention(
      hw,
      { Q: pack(Q), K: pack(K), V: pack(V) },
      { is_causal: 1, q_num_heads: 2, kv_num_heads: 2 },
    );
    expect(packed.Y).toEqual({ ...pack(full.Y), dtype: "float32" });
    expect(packed.present_key).toEqual(full.present_key);
  });

  test("softmax_precision double agrees with float32 to float32's precision, in every mode", async () => {
    for (const qk_matmul_output_mode of [0, 1, 2, 3]) {
      const attributes = { qk_matmul_output_mode, softcap: 0.5, is_causal: 1 };
      const single = await attention(hw, inputs(), { ...attributes, softmax_precision: 1 });
      const double = await attention(hw, inputs(), { ...attributes, softmax_precision: 11 });
      for (const name of ["Y", "qk_matmul_output"] as const)
        float32Of(single[name]!).forEach((x, k) => {
          if (Number.isFinite(x)) expect(double[name]!.data[k]).toBeCloseTo(x, 6);
          else expect(double[name]!.data[k]).toBe(x);
        });
    }
  });

  test("V may be float16 beside float32 Q and K: Y has the type of Q", async () => {
    const { Q, K, V } = inputs();
    const halves = { data: new Uint16Array(V.data.length).fill(0x3c00), shape: V.shape };
    const { Y, present_value } = await attention(hw, { Q, K, V: halves });
    expect([Y.dtype, present_value.dtype]).toEqual(["float32", "float16"]);
    for (const y of float32Of(Y)) expect(y).toBeCloseTo(1, 6);
  });
});

const Float16 = (globalThis as { Float16Array?: new (length: number) => Float16Array }).Float16Array;

const without = Float16 ? "" : " (skipped: this engine has no Float16Array; Node 24 has)";

(Float16 ? test : test.skip)(
  `results come in the kind of array that the inputs have: Float16Array for Float16Array${without}`,
  async () => {
    const half = (...shape: number[]) => ({ data: new Float16!(shape.reduce((n, x) => n * x, 1)).fill(1), shape });
    const { Y, present_key } = await attention(hw, { Q: half(1, 1, 2, 8), K: half(1, 1, 3, 8), V: half(1, 1, 3, 8) });
    expect(Object.prototype.toString.call(present_key.data)).toBe("[object Float16Array]");
    expect(Y.data).toEqual(new Float16!(16).fill(1));
  },
);

describe("what the operators refuse", () => {
  const rotaryInputs = {
    X: numbers(1, 1, 2, 3, 8),
    cos_cache: numbers(2, 1, 3, 4),
    sin_cache: numbers(3, 1, 3, 4),
  };
  const rotary = (change: object, options: object = {}, attributes: object = {}) =>
    rotaryEmbedding(hw, { ...rotaryInputs, ...change }, attributes, options);

  const cases: [string, () => Promise<unknown>, RegExp][] = [
    [
      "an opset before the operator",
      () => attention(hw, inputs(), {}, { opset: 22 }),
      /Unsupported.*Attention: opset.*23.*22/,
    ],
    [
      "an input that came later",
      () => attention(hw, { ...inputs(), nonpad_kv_seqlen: { data: [1, 1], shape: [2] } }, {}, { opset: 23 }),
      /Option.*nonpad_kv_seqlen.*24.*23/,
    ],
    [
      "an attribute that came later",
      () => attention(hw, inputs(), { left_window_size: 1 }, { opset: 24 }),
      /left_window_size.*25.*24/,
    ],
    [
      "a misspelt attribute",
      () => attention(hw, inputs(), { is_casual: 1 } as never),
      /Option.*Attention: unknown attribute "is_casual"; did you mean "is_causal"\?$/,
    ],
    [
      "a misspelt input",
      () => attention(hw, { ...inputs(), mask: inputs().Q } as never),
      /Option.*Attention: unknown input "mask"; did you mean "attn_mask"\?$/,
    ],
    ["a missing input", () => attention(hw, { ...inputs(), V: undefined } as never), /inputs\.V is required/],
    [
      "packed inputs without head counts",
      () => attention(hw, { Q: numbers(1, 1, 2, 8), K: numbers(2, 1, 2, 8), V: numbers(3, 1, 2, 8) }),
      /q_num_heads.*3-D/,
    ],
    [
      "head counts that do not divide",
      () =>
        attention(
          hw,
          { Q: numbers(1, 1, 2, 8), K: numbers(2, 1, 2, 8), V: numbers(3, 1, 2, 8) },
          { q_num_heads: 3, kv_num_heads: 1 },
        ),
      /Shape.*q_num_heads must divide Q\.shape\[2\], got 3 and 8/,
    ],
    ["a mode of 4", () => attention(hw, inputs(), { qk_matmul_output_mode: 4 }), /qk_matmul_output_mode.*4/],
    [
      "a mode of 4, also of an output that is left out",
      () => attention(hw, inputs(), { qk_matmul_output_mode: 4 }, { qkMatmulOutput: false }),
      /qk_matmul_output_mode.*4/,
    ],
    [
      "a mask of a type that ONNX does not have",
      () => attention(hw, { ...inputs(), attn_mask: { data: Uint8Array.of(1), shape: [1], dtype: "boolean" } }),
      /Option.*attn_mask\.dtype must be "bool" or one of float16.*, got "boolean"/,
    ],
    [
      "lengths of a type that holds no integers",
      () =>
        attention(hw, { ...inputs(), nonpad_kv_seqlen: { data: Int32Array.of(2, 3), shape: [2], dtype: "float32" } }),
      /Option.*nonpad_kv_seqlen\.dtype must be one of int8, .*, uint64, got "float32"/,
    ],
    [
      "a mask of booleans and numbers",
      () => attention(hw, { ...inputs(), attn_mask: { data: [true, -5] as never, shape: [2] } }),
      /Option.*attn_mask\.data must hold either booleans or numbers, got true at 0 and -5 at 1/,
    ],
    ["a softmax precision of int8", () => attention(hw, inputs(), { softmax_precision: 3 }), /softmax_precision.*3/],
    ["a window below −1", () => attention(hw, inputs(), { left_window_size: -2 }), /left_window_size.*-2/],
    ["a scale of NaN", () => attention(hw, inputs(), { scale: NaN }), /scale.*NaN/],
    [
      "one of the two pasts",
      () => attention(hw, { ...inputs(), past_key: numbers(4, 2, 2, 3, 8) }),
      /past_key and past_value/,
    ],
    [
      "a past of other heads",
      () => attention(hw, { ...inputs(), past_key: numbers(4, 2, 3, 3, 8), past_value: numbers(5, 2, 3, 3, 8) }),
      /Shape.*past_key must be float32 \[2, 2, past length, 8\]/,
    ],
    [
      "both kinds of cache",
      () =>
        attention(hw, {
          ...inputs(),
          past_key: numbers(4, 2, 2, 3, 8),
          past_value: numbers(5, 2, 2, 3, 8),
          nonpad_kv_seqlen: { data: [9, 9], shape: [2] },
        }),
      /nonpad_kv_seqlen and past_key/,
    ],
    ["ranks that differ", () => attention(hw, { ...inputs(), K: numbers(2, 2, 6, 16) }), /Shape.*K must have rank 4/],
    [
      "a mask that does not broadcast",
      () => attention(hw, { ...inputs(), attn_mask: numbers(4, 3, 6) }),
      /Shape.*\[3, 6\]/,
    ],
    [
      "a rotary cache of another width",
      () =>
        rotaryEmbedding(hw, {
          X: numbers(1, 1, 2, 3, 8),
          cos_cache: numbers(2, 1, 3, 3),
          sin_cache: numbers(3, 1, 3, 3),
        }),
      /cos_cache.*\[1, 3, 4\]/,
    ],
    [
      "4-D rotary input of other heads",
      () =>
        rotaryEmbedding(
          hw,
          { X: numbers(1, 1, 2, 3, 8), cos_cache: numbers(2, 1, 3, 4), sin_cache: numbers(3, 1, 3, 4) },
          { num_heads: 4 },
        ),
      /num_heads must be X\.shape\[1\], got 4 and 2/,
    ],
    [
      "more keys than there are",
      () => attention(hw, { ...inputs(), nonpad_kv_seqlen: { data: [6, 7], shape: [2] } }),
      /Option.*nonpad_kv_seqlen\.data\[1\] must be an integer from 0 to 6, got 7/,
    ],
    [
      "negative lengths",
      () => attention(hw, { ...inputs(), nonpad_kv_seqlen: { data: BigInt64Array.of(1n, -1n), shape: [2] } }),
      /nonpad_kv_seqlen\.data\[1\].*-1n/,
    ],
    [
      "lengths that are no numbers",
      () => attention(hw, { ...inputs(), nonpad_kv_seqlen: { data: [1, Symbol("1")] as never, shape: [2] } }),
      /Option.*nonpad_kv_seqlen\.data\[1\] must be a number.*a symbol/,
    ],
    [
      "a mask of texts",
      () => attention(hw, { ...inputs(), attn_mask: { data: ["0", 1] as never, shape: [2] } }),
      /Option.*attn_mask\.data\[0\].*"0"/,
    ],
    [
      "a mask that does not broadcast, by its name",
      () => attention(hw, { ...inputs(), attn_mask: numbers(4, 3, 1, 6) }),
      /Shape.*attn_mask\.shape must broadcast to .*\[2, 2, 4, 6\].*got \[3, 1, 6\]/,
    ],
    [
      "a mask longer than the keys",
      () => attention(hw, { ...inputs(), attn_mask: numbers(4, 7) }),
      /attn_mask\.shape.*got \[7\]/,
    ],
    ["a mask of rank 5", () => attention(hw, { ...inputs(), attn_mask: numbers(4, 1, 1, 1, 1, 6) }), /attn_mask.*rank/],
    [
      "a negative softcap",
      () => attention(hw, inputs(), { softcap: -1 }),
      /attributes\.softcap must be at least 0.*-1/,
    ],
    ["is_causal of 2", () => attention(hw, inputs(), { is_causal: 2 }), /attributes\.is_causal must be 0 or 1, got 2/],
    [
      "is_causal of null",
      () => attention(hw, inputs(), { is_causal: null } as never),
      /is_causal must be 0 or 1, got null/,
    ],
    [
      "a softmax precision of null",
      () => attention(hw, inputs(), { softmax_precision: null } as never),
      /softmax_precision.*null/,
    ],
    [
      "other batches of K",
      () => attention(hw, { ...inputs(), K: numbers(2, 3, 2, 6, 8) }),
      /Shape.*K\.shape\[0\] must equal Q\.shape\[0\], got 3 and 2/,
    ],
    [
      "other heads of V",
      () => attention(hw, { ...inputs(), V: numbers(2, 2, 1, 6, 8) }),
      /V\.shape\[1\] must equal K\.shape\[1\], got 1 and 2/,
    ],
    [
      "another length of V",
      () => attention(hw, { ...inputs(), V: numbers(2, 2, 2, 5, 8) }),
      /V\.shape\[2\] must equal K\.shape\[2\], got 5 and 6/,
    ],
    [
      "another width of K",
      () => attention(hw, { ...inputs(), K: numbers(2, 2, 2, 6, 7) }),
      /K\.shape\[3\] must equal Q\.shape\[3\], got 7 and 8/,
    ],
    [
      "key heads that do not divide those of the queries",
      () => attention(hw, { Q: numbers(1, 1, 3, 4, 8), K: numbers(2, 1, 2, 4, 8), V: numbers(3, 1, 2, 4, 8) }),
      /K\.shape\[1\] must divide Q\.shape\[1\], got 2 and 3/,
    ],
    [
      "packed heads of other widths",
      () =>
        attention(
          hw,
          { Q: numbers(1, 1, 4, 16), K: numbers(2, 1, 4, 12), V: numbers(3, 1, 4, 12) },
          { q_num_heads: 2, kv_num_heads: 2 },
        ),
      /K\.shape\[2\] \/ kv_num_heads must equal Q\.shape\[2\] \/ q_num_heads, got 6 and 8/,
    ],
    [
      "packed head counts that do not divide each other",
      () =>
        attention(
          hw,
          { Q: numbers(1, 1, 4, 24), K: numbers(2, 1, 4, 16), V: numbers(3, 1, 4, 16) },
          { q_num_heads: 3, kv_num_heads: 2 },
        ),
      /kv_num_heads must divide q_num_heads, got 2 and 3/,
    ],
    [
      "heads of no width",
      () => attention(hw, { ...inputs(), Q: numbers(1, 2, 2, 4, 0), K: numbers(1, 2, 2, 6, 0) }),
      /Q\.shape\[3\] must be at least 1, got 0/,
    ],
    [
      "a past of two lengths",
      () => attention(hw, { ...inputs(), past_key: numbers(4, 2, 2, 3, 8), past_value: numbers(5, 2, 2, 2, 8) }),
      /Shape.*past_value\.shape\[2\] must equal past_key\.shape\[2\], got 2 and 3/,
    ],
    [
      "doubles",
      () => attention(hw, { ...inputs(), Q: { data: new Float64Array(128), shape: [2, 2, 4, 8] } } as never),
      /Option.*Q\.data must be a Float32Array or Uint16Array or Float16Array, got a Float64Array/,
    ],
    [
      "a misspelt option",
      () => attention(hw, inputs(), {}, { opsett: 23 } as never),
      /unknown option "opsett".*"opset"\?/,
    ],
    ["a misspelt option of RotaryEmbedding", () => rotary({}, { opsett: 23 }), /Option.*opsett.*"opset"\?/],
    [
      "a misspelt option of Softmax",
      () => softmax(hw, { input: numbers(1, 2) }, {}, { opsett: 13 } as never),
      /opsett/,
    ],
    [
      "options of null",
      () => attention(hw, inputs(), {}, null as never),
      /Option.*options must be an object, got null/,
    ],
    ["attributes of null", () => attention(hw, inputs(), null as never), /attributes must be an object, got null/],
    ["inputs of null", () => attention(hw, null as never), /inputs must be an object, got null/],
    ["an opset that is no number", () => attention(hw, inputs(), {}, { opset: "23" } as never), /opset.*integer.*"23"/],
    [
      "an output that is neither wanted nor not",
      () => attention(hw, inputs(), {}, { qkMatmulOutput: 1 } as never),
      /qkMat/,
    ],
    [
      "no instance",
      () => attention(undefined as never, inputs()),
      /Option.*first argument must be an instance.*undefined/,
    ],
    ["another's instance", () => rotaryEmbedding({} as never, rotaryInputs), /first argument must be an instance/],
    ["an odd head to turn", () => rotary({ X: numbers(1, 1, 2, 3, 7) }), /Shape.*X\.shape\[3\] must be even.*got 7/],
    [
      "more features than there are",
      () => rotary({}, {}, { rotary_embedding_dim: 10 }),
      /attributes\.rotary_embedding_dim must be even and at most 8, got 10/,
    ],
    [
      "positions beyond the caches",
      () =>
        rotary({
          cos_cache: numbers(2, 5, 4),
          sin_cache: numbers(3, 5, 4),
          position_ids: { data: [0, 4, 5], shape: [1, 3] },
        }),
      /Option.*position_ids\.data\[2\] must be an integer from 0 to 4, got 5/,
    ],
    [
      "caches of two lengths",
      () =>
        rotary({
          cos_cache: numbers(2, 5, 4),
          sin_cache: numbers(3, 4, 4),
          position_ids: { data: [0, 1, 2], shape: [1, 3] },
        }),
      /Shape.*sin_cache\.shape\[0\] must equal cos_cache\.shape\[0\], got 4 and 5/,
    ],
    ["a name of the core", () => attention(hw, { ...inputs(), mask: numbers(1, 6) } as never), /"mask".*"attn_mask"\?/],
    ["an option of the core", () => attention(hw, inputs(), { causal: true } as never), /"causal".*"is_causal"\?/],
    ["a softmax axis beyond the rank", () => softmax(hw, { input: numbers(1, 2, 3) }, { axis: 2 }), /axis.*2/],
  ];

  test.each(cases)("%s", async (_what, call, message) => {
    const said = await refusal(call());
    expect(said).toMatch(message);
    expect(said).toMatch(/^\w+ (Attention|RotaryEmbedding|Softmax): /);
    expect(said).not.toMatch(/\b(query|key|value|bias|keyLengths|queryOffset|numKvHeads|positions\[|rotaryDim)\b/);
  });
});

test("the hint on an unknown name says which inputs or attributes there are", async () => {
  const hintOf = (call: Promise<unknown>) => call.catch((error: HeadwiseError) => error.hint);
  expect(await hintOf(softmax(hw, { input: numbers(1, 2), z: 1 } as never))).toMatch(/^Known inputs: input\./);
  expect(await hintOf(softmax(hw, { input: numbers(1, 2) }, { z: 1 } as never))).toMatch(/^Known attributes: axis\./);
});

describe("inputs in the engine's memory", () => {
  const S = 3;
  type Tensors = Record<string, Pick<EngineTensor, "data" | "shape">>;
  type Operator = readonly [name: string, shapes: Readonly<Record<string, Inside>>, run: (given: Tensors) => unknown];
  type Inside = readonly [shape: readonly number[], dtype?: "int32" | "bool" | "float16"];
  const head: Inside = [[1, 1, S, 4]];
  const operators: readonly Operator[] = [
    [
      "Attention",
      { Q: head, K: head, V: head, past_key: head, past_value: head, attn_mask: [[S, 2 * S], "bool"] },
      (given) => attention(hw, given as never),
    ],
    [
      "Attention",
      { Q: head, K: head, V: head, attn_mask: [[S, S], "float16"], nonpad_kv_seqlen: [[1], "int32"] },
      (given) => attention(hw, given as never),
    ],
    [
      "RotaryEmbedding",
      { X: head, cos_cache: [[5, 2]], sin_cache: [[5, 2]], position_ids: [[1, S], "int32"] },
      (given) => rotaryEmbedding(hw, given as never),
    ],
    ["Softmax", { input: head }, (given) => softmax(hw, given as never)],
  ];
  const cases = operators.flatMap(([operator, shapes, run]) =>
    Object.keys(shapes).map((input) => [operator, input, shapes, run] as const),
  );

  test.each(cases)(
    "%s: a view kept of %s is refused once its tensor is disposed",
    async (operator, input, shapes, run) => {
      const tensors = Object.fromEntries(
        Object.entries(shapes).map(([name, [shape, dtype]]) => [name, hw.allocate(shape, dtype)]),
      );
      const views: Tensors = Object.fromEntries(
        Object.entries(tensors).map(([name, { data, shape }]) => [name, { data, shape }]),
      );
      await run(views);
      tensors[input]!.dispose();
      const error: unknown = await Promise.resolve(run(views)).catch((thrown: unknown) => thrown);
      const message = `${operator}: ${input}(\\.data)? lies in a tensor that was disposed`;
      expect([DisposedError.is(error), (error as Error).message]).toEqual([
        true,
        expect.stringMatching(`^${message}$`),
      ]);
      for (const tensor of Object.values(tensors)) tensor.dispose();
    },
  );

  test("a disposed instance is refused by every operator's own name", async () => {
    const gone = await createAttention({ backend: "wasm", variant: "simd", threads: 1 });
    gone.dispose();
    for (const call of [
      attention(gone, inputs()),
      rotaryEmbedding(gone, {
        X: numbers(1, 1, 2, 3, 8),
        cos_cache: numbers(2, 1, 3, 4),
        sin_cache: numbers(3, 1, 3, 4),
      }),
    ])
      expect(await refusal(call)).toMatch(/^DisposedError (Attention|RotaryEmbedding): the instance was disposed$/);
  });

  test("any object with the operator's method is an instance, also one without memory of its own", async () => {
    const own = { scaledDotProductAttention: hw.scaledDotProductAttention.bind(hw) };
    expect((await attention(own, inputs())).Y.data).toEqual((await attention(hw, inputs())).Y.data);
    expect((await softmax(undefined as never, { input: numbers(1, 2) })).output.shape).toEqual([2]);
  });
});

describe("Softmax", () => {
  const sums = ({ data, shape }: { data: ArrayLike<number>; shape: readonly number[] }, axis: number) => {
    const inner = shape.slice(axis + 1).reduce((n, x) => n * x, 1);
    const totals = new Map<number, number>();
    Array.from(data).forEach((x, k) => {
      const line = Math.floor(k / (inner * shape[axis]!)) * inner + (k % inner);
      totals.set(line, (totals.get(line) ?? 0) + x);
    });
    return [...totals.values()];
  };

  test("entries along the axis come to sum to 1", async () => {
    for (const axis of [0, 1, 2, 3]) {
      const { output } = await softmax(hw, { input: numbers(1, 2, 3, 4, 5) }, { axis });
      for (const total of sums(output, axis)) expect(total).toBeCloseTo(1, 6);
    }
  });

  test("before opset 13 all axes from the given one on are one", async () => {
    const input = numbers(1, 2, 3, 4);
    const { output } = await softmax(hw, { input }, {}, { opset: 11 });
    const flat = await softmax(hw, { input: { data: input.data, shape: [2, 12] } });
    expect(output).toEqual({ ...flat.output, shape: [2, 3, 4] });
  });

  test("a scalar is 1, an empty array stays empty, float16 stays float16", async () => {
    expect((await softmax(hw, { input: { data: Float32Array.of(7), shape: [] } })).output.data).toEqual(
      Float32Array.of(1),
    );
    expect((await softmax(hw, { input: numbers(1, 3, 0) })).output.shape).toEqual([3, 0]);
    const half = await softmax(hw, { input: { data: new Uint16Array(4), shape: [4] } });
    expect(half.output).toEqual({ data: new Uint16Array(4).fill(0x3400), shape: [4], dtype: "float16" });
  });

  test("very negative and infinite entries do not overflow", async () => {
    const input = { data: Float32Array.of(-1e30, 3e38, -Infinity), shape: [3] };
    expect((await softmax(hw, { input })).output.data).toEqual(Float32Array.of(0, 1, 0));
  });
});
