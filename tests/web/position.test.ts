import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import {
  alibiSlopes,
  createAttention,
  relativePositionBias,
  sinusoidalPositions,
  type Attention,
  type RelativePositionOptions,
  type RotaryScaling,
  type SinusoidalOptions,
  type Tensor,
} from "headwise";
import { setFloat16 } from "@petamoriken/float16";

import { bits, differences, valuesOf } from "./close.js";
import { variants } from "./engines.js";
import { randomTensor } from "./randomTensor.js";
import { thrownBy } from "./thrownBy.js";

const EPSILON = 2 ** -24;

describe("alibiSlopes", () => {
  test("are powers of two for 8 heads", () => {
    expect([...alibiSlopes(8)]).toEqual([1, 2, 3, 4, 5, 6, 7, 8].map((n) => 2 ** -n));
  });

  test("take every other slope of 16 heads to fill up 12", () => {
    const more = [0.5, 1.5, 2.5, 3.5].map((n) => Math.fround(2 ** -n));
    expect([...alibiSlopes(12)]).toEqual([...alibiSlopes(8), ...more]);
  });

  test("of a single head is 1/256", () => expect([...alibiSlopes(1)]).toEqual([1 / 256]));

  test.each([0, -1, 1.5, NaN, "8"])("refuse %p heads", (heads) => {
    expect(() => alibiSlopes(heads as number)).toThrow(
      /^alibiSlopes: numHeads must be an integer from 1 to 1048576, got /,
    );
  });

  test("refuse more heads than any layer has, at once", () => {
    const error = thrownBy(() => alibiSlopes(2 ** 31 - 1));
    expect(error.name).toBe("OptionError");
    expect(error.message).toBe("alibiSlopes: numHeads must be an integer from 1 to 1048576, got 2147483647");
    expect(alibiSlopes(2 ** 20)).toHaveLength(2 ** 20);
  });
});

describe("sinusoidalPositions", () => {
  test.each([1, 6, 7])("interleave sine and cosine over %i features", (dim) => {
    const { data, shape } = sinusoidalPositions(5, dim);
    expect(shape).toEqual([5, dim]);
    for (let s = 0; s < 5; ++s)
      for (let d = 0; d < dim; ++d) {
        const angle = s / 10000 ** ((2 * Math.floor(d / 2)) / dim);
        expect(Math.abs(data[s * dim + d]! - (d % 2 ? Math.cos(angle) : Math.sin(angle)))).toBeLessThanOrEqual(EPSILON);
      }
  });

  test.each([2, 3, 8, 9])("in halves, run from 1 to 1/10000 over %i features", (dim) => {
    const { data } = sinusoidalPositions(5, dim, { split: "halves" });
    const half = Math.floor(dim / 2);
    for (let s = 0; s < 5; ++s) {
      const row = data.subarray(s * dim, (s + 1) * dim);
      for (let m = 0; m < half; ++m) {
        const angle = s * Math.exp((-Math.log(10000) * m) / Math.max(half - 1, 1));
        expect(Math.abs(row[m]! - Math.sin(angle))).toBeLessThanOrEqual(EPSILON);
        expect(Math.abs(row[half + m]! - Math.cos(angle))).toBeLessThanOrEqual(EPSILON);
      }
      if (dim % 2) expect(row[dim - 1]).toBe(0);
    }
  });

  test.each<[number, number, SinusoidalOptions, RegExp]>([
    [-1, 4, {}, /length must be an integer of at least 0, got -1/],
    [1, 0, {}, /dim must be an integer of at least 1, got 0/],
    [1, 4, { split: "half" } as unknown as SinusoidalOptions, /split must be "interleaved" or "halves", got "half"/],
    [1, 4, { base: 0 }, /base must be greater than 0, got 0/],
    [1, 4, { spilt: "halves" } as SinusoidalOptions, /unknown option "spilt"; did you mean "split"\?/],
  ])("refuse length %p, dim %p, options %p", (length, dim, options, message) => {
    expect(() => sinusoidalPositions(length, dim, options)).toThrow(message);
  });
});

describe("tables beyond the memory of any engine", () => {
  const LONGEST = 2 ** 31 - 1;
  const table = { data: new Float32Array(8), shape: [8, 1] };
  const bias = (queryLength: number, keyLength: number) => relativePositionBias(table, { queryLength, keyLength });

  test.each<[string, () => unknown, string]>([
    ["long positions", () => sinusoidalPositions(LONGEST, 1), "sinusoidalPositions: table [2147483647, 1] needs"],
    ["wide positions", () => sinusoidalPositions(1, LONGEST), "sinusoidalPositions: table [1, 2147483647] needs"],
    [
      "many positions",
      () => sinusoidalPositions(2 ** 20, 2 ** 16),
      "sinusoidalPositions: table [1048576, 65536] needs",
    ],
    ["many pairs", () => bias(100_000, 100_000), "relativePositionBias: bias [1, 100000, 100000] needs 40000000000 b"],
    ["many queries", () => bias(LONGEST, 1), "relativePositionBias: bias [1, 2147483647, 1] needs"],
    ["many keys", () => bias(1, LONGEST), "relativePositionBias: bias [1, 1, 2147483647] needs"],
  ])("are out of memory at once: %s", (_, make, message) => {
    const error = thrownBy(make);
    expect(error.name).toBe("OutOfMemoryError");
    expect(error.message).toContain(message);
    expect(error.message).toMatch(/bytes, and no engine has more than 4294967296$/);
  });

  test.each<[string, () => unknown]>([
    ["positions", () => sinusoidalPositions(LONGEST, LONGEST)],
    ["pairs", () => bias(LONGEST, LONGEST)],
  ])("that cannot be counted are ShapeErrors: %s", (_, make) => {
    const error = thrownBy(make);
    expect(error.name).toBe("ShapeError");
    expect(error.message).toMatch(/has more elements than can be counted/);
  });

  test("have no say in tables without numbers", () => {
    expect(sinusoidalPositions(0, LONGEST).data).toHaveLength(0);
    expect(bias(LONGEST, 0).data).toHaveLength(0);
    expect(bias(0, LONGEST).shape).toEqual([1, 0, LONGEST]);
  });
});

describe("relativePositionBias", () => {
  /** A table whose rows hold their own numbers. The bias of a distance is then the number of its bucket. */
  const bucketNumbers = (buckets: number, options: RelativePositionOptions) =>
    relativePositionBias({ data: Float32Array.from({ length: buckets }, (_, n) => n), shape: [buckets, 1] }, options);

  /** Below the first border a distance is its own bucket. At each border the bucket grows by one. */
  const bucket = (magnitude: number, borders: number[]) =>
    magnitude < borders[0]! ? magnitude : borders[0]! - 1 + borders.filter((border) => magnitude >= border).length;

  test("has T5's buckets in both directions", () => {
    const borders = [8, 12, 16, 23, 32, 46, 64, 91]; // ⌈8 · 2^(n/2)⌉
    const { data, shape } = bucketNumbers(32, { queryLength: 200, keyLength: 200 });
    expect(shape).toEqual([1, 200, 200]);
    const expected = data.map((_, k) => {
      const distance = (k % 200) - Math.floor(k / 200);
      return bucket(Math.abs(distance), borders) + (distance > 0 ? 16 : 0);
    });
    expect(data).toEqual(expected);
  });

  test("has T5's buckets of a decoder, from the query's position", () => {
    const borders = Array.from({ length: 16 }, (_, n) => Math.ceil(16 * 2 ** ((3 * n) / 16)));
    const options = { queryLength: 40, keyLength: 300, queryOffset: 260, bidirectional: false };
    const { data } = bucketNumbers(32, options);
    const expected = data.map((_, k) => bucket(Math.max(Math.floor(k / 300) + 260 - (k % 300), 0), borders));
    expect(data).toEqual(expected);
  });

  test("reads a column of the table for each head", () => {
    const table = randomTensor(1, [8, 3]);
    const { data } = relativePositionBias(table, { queryLength: 2, keyLength: 2, maxDistance: 20 });
    const bucketOf = [
      [0, 5],
      [1, 0],
    ]; // distance 1 is 4 + 1, distance −1 is 1
    for (let h = 0; h < 3; ++h)
      for (let i = 0; i < 2; ++i)
        for (let j = 0; j < 2; ++j) expect(data[(h * 2 + i) * 2 + j]).toBe(table.data[bucketOf[i]![j]! * 3 + h]);
  });

  test("of positions is that of their distances, for each batch", () => {
    const table = randomTensor(1, [8, 3]);
    const whole = relativePositionBias(table, { queryLength: 10, keyLength: 10, maxDistance: 20 });
    const queries = { data: Int32Array.of(4, 9, 0, 0), shape: [2, 2] };
    const keys = { data: BigInt64Array.of(1n, 4n, 4n, 9n, 0n, 3n), shape: [2, 3] };
    const { data, shape } = relativePositionBias(table, {
      queryPositions: queries,
      keyPositions: keys,
      maxDistance: 20,
    });
    expect(shape).toEqual([2, 3, 2, 3]);
    for (const [n, value] of data.entries()) {
      const [b, h, i, j] = [Math.floor(n / 18), Math.floor(n / 6) % 3, Math.floor(n / 3) % 2, n % 3];
      const at = (h * 10 + queries.data[b * 2 + i]!) * 10 + Number(keys.data[b * 3 + j]);
      expect(value).toBe(whole.data[at]);
    }
    const lists = relativePositionBias(table, { queryPositions: [4, 9], keyLength: 10, maxDistance: 20 });
    expect(lists.shape).toEqual([3, 2, 10]);
    expect(lists.data.subarray(10, 20)).toEqual(whole.data.subarray(90, 100));
  });

  test("of no queries or no keys is empty", () => {
    const table = randomTensor(1, [8, 3]);
    expect(relativePositionBias(table, { queryLength: 0, keyLength: 4 }).shape).toEqual([3, 0, 4]);
    expect(relativePositionBias(table, { queryLength: 4, keyLength: 0 }).data.length).toBe(0);
  });

  test.each<[number[], object, RegExp]>([
    [[8], { queryLength: 1, keyLength: 1 }, /table.shape must be \[buckets, numHeads\], got \[8\]/],
    [[2, 1], { queryLength: 1, keyLength: 1 }, /table.shape\[0\] must be at least 4 and even, got 2/],
    [[8, 1], { keyLength: 1 }, /queryLength must be given/],
    [[8, 1], { queryPositions: [1], queryLength: 1, keyLength: 1 }, /queryLength must be absent beside queryPositions/],
    [[8, 1], { queryPositions: [0.5], keyLength: 1 }, /queryPositions\[0\] must be an integer/],
    [
      [8, 1],
      {
        queryPositions: { data: new Int32Array(2), shape: [2, 1] },
        keyPositions: { data: new Int32Array(3), shape: [3, 1] },
      },
      /queryPositions and keyPositions must have the same batches, got 2 and 3/,
    ],
    [[8, 1], { queryLength: 1, keyLength: 1, maxDistance: 2 }, /maxDistance must exceed the 2 exact buckets/],
    [
      [8, 1],
      { queryLength: 1, keyLength: 1, maxDistanze: 9 },
      /unknown option "maxDistanze"; did you mean "maxDistance"\?/,
    ],
  ])("refuses a table %p with %p", (shape, options, message) => {
    expect(() => relativePositionBias(randomTensor(1, shape), options as RelativePositionOptions)).toThrow(message);
  });
});

// ---- rotary ----------------------------------------------------------------------------------------------------------

/** The angle of pair m of R features for each position, before scaling. */
const theta = (m: number, R: number, base = 10000) => base ** ((-2 * m) / R);

/** The tensor x [S, D] of one head, turned in double precision: token s by position(s) · angle(m). */
function turned(
  x: Tensor,
  R: number,
  { interleaved = false, amplitude = 1, position = (s: number) => s, angle = (m: number) => theta(m, R) },
): { values: Float64Array; tolerance: Float64Array } {
  const D = x.shape.at(-1)!;
  const values = Float64Array.from(valuesOf(x));
  for (let token = 0; token < values.length / D; ++token)
    for (let m = 0; m < R / 2; ++m) {
      const i = token * D + (interleaved ? 2 * m : m);
      const j = token * D + (interleaved ? 2 * m + 1 : m + R / 2);
      const [a, b] = [values[i]!, values[j]!];
      const [cos, sin] = [Math.cos, Math.sin].map((f) => amplitude * f(position(token) * angle(m))) as [number, number];
      values[i] = a * cos - b * sin;
      values[j] = a * sin + b * cos;
    }
  // cosine, sine, products and their sum are each rounded once; |x| ≤ 1
  return { values, tolerance: values.map(() => 6 * EPSILON * amplitude) };
}

describe.each(variants)("rotaryEmbedding, variant %s", (variant) => {
  let hw: Attention;
  beforeAll(async () => {
    hw = await createAttention({ backend: "wasm", variant, threads: 1 });
  });
  afterAll(() => hw.dispose());

  const rotate = async (x: Tensor<"float32" | "float16">, options?: object) => hw.rotaryEmbedding(x, options);

  test.each([
    { D: 8, R: 8, interleaved: false },
    { D: 10, R: 4, interleaved: true },
    { D: 64, R: 32, interleaved: false },
  ])("turns $R of $D features", async ({ D, R, interleaved }) => {
    const x = randomTensor(1, [70, D]);
    const y = await rotate(x, { rotaryDim: R, interleaved });
    expect([y.shape, y.dtype]).toEqual([[70, D], "float32"]);
    expect(differences(y, turned(x, R, { interleaved }))).toEqual([]);
  });

  test("knows all layouts and ranks", async () => {
    const [B, H, S, D] = [2, 3, 5, 4];
    const x = randomTensor(2, [B, H, S, D]);
    const y = await rotate(x);
    const at = { b: 0, h: 0, s: 0, d: 0 };
    const orders: Record<string, [shape: number[], index: () => number]> = {
      BSHD: [[B, S, H, D], () => ((at.b * S + at.s) * H + at.h) * D + at.d],
      BSE: [[B, S, H * D], () => ((at.b * S + at.s) * H + at.h) * D + at.d],
      BES: [[B, H * D, S], () => ((at.b * H + at.h) * D + at.d) * S + at.s],
    };
    for (const [layout, [shape, index]] of Object.entries(orders)) {
      const permuted = new Float32Array(x.data.length);
      const expected = new Float32Array(x.data.length);
      for (let k = 0; k < x.data.length; ++k) {
        at.d = k % D;
        at.s = Math.floor(k / D) % S;
        at.h = Math.floor(k / (D * S)) % H;
        at.b = Math.floor(k / (D * S * H));
        permuted[index()] = x.data[k]!;
        expected[index()] = y.data[k] as number;
      }
      const packed = layout === "BSHD" ? {} : { numHeads: H };
      const result = await rotate({ data: permuted, shape }, { layout, ...packed });
      expect(result.shape).toEqual(shape);
      expect(result.data).toEqual(expected);
    }
    const oneBatch = { data: x.data.slice(0, H * S * D), shape: [H, S, D] };
    expect((await rotate(oneBatch)).data).toEqual((y.data as Float32Array).slice(0, H * S * D));
  });

  test("takes positions as the first one, a list, or a tensor for each batch", async () => {
    const x = randomTensor(3, [2, 1, 3, 4]);
    const first = await rotate(x, { positions: 7 });
    expect(differences(first, turned(x, 4, { position: (token) => 7 + (token % 3) }))).toEqual([]);
    const list = [0.5, 100, 1_000_000];
    const listed = await rotate(x, { positions: list });
    expect(differences(listed, turned(x, 4, { position: (token) => list[token % 3]! }))).toEqual([]);
    const each = Int32Array.of(4, 5, 6, -1, 0, 1);
    const tensor = await rotate(x, { positions: { data: each, shape: [2, 3] } });
    expect(differences(tensor, turned(x, 4, { position: (token) => each[token]! }))).toEqual([]);
  });

  test("takes given tables and the row of each token", async () => {
    const x = randomTensor(4, [2, 2, 4]); // [H, S, D]
    const cos = randomTensor(5, [6, 2]);
    const sin = randomTensor(6, [6, 2]);
    const { data } = await rotate(x, { cos, sin, positions: [5, 2] });
    for (let k = 0; k < 4; ++k)
      for (let m = 0; m < 2; ++m) {
        const [a, b] = [x.data[4 * k + m]!, x.data[4 * k + m + 2]!];
        const row = [5, 2][k % 2]! * 2 + m;
        expect(data[4 * k + m]).toBeCloseTo(a * cos.data[row]! - b * sin.data[row]!, 6);
        expect(data[4 * k + m + 2]).toBeCloseTo(a * sin.data[row]! + b * cos.data[row]!, 6);
      }
  });

  const share = (from: number, to: number, x: number) => Math.min(Math.max((x - from) / (to - from), 0), 1);
  const turns = (m: number, length: number) => (length * theta(m, 64)) / (2 * Math.PI);
  const pairTurning = (n: number, length: number) =>
    (64 * Math.log(length / (n * 2 * Math.PI))) / (2 * Math.log(10000));
  const scalings: { scaling: RotaryScaling; angle: (m: number) => number; amplitude?: number }[] = [
    { scaling: { kind: "linear", factor: 4 }, angle: (m) => theta(m, 64) / 4 },
    { scaling: { kind: "ntk", factor: 4 }, angle: (m) => theta(m, 64, 10000 * 4 ** (64 / 62)) },
    { scaling: { kind: "dynamic-ntk", factor: 2, originalLength: 64 }, angle: (m) => theta(m, 64) },
    {
      scaling: { kind: "dynamic-ntk", factor: 2, originalLength: 10 }, // 40 positions: 2 · 40/10 − 1 = 7
      angle: (m) => theta(m, 64, 10000 * 7 ** (64 / 62)),
    },
    {
      scaling: { kind: "dynamic-ntk", factor: 2, originalLength: 10, sequenceLength: 20 },
      angle: (m) => theta(m, 64, 10000 * 3 ** (64 / 62)),
    },
    {
      scaling: { kind: "yarn", factor: 16, originalLength: 4096 },
      angle: (m) => {
        const kept = 1 - share(Math.floor(pairTurning(32, 4096)), Math.ceil(pairTurning(1, 4096)), m);
        return theta(m, 64) * (kept + (1 - kept) / 16);
      },
      amplitude: 0.1 * Math.log(16) + 1,
    },
    {
      scaling: {
        kind: "yarn",
        factor: 16,
        originalLength: 4096,
        betaFast: 20,
        betaSlow: 2,
        truncate: false,
        attentionFactor: 1.5,
      },
      angle: (m) => {
        const kept = 1 - share(pairTurning(20, 4096), pairTurning(2, 4096), m);
        return theta(m, 64) * (kept + (1 - kept) / 16);
      },
      amplitude: 1.5,
    },
    {
      scaling: { kind: "yarn", factor: 40, originalLength: 4096, mscale: 1, mscaleAllDim: 0.5 },
      angle: (m) => {
        const kept = 1 - share(Math.floor(pairTurning(32, 4096)), Math.ceil(pairTurning(1, 4096)), m);
        return theta(m, 64) * (kept + (1 - kept) / 40);
      },
      amplitude: (0.1 * Math.log(40) + 1) / (0.05 * Math.log(40) + 1),
    },
    {
      scaling: { kind: "llama3", factor: 8, originalLength: 8192 },
      angle: (m) => {
        const kept = share(1, 4, turns(m, 8192));
        return theta(m, 64) * (kept + (1 - kept) / 8);
      },
    },
    {
      scaling: { kind: "llama3", factor: 32, originalLength: 1024, lowFreqFactor: 2, highFreqFactor: 8 },
      angle: (m) => {
        const kept = share(2, 8, turns(m, 1024));
        return theta(m, 64) * (kept + (1 - kept) / 32);
      },
    },
  ];
  test.each(scalings)("scales as published: $scaling", async ({ scaling, angle, amplitude = 1 }) => {
    const x = randomTensor(7, [40, 64]);
    expect(differences(await rotate(x, { scaling }), turned(x, 64, { angle, amplitude }))).toEqual([]);
  });

  test("float16 is widened, turned and rounded once", async () => {
    const view = new DataView(new ArrayBuffer(2));
    const half = (x: number) => (setFloat16(view, 0, x), view.getUint16(0));
    const x = randomTensor(8, [9, 8]);
    const halves = { data: Uint16Array.from(x.data, half), shape: [9, 8] };
    const widened = { data: Float32Array.from(valuesOf(halves)), shape: [9, 8] };
    const expected = await rotate(widened);
    const result = await rotate(halves);
    expect(result.dtype).toBe("float16");
    expect(result.data).toEqual(Uint16Array.from(expected.data as Float32Array, half));
  });

  test("scores of turned queries and keys depend on their distance only", async () => {
    const [q, k] = [randomTensor(9, [1, 32]), randomTensor(10, [1, 32])];
    const score = async (i: number, j: number) => {
      const [query, key] = [await rotate(q, { positions: i }), await rotate(k, { positions: j })];
      const { scores } = await hw.scaledDotProductAttention(query, key, k, { returns: { scores: "raw" } });
      return scores.data[0]!;
    };
    const near = await score(3, 1);
    // the roundings of two rotations, and of the dot product
    expect(Math.abs((await score(1003, 1001)) - near)).toBeLessThan((12 + 8) * EPSILON * 32);
    expect(Math.abs((await score(5, 1)) - near)).toBeGreaterThan(1e-3);
  });

  test("writes into a tensor of the caller's", async () => {
    const x = randomTensor(11, [5, 8]);
    const into = { data: new Float32Array(40), shape: [5, 8] };
    expect(await rotate(x, { into })).toBe(into);
    const { data } = await rotate(x);
    expect(into.data).toEqual(data);
    using inside = hw.allocate([5, 8]);
    inside.data.set(x.data);
    await rotate(inside, { into: inside }); // writes in place
    expect(Float32Array.from(inside.data)).toEqual(data);
    const shifted = { data: inside.data.subarray(8), shape: [4, 8] };
    const first = { data: inside.data.subarray(0, 32), shape: [4, 8] };
    await expect(rotate(first, { into: shifted })).rejects.toThrow(/into must not overlap x/);
  });

  test.each<[object, number[], RegExp]>([
    [{}, [3, 5], /x.shape\[1\] \(headDim\) must be even, got 5/],
    [{ rotaryDim: 3 }, [3, 4], /rotaryDim must be even and at most headDim, got 3 and 4/],
    [{ rotaryDim: 6 }, [3, 4], /rotaryDim must be even and at most headDim, got 6 and 4/],
    [{ base: 0 }, [3, 4], /base must be greater than 0, got 0/],
    [{ base: NaN }, [3, 4], /base must be a finite number, got NaN/],
    [{ theta: 1 }, [3, 4], /unknown option "theta"/],
    [{ positions: [1, 2] }, [3, 4], /positions must have a number per token \(3\), got 2/],
    [{ positions: [1, 2, Infinity] }, [3, 4], /positions\[2\] must be a finite number, got Infinity/],
    [{ layout: "BSE" }, [1, 3, 4], /numHeads must be given with layout "BSE"/],
    [{ scaling: {} }, [3, 4], /scaling.kind must be given: linear, ntk, dynamic-ntk, yarn, llama3/],
    [{ scaling: { kind: "yarm" } }, [3, 4], /scaling.kind must be "linear" or .*, got "yarm"/],
    [{ scaling: { kind: "linear" } }, [3, 4], /scaling.factor must be given: a number greater than 0/],
    [{ scaling: { kind: "linear", factor: 2, betaFast: 1 } }, [3, 4], /unknown option "betaFast" in scaling/],
    [{ scaling: { kind: "yarn", factor: 2 } }, [3, 4], /scaling.originalLength must be given: a number greater than 0/],
    [{ scaling: { kind: "llama3", factor: 2, originalLength: 8, lowFreqFactor: 4 } }, [3, 4], /highFreqFactor/],
    [{ cos: randomTensor(1, [3, 2]) }, [3, 4], /cos and sin must be given together/],
    [{ cos: randomTensor(1, [2, 2]), sin: randomTensor(1, [2, 2]) }, [3, 4], /positions must be rows of cos and sin/],
    [
      { cos: randomTensor(1, [3, 4]), sin: randomTensor(1, [3, 4]) },
      [3, 4],
      /cos.shape must be \[rows, rotaryDim\/2\]/,
    ],
    [{ cos: randomTensor(1, [3, 2]), sin: randomTensor(1, [3, 2]), base: 9 }, [3, 4], /base must be absent/],
  ])("refuses %p for x of shape %p, and computes the same bits afterwards", async (options, shape, message) => {
    const x = randomTensor(12, [3, 4]);
    const before = bits(await rotate(x));
    await expect(rotate(randomTensor(13, shape), options)).rejects.toThrow(message);
    expect(bits(await rotate(x))).toEqual(before);
  });
});
