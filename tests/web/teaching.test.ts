import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createAttention, type Attention, type LayerOptions, type Tensor } from "headwise";

import { word } from "./cases.js";
import { float32Of } from "./close.js";

const { cos, log, PI, sqrt } = Math; // looked up once: a test runner's sandbox is slow to find globals

/** The claims of the texts that explain attention, tested on the engine. */
let hw: Attention;
beforeAll(async () => {
  hw = await createAttention({ backend: "wasm", threads: 1 });
});
afterAll(() => hw.dispose());

describe("softmax(QKᵀ/√d) V", () => {
  test("the probabilities of every row sum to 1, and none is negative", async () => {
    const { probs } = await hw.scaledDotProductAttention(normal(1, [2, 5, 23, 16]), ...pair([2, 5, 61, 16]), {
      returns: { probs: true },
    });
    for (const row of rowsOf(probs, 61)) {
      expect(sum(row)).toBeCloseTo(1, 5);
      expect(Math.min(...row)).toBeGreaterThanOrEqual(0);
    }
  });

  test("an output is a mean: it stays within the values it is made of", async () => {
    const [key, value] = pair([40, 8]);
    const { output } = await hw.scaledDotProductAttention(normal(1, [9, 8]), key, value);
    const columns = transpose(value);
    for (const row of rowsOf(output, 8))
      row.forEach((x, d) => {
        const column = rowsOf(columns, 40)[d]!;
        expect(x).toBeGreaterThan(Math.min(...column));
        expect(x).toBeLessThan(Math.max(...column));
      });
  });

  test("the row form softmax(QKᵀ/√d)V and the column form V softmax(KᵀQ/√d) are each other's transpose", async () => {
    const query = normal(1, [13, 24]);
    const [key, value] = pair([31, 24]);
    const rows = await hw.scaledDotProductAttention(query, key, value);
    const columns = await hw.scaledDotProductAttention(transpose(query), transpose(key), transpose(value), {
      layout: "BES",
    });
    expect(columns.output.shape).toEqual([24, 13]);
    expect(transpose(columns.output as Tensor<"float32">).data).toEqual(rows.output.data);
  });

  test("scores are not symmetric: the score of a for b is not the score of b for a", async () => {
    const [query, key] = [normal(1, [6, 16]), normal(2, [6, 16])];
    const { scores } = await hw.scaledDotProductAttention(query, key, key, { returns: { scores: "raw" } });
    const matrix = rowsOf(scores, 6);
    expect(Math.abs(matrix[1]![4]! - matrix[4]![1]!)).toBeGreaterThan(0.01);
  });

  test("with one projection for both, scores are symmetric", async () => {
    const x = normal(1, [6, 16]);
    const { scores } = await hw.scaledDotProductAttention(x, x, x, { returns: { scores: "raw" } });
    const matrix = rowsOf(scores, 6);
    matrix.forEach((row, i) => row.forEach((s, j) => expect(s).toBeCloseTo(matrix[j]![i]!, 6)));
  });

  test("keys in another order change nothing: attention looks at a set", async () => {
    const query = normal(1, [5, 16]);
    const [key, value] = pair([40, 16]);
    const reversed = (x: Tensor<"float32">) => ({ data: concatenate(rowsOf(x, 16).reverse()), shape: x.shape });
    const { output } = await hw.scaledDotProductAttention(query, key, value);
    const other = await hw.scaledDotProductAttention(query, reversed(key), reversed(value));
    float32Of(output).forEach((x, k) => expect(other.output.data[k]).toBeCloseTo(x, 5));
  });
});

describe("the scale 1/√d", () => {
  const returns = { output: false, scores: "raw" } as const;

  test.each([16, 64, 256])("keeps the variance of scores near 1 at d = %i, where unscaled it is near d", async (d) => {
    const [query, key] = [normal(1, [64, d]), normal(2, [64, d])];
    const scaled = await hw.scaledDotProductAttention(query, key, key, { returns });
    const unscaled = await hw.scaledDotProductAttention(query, key, key, { scale: 1, returns });
    expect(variance(scaled.scores)).toBeGreaterThan(0.8);
    expect(variance(scaled.scores)).toBeLessThan(1.2);
    expect(variance(unscaled.scores) / d).toBeCloseTo(variance(scaled.scores), 4);
  });

  test("without it a wide head looks at nearly one key: its entropy collapses", async () => {
    const [query, key] = [normal(1, [64, 256]), normal(2, [64, 256])];
    const mean = async (scale?: number) => {
      const options = { returns: { output: false, entropy: true }, ...(scale === undefined ? {} : { scale }) };
      const { entropy } = await hw.scaledDotProductAttention(query, key, key, options);
      return sum([...entropy!.data]) / 64;
    };
    expect(await mean()).toBeGreaterThan(3); // ln 64 ≈ 4.16 is the entropy of equal attention to all keys
    expect(await mean(1)).toBeLessThan(0.7);
  });
});

describe("who may look at whom", () => {
  test("causal: token i sees tokens up to itself, so its output does not change when later ones do", async () => {
    const x = normal(1, [17, 8]);
    const later = { data: x.data.map((value, k) => (k >= 10 * 8 ? -value : value)), shape: x.shape };
    const before = await hw.scaledDotProductAttention(x, x, x, { causal: true });
    const after = await hw.scaledDotProductAttention(later, later, later, { causal: true });
    expect(float32Of(after.output).slice(0, 80)).toEqual(float32Of(before.output).slice(0, 80));
    expect(float32Of(after.output).slice(80)).not.toEqual(float32Of(before.output).slice(80));
  });

  test("excludeSelf: no token looks at itself, and the others share what it had", async () => {
    const x = normal(1, [9, 8]);
    const { probs } = await hw.scaledDotProductAttention(x, x, x, { excludeSelf: true, returns: { probs: true } });
    const all = await hw.scaledDotProductAttention(x, x, x, { returns: { probs: true } });
    const full = rowsOf(all.probs, 9);
    rowsOf(probs, 9).forEach((row, i) => {
      expect(row[i]).toBe(0);
      row.forEach((p, j) => expect(j === i ? 0 : p).toBeCloseTo(j === i ? 0 : full[i]![j]! / (1 - full[i]![i]!), 5));
    });
  });

  test("a sliding window bounds how far a token sees", async () => {
    const x = normal(1, [12, 8]);
    const options = { causal: true, window: { left: 3 }, returns: { probs: true } };
    const { probs } = await hw.scaledDotProductAttention(x, x, x, options);
    rowsOf(probs!, 12).forEach((row, i) => row.forEach((p, j) => expect(p > 0).toBe(j <= i && j >= i - 3)));
  });

  test("ALiBi: of equal keys the nearer weighs more, by exp of the slope a step", async () => {
    const same = { data: new Float32Array(10 * 4).fill(0.5), shape: [10, 4] };
    const options = { causal: true, alibiSlopes: [0.5], returns: { probs: true } };
    const { probs } = await hw.scaledDotProductAttention(same, same, same, options);
    const last = rowsOf(probs!, 10)[9]!;
    for (let j = 1; j < 10; ++j) expect(last[j]! / last[j - 1]!).toBeCloseTo(Math.exp(0.5), 4);
  });

  test("a sink takes a share and gives nothing: the row then sums to less than 1", async () => {
    const same = { data: new Float32Array(3 * 4), shape: [3, 4] };
    const { probs } = await hw.scaledDotProductAttention(same, same, same, { sinks: [0], returns: { probs: true } });
    for (const row of rowsOf(probs, 3)) expect(sum(row)).toBeCloseTo(0.75, 6);
  });
});

describe("heads", () => {
  test("each head attends on its own: two heads are two single calls", async () => {
    const [query, key, value] = [normal(1, [1, 2, 7, 8]), normal(2, [1, 2, 9, 8]), normal(3, [1, 2, 9, 8])];
    const { output } = await hw.scaledDotProductAttention(query, key, value);
    for (const h of [0, 1]) {
      const head = (x: Tensor<"float32">, length: number) => ({
        data: x.data.slice(h * length * 8, (h + 1) * length * 8),
        shape: [length, 8],
      });
      const single = await hw.scaledDotProductAttention(head(query, 7), head(key, 9), head(value, 9));
      expect(single.output.data).toEqual(float32Of(output).slice(h * 56, (h + 1) * 56));
    }
  });

  test("grouped heads share keys: repeating each key head gives the same", async () => {
    const query = normal(1, [1, 4, 5, 8]);
    const [key, value] = [normal(2, [1, 2, 9, 8]), normal(3, [1, 2, 9, 8])];
    const repeated = (x: Tensor<"float32">) => {
      const heads = [0, 0, 1, 1].map((g) => [...x.data.slice(g * 72, (g + 1) * 72)]);
      return { data: concatenate(heads), shape: [1, 4, 9, 8] };
    };
    const grouped = await hw.scaledDotProductAttention(query, key, value);
    const full = await hw.scaledDotProductAttention(query, repeated(key), repeated(value));
    float32Of(full.output).forEach((x, k) => expect(grouped.output.data[k]).toBeCloseTo(x, 5));
  });

  test("GPT-3's geometry runs: 96 heads of 128 over a short sequence", async () => {
    const x = () => normal(1, [1, 96, 12, 128]);
    const { output, probs } = await hw.scaledDotProductAttention(x(), x(), x(), {
      causal: true,
      returns: { probs: { average: true } },
    });
    expect(output.shape).toEqual([1, 96, 12, 128]);
    for (const row of rowsOf(probs, 12)) expect(sum(row)).toBeCloseTo(1, 5);
  });
});

describe("the multi-head layer", () => {
  const weights = (inputDim: number, width: number) => ({
    Wq: scaled(normal(11, [inputDim, width]), inputDim),
    Wk: scaled(normal(12, [inputDim, width]), inputDim),
    Wv: scaled(normal(13, [inputDim, width]), inputDim),
  });

  test("a head of a layer of four is single-head attention on its bin of the model dimension", async () => {
    const x = normal(1, [7, 24]);
    const { Wq, Wk, Wv } = weights(24, 32);
    const layer = await hw.multiHeadAttention({
      inputDim: 24,
      modelDim: 32,
      numHeads: 4,
      outputProjection: false,
      weights: { Wq, Wk, Wv },
    });
    const all = rowsOf((await layer.forward(x)).output, 32);
    for (let h = 0; h < 4; ++h) {
      const bin = (W: Tensor<"float32">) => matrix(rowsOf(W, 32).map((row) => row.slice(8 * h, 8 * h + 8)));
      const single = await hw.multiHeadAttention({
        inputDim: 24,
        modelDim: 8,
        numHeads: 1,
        outputProjection: false,
        weights: { Wq: bin(Wq), Wk: bin(Wk), Wv: bin(Wv) },
      });
      const alone = rowsOf((await single.forward(x)).output, 8);
      alone.forEach((row, i) => row.forEach((y, d) => expect(all[i]![8 * h + d]).toBeCloseTo(y, 5)));
    }
  });

  test("a layer in columns is the layer in rows on transposed data", async () => {
    const x = normal(1, [9, 16]);
    const options = { inputDim: 16, numHeads: 2, outputProjection: false, weights: weights(16, 16) };
    const rows = await (await hw.multiHeadAttention(options)).forward(x);
    const columns = await (await hw.multiHeadAttention({ ...options, layout: "BES" })).forward(transpose(x));
    const back = transpose(columns.output);
    float32Of(rows.output).forEach((y, k) => expect(back.data[k]).toBeCloseTo(y, 5));
  });

  test("one head of GPT-3 projects 12288 features to 128", async () => {
    const layer = await hw.multiHeadAttention({
      inputDim: 12288,
      modelDim: 128,
      numHeads: 1,
      outputProjection: false,
      weights: weights(12288, 128),
    });
    const { output, probs } = await layer.forward(normal(1, [3, 12288]), { causal: true, returns: { probs: true } });
    expect(output.shape).toEqual([3, 128]);
    for (const row of rowsOf(probs, 3)) expect(sum(row)).toBeCloseTo(1, 5);
    layer.dispose();
  });

  /** "they decided to park the car in the park": tokens 3 and 8 are the same word. */
  const sentence = () => {
    const words = rowsOf(normal(1, [9, 16]), 16);
    words[8] = words[3]!;
    return matrix(words);
  };
  const rowsOfPark = async (position?: LayerOptions["position"]) => {
    const layer = await hw.multiHeadAttention({
      inputDim: 16,
      numHeads: 2,
      outputProjection: false,
      weights: weights(16, 16),
      ...(position ? { position } : {}),
    });
    const rows = rowsOf((await layer.forward(sentence())).output, 16);
    return [rows[3]!, rows[8]!] as const;
  };

  test("without positions equal words get equal rows", async () => {
    const [first, second] = await rowsOfPark();
    expect(second).toEqual(first);
  });

  test.each([
    { kind: "sinusoidal" as const },
    { kind: "rotary" as const },
    { kind: "learned" as const, table: normal(20, [12, 16]) },
  ])("with $kind positions they differ", async (position) => {
    const [first, second] = await rowsOfPark(position);
    expect(Math.max(...first.map((y, d) => Math.abs(y - second[d]!)))).toBeGreaterThan(0.01);
  });

  /** Scores between copies of one word at ten positions. */
  const scoresOfCopies = async (position: LayerOptions["position"]) => {
    const layer = await hw.multiHeadAttention({
      inputDim: 16,
      numHeads: 1,
      outputProjection: false,
      weights: weights(16, 16),
      position: position!,
    });
    const word = rowsOf(normal(1, [1, 16]), 16)[0]!;
    const x = matrix(Array.from({ length: 10 }, () => word));
    return rowsOf((await layer.forward(x, { returns: { scores: "raw" } })).scores, 10);
  };

  test("rotary scores depend on the distance only", async () => {
    const scores = await scoresOfCopies({ kind: "rotary" });
    for (let i = 1; i < 10; ++i)
      for (let j = 1; j < 10; ++j) expect(scores[i]![j]).toBeCloseTo(scores[i - 1]![j - 1]!, 4);
    expect(Math.abs(scores[5]![2]! - scores[5]![5]!)).toBeGreaterThan(0.01);
  });

  test("scores with learned vectors depend on the places themselves", async () => {
    const scores = await scoresOfCopies({ kind: "learned", table: normal(20, [10, 16]) });
    expect(Math.abs(scores[5]![3]! - scores[4]![2]!)).toBeGreaterThan(0.01);
  });
});

/** Standard normal numbers (Box and Muller). The same stream gives the same numbers. */
function normal(stream: number, shape: readonly number[]): Tensor<"float32"> {
  const uniform = (k: number) => ((word(11, stream, k) >>> 8) + 0.5) / 2 ** 24;
  const length = shape.reduce((product, extent) => product * extent, 1);
  const data = Float32Array.from(
    { length },
    (_, k) => sqrt(-2 * log(uniform(2 * k))) * cos(2 * PI * uniform(2 * k + 1)),
  );
  return { data, shape };
}

/** A key tensor and a value tensor. */
function pair(shape: readonly number[]): [Tensor<"float32">, Tensor<"float32">] {
  return [normal(2, shape), normal(3, shape)];
}

function rowsOf({ data }: Tensor<"float32">, width: number): number[][] {
  return Array.from({ length: data.length / width }, (_, row) => [...data.subarray(row * width, (row + 1) * width)]);
}

function transpose(x: Tensor<"float32">): Tensor<"float32"> {
  const [rows, columns] = x.shape as [number, number];
  const data = Float32Array.from(x.data, (_, k) => x.data[(k % rows) * columns + Math.floor(k / rows)]!);
  return { data, shape: [columns, rows] };
}

function matrix(rows: readonly (readonly number[])[]): Tensor<"float32"> {
  return { data: concatenate(rows), shape: [rows.length, rows[0]!.length] };
}

/** Weights of variance 1/n keep the variance of their input. */
function scaled({ data, shape }: Tensor<"float32">, n: number): Tensor<"float32"> {
  return { data: data.map((x) => x / sqrt(n)), shape };
}

function concatenate(rows: readonly (readonly number[])[]): Float32Array {
  return Float32Array.from(rows.flat());
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function variance({ data }: Tensor<"float32">): number {
  const mean = sum([...data]) / data.length;
  return sum([...data].map((x) => (x - mean) ** 2)) / data.length;
}
