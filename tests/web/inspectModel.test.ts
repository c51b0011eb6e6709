// What goes through several layers: rollout, attention flow, the importance of heads, composition.

import { describe, expect, test } from "@jest/globals";
import { createAttention, OptionError, ShapeError } from "headwise";
import {
  attentionFlow,
  composition,
  headImportance,
  rollout,
  type AttentionWeights,
  type Floats,
} from "headwise/inspect";
import { random } from "headwise/train";

import { batch, floats, head, layer, pointing, randomHeads, uniform } from "./inspectMaps.js";
import { thrownBy } from "./thrownBy.js";

const UNIT = 2 ** -24; // float32 rounds a number by at most this part of it

const values = ({ data }: Floats) => Array.from(data);

function expectNear(actual: Floats, expected: readonly number[], tolerance = 4 * UNIT) {
  expect(actual.data.length).toBe(expected.length);
  expected.forEach((each, n) => expect(Math.abs(actual.data[n]! - each)).toBeLessThanOrEqual(tolerance));
}

/** Two tokens; each layer gives token 1 the weights 0.5 and 0.5, and token 0 its own. */
const HALF = head(2, 2, (query, key) => (query === 0 ? Number(key === 0) : 0.5));

describe("rollout", () => {
  test("of one layer is that layer's mean map with the residual connection", () => {
    const probs = layer(
      HALF,
      pointing(2, () => 0),
    );
    // the mean of the heads gives token 1 the weights 0.75 and 0.25
    expectNear(rollout([probs]), [1, 0, 0.375, 0.625]);
    expectNear(rollout([probs], { residual: 0 }), [1, 0, 0.75, 0.25]);
  });

  test("of two layers is the product, the last layer on the left", () => {
    const swap = pointing(2, (i) => 1 - i);
    expectNear(rollout([HALF, swap], { residual: 0 }), [0.5, 0.5, 1, 0]);
    expectNear(rollout([swap, HALF], { residual: 0 }), [0, 1, 0.5, 0.5]);
    // Ã of HALF gives token 1 the weights 1/4 and 3/4; twice: 1/4 + 3/4 · 1/4 of token 0
    expectNear(rollout([HALF, HALF]), [1, 0, 7 / 16, 9 / 16]);
  });

  test("divides each row by its sum when heads are joined by the largest or smallest weight", () => {
    const probs = layer(
      head(2, 2, () => 0.5),
      pointing(2, () => 0),
    );
    // largest: 1, 1/2; smallest: 1/2, 0
    expectNear(rollout([probs], { residual: 0, headFusion: "max" }), [2 / 3, 1 / 3, 2 / 3, 1 / 3]);
    expectNear(rollout([probs], { residual: 0, headFusion: "min" }), [1, 0, 1, 0]);
  });

  test("has rows of sum 1", () => {
    const source = random(1);
    const layers = [3, 2, 4].map((heads) => randomHeads(heads, 7, source.next));
    const { data, shape } = rollout(layers);
    expect(shape).toEqual([7, 7]);
    for (let row = 0; row < 7; row++) {
      const sum = data.subarray(row * 7, row * 7 + 7).reduce((total, each) => total + each, 0);
      expect(Math.abs(sum - 1)).toBeLessThan(8 * UNIT);
    }
  });

  test("takes every sequence of a batch by itself", () => {
    const swap = pointing(2, (i) => 1 - i);
    const both = rollout([batch(HALF, swap), batch(HALF, swap)]);
    expect(both.shape).toEqual([2, 2, 2]);
    expect(values(both)).toEqual([...values(rollout([HALF, HALF])), ...values(rollout([swap, swap]))]);
  });

  test("keeps the token of a row without keys, and shows NaN in the rows that depend on it", () => {
    const empty = head(3, 3, (query, key) => (query === 1 ? 0 : Number(key === 0)));
    expectNear(rollout([empty]), [1, 0, 0, 0, 1, 0, 0.5, 0, 0.5]);
    const broken = head(3, 3, (query, key) => (query === 2 ? NaN : Number(key === 0)));
    expect(
      values(rollout([uniform(3), broken]))
        .map(Number.isNaN)
        .slice(3),
    ).toEqual([...[false, false, false], ...[true, true, true]]);
  });
});

describe("attentionFlow", () => {
  test("through one layer is the weight of the arc", () => {
    const source = random(2);
    const probs = randomHeads(1, 4, source.next);
    expectNear(attentionFlow([probs]), values(rollout([probs])));
  });

  test("adds ways through different tokens, each as wide as its narrowest arc", () => {
    // token 2 reaches input 0 through 0 (0.5, then 0.4) and through 1 (0.25, then 0.5)
    const upper = floats([1, 0, 0, 0, 1, 0, 0.5, 0.25, 0.25], [1, 3, 3]);
    const lower = floats([0.4, 0.6, 0, 0.5, 0.5, 0, 0, 0, 1], [1, 3, 3]);
    const options = { residual: 0, from: [2], to: [0, 2] };
    const flow = attentionFlow([lower, upper], options);
    expect(flow.shape).toEqual([1, 2]);
    expectNear(flow, [0.4 + 0.25, 0.25]);
  });

  test("takes flow back where the first way was a bad one", () => {
    // From 0 half goes to 0 and half to 1. From there 1 reaches input 0 only through 0, and 0 through 0 or 1. The first
    // way is 0, 0, 0, 0; then the half of 1 has no way, until that of 0 moves over to 1.
    const top = floats([0.5, 0.5, 0, 0, 1, 0, 0, 0, 1], [1, 3, 3]);
    const middle = floats([0.5, 0.5, 0, 0.5, 0, 0.5, 0, 0, 1], [1, 3, 3]);
    const bottom = floats([0.5, 0.5, 0, 0.5, 0.5, 0, 0, 0, 1], [1, 3, 3]);
    const flow = attentionFlow([bottom, middle, top], { residual: 0, from: [0], to: [0] });
    expect(values(flow)).toEqual([1]);
    expect(smallestCut([top, middle, bottom], 3, 0, 0)).toBe(1);
  });

  test("is the smallest cut", () => {
    const source = random(3);
    // powers make some weights nearly 0, so that the narrow places lie in different layers
    const sharp = () => source.next() ** 4;
    for (let round = 0; round < 10; round++) {
      const layers = Array.from({ length: 3 }, () => randomHeads(1, 3, sharp));
      const flow = attentionFlow(layers, { residual: 0 });
      for (let from = 0; from < 3; from++)
        for (let to = 0; to < 3; to++) {
          const expected = smallestCut([...layers].reverse(), 3, from, to);
          expect(Math.abs(flow.data[from * 3 + to]! - expected)).toBeLessThan(4 * UNIT);
        }
    }
  });

  test("takes every sequence of a batch by itself, and shows NaN in all flows of its sequence", () => {
    const broken = head(2, 2, (query) => (query ? NaN : 0.5));
    const { data, shape } = attentionFlow([batch(HALF, HALF), batch(HALF, broken)], { to: [0] });
    expect(shape).toEqual([2, 2, 1]);
    expect([...data].map(Number.isNaN)).toEqual([false, false, true, true]);
  });

  test("refuses what would take too long, and does what is smaller", () => {
    const probs = uniform(80);
    const error = thrownBy(() => attentionFlow([probs]));
    expect(OptionError.is(error)).toBe(true);
    expect(error.message).toBe("attentionFlow: pairs times arcs must be at most 33554432, got 6400 times 6400");
    expect(error.hint).toContain("Choose fewer tokens");
    expect(attentionFlow([probs], { from: [79], to: [0, 1, 2] }).shape).toEqual([1, 3]);
  });
});

/** The smallest sum of arcs that lead from a set of nodes with the source to the others, of all such sets. */
function smallestCut(steps: readonly Floats[], n: number, source: number, sink: number): number {
  const [nodes, last] = [(steps.length + 1) * n, steps.length * n + sink];
  let smallest = Infinity;
  for (let set = 0; set < 2 ** nodes; set++) {
    const has = (node: number) => Math.floor(set / 2 ** node) % 2 === 1;
    if (!has(source) || has(last)) continue;
    let sum = 0;
    steps.forEach(({ data }, step) =>
      data.forEach((capacity, at) => {
        const [from, to] = [step * n + Math.floor(at / n), (step + 1) * n + (at % n)];
        if (has(from) && !has(to)) sum += capacity;
      }),
    );
    smallest = Math.min(smallest, sum);
  }
  return smallest;
}

describe("headImportance", () => {
  test("is the change without each head, against all heads", async () => {
    const parts = [
      [1, 2, 4],
      [0, -8, 16],
    ];
    const calls: number[][] = [];
    const run = (gains: readonly Float32Array[]) => {
      calls.push(gains.flatMap((each) => [...each]));
      return Promise.resolve(
        100 - parts.flat().reduce((sum, part, n) => sum + part * gains.flatMap((g) => [...g])[n]!, 0),
      );
    };
    const { baseline, change } = await headImportance(run, { numLayers: 2, numHeads: 3 });
    expect(baseline).toBe(85);
    expect(change).toEqual(floats(parts.flat(), [2, 3]));
    expect(calls.length).toBe(7);
    expect(calls[0]).toEqual([1, 1, 1, 1, 1, 1]);
    expect(calls[4]).toEqual([1, 1, 1, 0, 1, 1]);
  });

  test("finds the head of a layer that its output needs", async () => {
    const hw = await createAttention({ backend: "wasm", threads: 1 });
    const { normal } = random(4);
    const [Wq, Wk, Wv, Wo] = [normal([8, 8]), normal([8, 8]), normal([8, 8]), normal([8, 8])];
    Wo.data.fill(0, 0, 4 * 8); // what head 0 writes is dropped
    const model = await hw.multiHeadAttention({ numHeads: 2, weights: { Wq, Wk, Wv, Wo } });
    const x = normal([1, 5, 8]);
    const { output: goal } = await model.forward(x);
    const { baseline, change } = await headImportance(
      async ([headGain]) => {
        const { output } = await model.forward(x, { headGain: headGain! });
        return output.data.reduce((sum, each, n) => sum + (each - goal.data[n]!) ** 2, 0);
      },
      { numHeads: 2 },
    );
    hw.dispose();
    expect([baseline, change.data[0]]).toEqual([0, 0]);
    expect(change.data[1]).toBeGreaterThan(1);
  });

  test("shows NaN, and throws what the function throws", async () => {
    const broken = await headImportance(([gains]) => (gains![0] === 0 ? NaN : 1), { numHeads: 2 });
    expect(values(broken.change)).toEqual([NaN, 0]);
    const failing = headImportance(() => Promise.reject(new Error("no model")), { numHeads: 1 });
    await expect(failing).rejects.toThrow("no model");
  });

  const refused: readonly [string, () => Promise<unknown>, string][] = [
    ["no function", () => headImportance(3 as never, { numHeads: 1 }), "headImportance: run must be a function, got 3"],
    [
      "no number of heads",
      () => headImportance(() => 0, {} as never),
      "headImportance: numHeads must be an integer of 1 or more, got undefined",
    ],
    [
      "half a layer",
      () => headImportance(() => 0, { numHeads: 1, numLayers: 0.5 }),
      "headImportance: numLayers must be an integer of 1 or more, got 0.5",
    ],
    [
      "more heads than memory holds",
      () => headImportance(() => 0, { numHeads: 2 ** 30, numLayers: 2 ** 22 }),
      "headImportance: numLayers times numHeads must be at most 1048576, got 4503599627370496",
    ],
    [
      "a result that is no number",
      () => headImportance(() => "low" as never, { numHeads: 1 }),
      'headImportance: what run gives must be a number, got "low"',
    ],
  ];

  test.each(refused)("refuses %s", async (_, call, message) => {
    const error: unknown = await call().catch((reason: unknown) => reason);
    expect(OptionError.is(error)).toBe(true);
    expect((error as Error).message).toBe(message);
  });
});

describe("composition", () => {
  /** One head of headDim 1 that reads and writes single coordinates of a residual stream of width 4. */
  const coordinate = (n: number) => floats([0, 1, 2, 3].map((each) => Number(each === n)));
  const oneHead = (query: number, key: number, value: number, output: number): AttentionWeights => ({
    numHeads: 1,
    weights: {
      Wq: { ...coordinate(query), shape: [4, 1] },
      Wk: { ...coordinate(key), shape: [4, 1] },
      Wv: { ...coordinate(value), shape: [4, 1] },
      Wo: { ...coordinate(output), shape: [1, 4] },
    },
  });

  test("is 1 where the later head reads just what the earlier one writes, and 0 elsewhere", () => {
    const writer = oneHead(0, 0, 0, 2); // writes coordinate 2
    const scores = (later: AttentionWeights) =>
      Object.values(composition(writer, later)).map(({ data }: Floats) => data[0]);
    expect(scores(oneHead(2, 1, 1, 1))).toEqual([1, 0, 0]);
    expect(scores(oneHead(1, 2, 1, 1))).toEqual([0, 1, 0]);
    expect(scores(oneHead(1, 1, 2, 1))).toEqual([0, 0, 1]);
    expect(scores(oneHead(1, 1, 1, 1))).toEqual([0, 0, 0]);
  });

  test("is the definition, in width × width, for grouped heads and values of another width", () => {
    const { normal } = random(5);
    const width = 10;
    const [earlier, later] = [makeLayer(normal, width, 4, 2, 3, 2), makeLayer(normal, width, 3, 1, 2, 3)];
    const { query, key, value } = composition(earlier, later);
    expect([query.shape, key.shape, value.shape]).toEqual([
      [4, 3],
      [4, 3],
      [4, 3],
    ]);
    const [writers, readers] = [wholeCircuits(earlier, width), wholeCircuits(later, width)];
    writers.forEach(({ ov }, n) =>
      readers.forEach((reader, m) => {
        const at = n * 3 + m;
        // double precision, and one rounding of a number of at most 1
        expect(Math.abs(query.data[at]! - ratio(ov, reader.qk))).toBeLessThan(UNIT);
        expect(Math.abs(key.data[at]! - ratio(ov, transposed(reader.qk)))).toBeLessThan(UNIT);
        expect(Math.abs(value.data[at]! - ratio(ov, reader.ov))).toBeLessThan(UNIT);
      }),
    );
  });

  test("is about 1/√width for heads that have nothing to do with each other", () => {
    const { normal } = random(6);
    const [width, heads] = [64, 8];
    const make = () => makeLayer(normal, width, heads, heads, 8, 8);
    const { query, key, value } = composition(make(), make());
    for (const { data } of [query, key, value]) {
      const meanSquare = data.reduce((sum, each) => sum + each ** 2, 0) / data.length;
      // the mean of ‖A·R·B‖² over all rotations R is ‖A‖²·‖B‖²/width; 64 pairs of heads scatter around it
      expect(meanSquare * width).toBeGreaterThan(0.8);
      expect(meanSquare * width).toBeLessThan(1.25);
    }
  });

  test("is 0 for a head that writes nothing, and NaN for one with NaN", () => {
    const writer = oneHead(0, 0, 0, 2);
    const silent = { ...writer, weights: { ...writer.weights, Wo: floats([0, 0, 0, 0], [1, 4]) } };
    const broken = { ...writer, weights: { ...writer.weights, Wo: floats([0, NaN, 0, 0], [1, 4]) } };
    expect(values(composition(silent, writer).query)).toEqual([0]);
    expect(values(composition(broken, writer).query)).toEqual([NaN]);
  });

  /** The circuits of all heads as matrices `[width, width]`. */
  function wholeCircuits({ numHeads, numKvHeads = numHeads, weights }: AttentionWeights, width: number) {
    const { Wq, Wk, Wv, Wo } = weights;
    const columns = ({ data, shape }: Floats, n: number, of: number): number[][] =>
      Array.from({ length: width }, (_, row) => {
        const count = shape[1]! / of;
        return [...data.subarray(row * shape[1]! + n * count, row * shape[1]! + (n + 1) * count)];
      });
    const rows = ({ data, shape }: Floats, n: number, of: number): number[][] =>
      Array.from({ length: shape[0]! / of }, (_, row) => {
        const at = (n * (shape[0]! / of) + row) * width;
        return [...data.subarray(at, at + width)];
      });
    return Array.from({ length: numHeads }, (_, n) => {
      const kv = Math.floor(n / (numHeads / numKvHeads));
      return {
        qk: product(columns(Wq, n, numHeads), transposed(columns(Wk, kv, numKvHeads))),
        ov: product(columns(Wv, kv, numKvHeads), rows(Wo, n, numHeads)),
      };
    });
  }

  function makeLayer(
    normal: (shape: readonly number[]) => Floats,
    width: number,
    numHeads: number,
    numKvHeads: number,
    headDim: number,
    valueHeadDim: number,
  ): AttentionWeights {
    return {
      numHeads,
      numKvHeads,
      weights: {
        Wq: normal([width, numHeads * headDim]),
        Wk: normal([width, numKvHeads * headDim]),
        Wv: normal([width, numKvHeads * valueHeadDim]),
        Wo: normal([numHeads * valueHeadDim, width]),
      },
    };
  }

  const transposed = (a: number[][]) => a[0]!.map((_, column) => a.map((row) => row[column]!));
  const product = (a: number[][], b: number[][]) =>
    a.map((row) => transposed(b).map((column) => row.reduce((sum, each, n) => sum + each * column[n]!, 0)));
  const norm = (a: number[][]) => Math.hypot(...a.flat());
  const ratio = (a: number[][], b: number[][]) => norm(product(a, b)) / (norm(a) * norm(b));
});

describe("Wrong arguments are refused before any work:", () => {
  const good = (): AttentionWeights => ({
    numHeads: 2,
    weights: {
      Wq: floats(Array<number>(16).fill(1), [4, 4]),
      Wk: floats(Array<number>(16).fill(1), [4, 4]),
      Wv: floats(Array<number>(16).fill(1), [4, 4]),
      Wo: floats(Array<number>(16).fill(1), [4, 4]),
    },
  });
  const withWeight = (name: string, tensor: unknown) =>
    ({ ...good(), weights: { ...good().weights, [name]: tensor } }) as AttentionWeights;
  const wide: AttentionWeights = {
    numHeads: 1,
    weights: {
      Wq: floats([1, 1], [2, 1]),
      Wk: floats([1, 1], [2, 1]),
      Wv: floats([1, 1], [2, 1]),
      Wo: floats([1, 1], [1, 2]),
    },
  };
  const refused: readonly [string, () => unknown, typeof OptionError | typeof ShapeError, string][] = [
    ["no layers", () => rollout([]), OptionError, "rollout: probsPerLayer must be a list with a tensor for each layer"],
    [
      "maps that are not square",
      () => rollout([head(2, 3, () => 1)]),
      ShapeError,
      "rollout: probsPerLayer[0].shape must have heads, S queries and S keys, and the axes B and S of layer 0, got [1, 2, 3]",
    ],
    [
      "layers of other tokens",
      () => attentionFlow([uniform(2), uniform(3)]),
      ShapeError,
      "attentionFlow: probsPerLayer[1].shape must have heads, S queries and S keys, and the axes B and S of layer 0, got [1, 3, 3] and [1, 2, 2]",
    ],
    ["no heads", () => rollout([floats([], [0, 2, 2])]), ShapeError, "probsPerLayer[0].shape must have heads"],
    [
      "nothing but the residual connection",
      () => rollout([uniform(2)], { residual: 1 }),
      OptionError,
      "rollout: residual must be a number from 0 to below 1, got 1",
    ],
    [
      "an unknown fusion",
      () => rollout([uniform(2)], { headFusion: "median" as never }),
      OptionError,
      'rollout: headFusion must be "mean" or "max" or "min", got "median"',
    ],
    [
      "a token that is not there",
      () => attentionFlow([uniform(2)], { from: [2] }),
      OptionError,
      "attentionFlow: from must be integers from 0 to 1, got [2]",
    ],
    [
      "no weights",
      () => composition({ numHeads: 1 } as never, good()),
      OptionError,
      "composition: earlier must be an object with numHeads and weights { Wq, Wk, Wv, Wo }, got an object with numHeads",
    ],
    [
      "a weight that is missing",
      () => composition(good(), withWeight("Wv", undefined)),
      OptionError,
      "composition: later.weights.Wv must be a tensor { data, shape } with a Float32Array, got undefined",
    ],
    [
      "a weight stored the other way round",
      () => composition(withWeight("Wk", floats(Array<number>(8).fill(1), [2, 4])), good()),
      ShapeError,
      "composition: earlier.weights.Wk.shape must be [width, numKvHeads·D], [4, 4], got [2, 4]",
    ],
    [
      "heads that do not divide the width",
      () => composition({ ...good(), numHeads: 3, numKvHeads: 1 }, good()),
      ShapeError,
      "composition: earlier.weights.Wq.shape must be [width, numHeads·D], [4, 6], got [4, 4]",
    ],
    [
      "key heads that do not divide the heads",
      () => composition({ ...good(), numHeads: 4, numKvHeads: 3 }, good()),
      ShapeError,
      "composition: earlier.numKvHeads must divide earlier.numHeads, got 3 and 4",
    ],
    [
      "no number of heads",
      () => composition({ ...good(), numHeads: 0 }, good()),
      OptionError,
      "composition: earlier.numHeads must be an integer of 1 or more, got 0",
    ],
    [
      "layers of different widths",
      () => composition(good(), wide),
      ShapeError,
      "composition: both layers must have the same width, got 4 (earlier) and 2 (later)",
    ],
  ];

  test.each(refused)("%s", (_, call, Class, message) => {
    const error = thrownBy(call);
    expect(error.message).toContain(message);
    expect(Class.is(error)).toBe(true);
  });
});
