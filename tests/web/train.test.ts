import { describe, expect, test } from "@jest/globals";
import { OptionError, ShapeError } from "headwise";
import {
  activation,
  activationBackward,
  crossEntropy,
  embedding,
  embeddingBackward,
  layerNorm,
  layerNormBackward,
  random,
  rmsNorm,
  rmsNormBackward,
  type Floats,
} from "headwise/train";

import { ACTIVATIONS as STEP_ACTIVATIONS } from "../../web/src/step/stepProblem.js";
import { differences } from "./close.js";
import { thrownBy } from "./thrownBy.js";
import * as exact from "./trainReference.js";

const UNIT = 2 ** -24; // float32 rounds a result by at most this part of it

const floats = (data: readonly number[], shape: readonly number[] = [data.length]): Floats => ({
  data: Float32Array.from(data),
  shape,
});
const normal = (seed: number, ...shape: number[]) => random(seed).normal(shape);
const numbers = ({ data }: Floats) => Array.from(data);

/** Expected values whose tolerance is a few roundings of the largest number that went into them. */
const near = (values: readonly number[], scale: number, roundings = 2) => ({
  values: Float64Array.from(values),
  tolerance: Float64Array.from(values, () => roundings * UNIT * scale),
});

const ACTIVATIONS = Object.keys(exact.activations) as (keyof typeof exact.activations)[];

describe.each(ACTIVATIONS)("activation %s", (name) => {
  const f = exact.activations[name];
  const x = floats([-30, -7, -3, -1.25, -0.1, -1e-5, 1e-5, 0.1, 0.5, 1, 2.5, 3, 7, 30]);
  const [times, dOutput] = [normal(2, x.shape[0]!), normal(1, x.shape[0]!)];

  test("is its formula, and times a second tensor", () => {
    expect(differences(activation(x, name), near(numbers(x).map(f), 30))).toEqual([]);
    const gated = numbers(x).map((value, n) => f(value) * times.data[n]!);
    expect(differences(activation(x, name, times), near(gated, 90, 4))).toEqual([]);
  });

  test("has the gradients of central differences: of the input and of the factors", () => {
    const loss = (at: number[]) => exact.dot(at.map(f), dOutput.data);
    const { dInput } = activationBackward(x, name, dOutput);
    expect(differences(dInput, near(exact.differencesOf(loss, numbers(x)), 10, 4))).toEqual([]);

    const [values, factors] = [numbers(x), numbers(times)];
    const gatedLoss = (at: number[], by: number[]) =>
      exact.dot(
        at.map((value, n) => f(value) * by[n]!),
        dOutput.data,
      );
    const gradients = activationBackward(x, name, dOutput, times);
    const expected = exact.differencesOf((at) => gatedLoss(at, factors), values);
    expect(differences(gradients.dInput, near(expected, 30, 4))).toEqual([]);
    const ofFactors = exact.differencesOf((by) => gatedLoss(values, by), factors);
    expect(differences(gradients.dTimes, near(ofFactors, 90, 4))).toEqual([]);
  });

  test("has slope 1 and 0 where it is open and shut, also at infinity; tanh has 0 on both sides", () => {
    const { data } = activationBackward(floats([1e30, Infinity, -1e30, -Infinity]), name, floats([1, 1, 1, 1])).dInput;
    expect(Array.from(data, Math.abs)).toEqual(name === "tanh" ? [0, 0, 0, 0] : [1, 1, 0, 0]);
  });

  test("is 0 at minus infinity where it is shut, and −1 for tanh", () => {
    const [least] = activation(floats([-Infinity]), name).data;
    expect(Math.abs(least!)).toBe(name === "tanh" ? 1 : 0);
  });

  test("shows NaN", () => {
    expect(activation(floats([NaN]), name).data[0]).toBeNaN();
    expect(activationBackward(floats([NaN]), name, floats([1])).dInput.data[0]).toBeNaN();
  });
});

describe("activation", () => {
  test("gelu has Φ from tables of the normal distribution, and geluTanh is within 0.0005 of it", () => {
    for (const [x, y] of [
      [1, 0.8413447461],
      [2.5, 2.5 * 0.9937903347],
    ] as const) {
      expect(Math.abs(activation(floats([x]), "gelu").data[0]! - y)).toBeLessThan(2 * UNIT * y);
      expect(Math.abs(activation(floats([x]), "geluTanh").data[0]! - y)).toBeLessThan(5e-4);
    }
  });

  test("rounds a gated result once", () => {
    const [x, times] = [floats([-104, -110]), floats([1e30, 1e30])];
    const exactly = (n: number) => exact.activations.silu(x.data[n]!) * times.data[n]!;
    expect(differences(activation(x, "silu", times), near([exactly(0), exactly(1)], 1e-13))).toEqual([]);
    const { dTimes } = activationBackward(x, "silu", times, floats([1, 1]));
    expect(activation(x, "silu", times).data).toEqual(dTimes.data);
  });

  test("takes factors that may be absent", () => {
    const maybe = undefined as Floats | undefined;
    const x = floats([1, 2]);
    expect(activationBackward(x, "silu", x, maybe)).toEqual(activationBackward(x, "silu", x));
  });

  test("has gradient ½ at 0 where it is smooth, 0 for relu and 1 for tanh", () => {
    const slopes = ACTIVATIONS.map((name) => activationBackward(floats([0]), name, floats([1])).dInput.data[0]);
    expect(slopes).toEqual([0.5, 0.5, 0.5, 0.5, 0, 1]);
  });

  test("relu passes the gradient where x is above 0", () => {
    const x = floats([-2, -0, 0, 3, NaN]);
    expect(numbers(activation(x, "relu")).map(Math.abs)).toEqual([0, 0, 0, 3, NaN]);
    expect(numbers(activationBackward(x, "relu", floats([1, 2, 3, 4, 5])).dInput)).toEqual([0, 0, 0, 4, NaN]);
  });

  test("has the names that recorded steps have", () => {
    expect(ACTIVATIONS).toEqual([...STEP_ACTIVATIONS]);
  });
});

describe("layerNorm", () => {
  const [x, gain, bias, dOutput] = [normal(1, 3, 2, 5), normal(2, 5), normal(3, 5), normal(4, 3, 2, 5)];
  const epsilon = 0.01;
  const values = [x, gain, bias].map(numbers) as [number[], number[], number[]];

  test("gives rows of mean 0 and variance 1 if gain is 1", () => {
    const { data, shape } = layerNorm(floats([1, 3, 5, 7], [1, 4]), floats([1, 1, 1, 1]), undefined, { epsilon: 0 });
    const side = Math.sqrt(5); // the variance of 1, 3, 5, 7
    expect(shape).toEqual([1, 4]);
    expect(Array.from(data)).toEqual([-3, -1, 1, 3].map((each) => Math.fround(each / side)));
  });

  test("is its formula", () => {
    const expected = exact.layerNorm(...values, epsilon);
    expect(differences(layerNorm(x, gain, bias, { epsilon }), near(expected, 10))).toEqual([]);
  });

  test("has the gradients of central differences: of the input, the gain and the bias", () => {
    const { dInput, dGain, dBias } = layerNormBackward(x, gain, dOutput, { epsilon });
    const lossAt = (which: number) => (at: number[]) => {
      const [a, b, c] = values.map((each, n) => (n === which ? at : each));
      return exact.dot(exact.layerNorm(a!, b!, c!, epsilon), dOutput.data);
    };
    [dInput, dGain, dBias].forEach((gradient, which) => {
      const expected = exact.differencesOf(lossAt(which), values[which]!);
      expect(differences(gradient, near(expected, 20, 4))).toEqual([]);
    });
    expect([dInput.shape, dGain.shape, dBias.shape]).toEqual([[3, 2, 5], [5], [5]]);
  });

  test("has a gradient that is orthogonal to 1 and to x̂, if gain is 1", () => {
    const ones = floats([1, 1, 1, 1, 1]);
    const { dInput } = layerNormBackward(x, ones, dOutput, { epsilon: 0 });
    const normed = numbers(layerNorm(x, ones, undefined, { epsilon: 0 }));
    for (let at = 0; at < 30; at += 5) {
      const row = numbers(dInput).slice(at, at + 5);
      expect(Math.abs(exact.dot(row, [1, 1, 1, 1, 1]))).toBeLessThan(1e-5);
      expect(Math.abs(exact.dot(row, normed.slice(at, at + 5)))).toBeLessThan(1e-5);
    }
  });
});

describe("rmsNorm", () => {
  const [x, gain, dOutput] = [normal(1, 3, 2, 5), normal(2, 5), normal(4, 3, 2, 5)];
  const epsilon = 0.01;
  const values = [x, gain].map(numbers) as [number[], number[]];

  test("gives rows of mean square 1 if gain is 1", () => {
    const { data, shape } = rmsNorm(floats([1, 7, 5, 5], [1, 4]), floats([1, 1, 1, 1]), { epsilon: 0 });
    expect(shape).toEqual([1, 4]);
    expect(Array.from(data)).toEqual([0.2, 1.4, 1, 1].map(Math.fround)); // the mean square is 25
  });

  test("is its formula", () => {
    expect(differences(rmsNorm(x, gain, { epsilon }), near(exact.rmsNorm(...values, epsilon), 10))).toEqual([]);
  });

  test("has an epsilon of 1e-6, and layerNorm one of 1e-5", () => {
    const [row, ones] = [floats([0.001, -0.001]), floats([1, 1])];
    const first = (y: Floats) => y.data[0];
    expect(first(rmsNorm(row, ones))).toBeCloseTo(0.001 / Math.sqrt(2e-6), 6);
    expect(first(layerNorm(row, ones))).toBeCloseTo(0.001 / Math.sqrt(1.1e-5), 6);
  });

  test("has the gradients of central differences: of the input and the gain", () => {
    const { dInput, dGain } = rmsNormBackward(x, gain, dOutput, { epsilon });
    const lossAt = (which: number) => (at: number[]) => {
      const [a, b] = values.map((each, n) => (n === which ? at : each));
      return exact.dot(exact.rmsNorm(a!, b!, epsilon), dOutput.data);
    };
    [dInput, dGain].forEach((gradient, which) => {
      expect(differences(gradient, near(exact.differencesOf(lossAt(which), values[which]!), 20, 4))).toEqual([]);
    });
    expect([dInput.shape, dGain.shape]).toEqual([[3, 2, 5], [5]]);
  });
});

describe("embedding", () => {
  const table = floats([0, 1, 10, 11, 20, 21], [3, 2]);
  const tokens = { data: Int32Array.of(2, 0, 2, 2), shape: [2, 2] };

  test("takes the rows of the tokens", () => {
    expect(embedding(table, tokens)).toEqual(floats([20, 21, 0, 1, 20, 21, 20, 21], [2, 2, 2]));
    expect(embedding(table, Int32Array.of(1)).shape).toEqual([1, 2]);
  });

  test("adds the gradient of each token to its row", () => {
    const dOutput = floats([1, 2, 3, 4, 5, 6, 7, 8], [2, 2, 2]);
    expect(embeddingBackward(table, tokens, dOutput)).toEqual(floats([3, 4, 0, 0, 13, 16], [3, 2]));
    const few = 2 ** -24; // half of the last place of 1: one by one they would be lost
    const often = embeddingBackward(floats([0, 0], [2, 1]), Int32Array.of(1, 1, 1), floats([1, few, few], [3, 1]));
    expect(often.data).toEqual(Float32Array.of(0, 1 + 2 * few));
  });
});

describe("crossEntropy", () => {
  const logits = normal(5, 2, 3, 7);
  const targets = [6, 0, -1, 3, 3, -1];

  test("is ln V for equal logits", () => {
    const { loss, count } = crossEntropy(floats([2, 2, 2, 2, 2, 2], [2, 3]), Int32Array.of(0, 2));
    expect(loss).toBeCloseTo(Math.log(3), 14);
    expect(count).toBe(2);
  });

  test("is the mean over the rows whose target is not −1", () => {
    const { loss, count } = crossEntropy(logits, Int32Array.from(targets));
    expect(Math.abs(loss - exact.crossEntropy(numbers(logits), targets))).toBeLessThan(1e-12);
    expect(count).toBe(4);
  });

  test("has the gradient of central differences, and zeros in rows that do not count", () => {
    const { dLogits } = crossEntropy(logits, { data: Int32Array.from(targets), shape: [2, 3] });
    const expected = exact.differencesOf((at) => exact.crossEntropy(at, targets), numbers(logits));
    expect(differences(dLogits, near(expected, 1))).toEqual([]);
    expect(dLogits.shape).toEqual([2, 3, 7]);
    expect(numbers(dLogits).slice(14, 21)).toEqual([0, 0, 0, 0, 0, 0, 0]);
  });

  test("keeps the digits of the gradient at a target that is nearly certain", () => {
    for (const z of [14, 17, 20, 40]) {
      const [target, other] = crossEntropy(floats([z, 0], [1, 2]), Int32Array.of(0)).dLogits.data;
      const share = Math.exp(-z) / (1 + Math.exp(-z));
      expect(Math.abs(other! - share)).toBeLessThan(2 * UNIT * share);
      expect(target).toBe(-other!);
    }
  });

  test("is 0 with a gradient of 0 for one class", () => {
    const { loss, dLogits } = crossEntropy(floats([3], [1, 1]), Int32Array.of(0));
    expect([loss, ...dLogits.data]).toEqual([0, 0]);
  });

  test("does not overflow with large logits", () => {
    const { loss, dLogits } = crossEntropy(floats([1000, -1000], [1, 2]), Int32Array.of(1));
    expect(loss).toBe(2000);
    expect(numbers(dLogits)).toEqual([1, -1]);
  });

  test("is 0 with zero gradients if no row counts", () => {
    const { loss, count, dLogits } = crossEntropy(floats([1, 2], [1, 2]), Int32Array.of(-1));
    expect([loss, count, ...numbers(dLogits)]).toEqual([0, 0, 0, 0]);
  });

  test("shows NaN in the logits", () => {
    expect(crossEntropy(floats([NaN, 0], [1, 2]), Int32Array.of(1)).loss).toBeNaN();
  });
});

describe("Wrong arguments are refused before any work:", () => {
  const x = floats([1, 2, 3, 4, 5, 6], [2, 3]);
  const three = floats([1, 1, 1]);
  type Refusal = readonly [string, () => unknown, typeof OptionError | typeof ShapeError, string];
  const refused: readonly Refusal[] = [
    [
      "no tensor",
      () => activation([1, 2] as never, "gelu"),
      OptionError,
      "activation: x must be a tensor { data, shape } with a Float32Array",
    ],
    [
      "another class",
      () => activation({ data: new Float64Array(2), shape: [2] } as never, "relu"),
      OptionError,
      "whose data is a Float64Array of 2",
    ],
    [
      "a shape that does not fit",
      () => activation({ data: new Float32Array(2), shape: [3] }, "relu"),
      ShapeError,
      "activation: x.shape must be integers whose product is data.length, got [3] and 2",
    ],
    [
      "a gradient of another shape",
      () => activationBackward(x, "gelu", three),
      ShapeError,
      "activationBackward: dOutput.shape must be the shape of x, [2, 3], got [3]",
    ],
    [
      "factors of another shape",
      () => activation(x, "silu", three),
      ShapeError,
      "activation: times.shape must be the shape of x, [2, 3], got [3]",
    ],
    [
      "an activation that is none",
      () => activation(x, "swish" as never),
      OptionError,
      'activation: name must be one of gelu, geluTanh, quickGelu, silu, relu, tanh, got "swish"',
    ],
    [
      "a name of every object",
      () => activationBackward(x, "toString" as never, x),
      OptionError,
      "activationBackward: name must be one of",
    ],
    [
      "a gain of another width of rmsNorm",
      () => rmsNorm(x, floats([1, 1])),
      ShapeError,
      "rmsNorm: gain.shape must be [x.shape.at(-1)], [3], got [2]",
    ],
    [
      "a gain of another width",
      () => layerNorm(x, floats([1, 1])),
      ShapeError,
      "layerNorm: gain.shape must be [x.shape.at(-1)], [3], got [2]",
    ],
    ["a bias of another width", () => layerNorm(x, three, floats([1])), ShapeError, "layerNorm: bias.shape must be"],
    [
      "a negative epsilon",
      () => layerNormBackward(x, three, x, { epsilon: -1 }),
      OptionError,
      "epsilon must be a finite number of 0 or more, got -1",
    ],
    [
      "an infinite epsilon",
      () => rmsNorm(x, three, { epsilon: Infinity }),
      OptionError,
      "rmsNorm: epsilon must be a finite number of 0 or more, got Infinity",
    ],
    ...[0, "", false, null].map((bias): Refusal => [
      `a bias that is ${JSON.stringify(bias)}`,
      () => layerNorm(x, three, bias as never),
      OptionError,
      "layerNorm: bias must be a tensor { data, shape } with a Float32Array",
    ]),
    [
      "a scalar",
      () => layerNorm(floats([1], []), three),
      ShapeError,
      "layerNorm: x.shape must end in an extent of 1 or more, got []",
    ],
    [
      "a token beyond the table",
      () => embedding(x, Int32Array.of(0, 2)),
      OptionError,
      "tokens[1] must be from 0 to table.shape[0] − 1, which is 1, got 2",
    ],
    [
      "a table of rank 1",
      () => embedding(three, Int32Array.of(0)),
      ShapeError,
      "embedding: table must have two axes [V, N], got shape [3]",
    ],
    [
      "tokens as floats",
      () => embedding(x, three as never),
      OptionError,
      "tokens must be a tensor { data, shape } with an Int32Array",
    ],
    [
      "a gradient of other tokens",
      () => embeddingBackward(x, Int32Array.of(0), x),
      ShapeError,
      "[...tokens.shape, table.shape[1]], [1, 3], got [2, 3]",
    ],
    [
      "too few targets",
      () => crossEntropy(x, Int32Array.of(0)),
      ShapeError,
      "targets.shape must be the shape of logits without the last axis, [2], got [1]",
    ],
    [
      "a target beyond the classes",
      () => crossEntropy(x, Int32Array.of(0, 3)),
      OptionError,
      "targets[1] must be −1 (ignored) or from 0 to logits.shape.at(-1) − 1, which is 2, got 3",
    ],
    ["a target below −1", () => crossEntropy(x, Int32Array.of(-2, 0)), OptionError, "targets[0]"],
  ];

  describe("memory that a getter of a later argument takes away:", () => {
    const taking = (array: Float32Array, shape: number[]) => ({
      data: new Float32Array(shape.reduce((product, extent) => product * extent, 1)),
      get shape() {
        structuredClone(array.buffer, { transfer: [array.buffer as ArrayBuffer] });
        return shape;
      },
    });
    const calls: readonly [string, string, (x: Floats) => unknown][] = [
      ["activation", "x", (given) => activation(given, "silu", taking(given.data, [2, 3]))],
      ["activationBackward", "x", (given) => activationBackward(given, "silu", taking(given.data, [2, 3]))],
      ["layerNorm", "x", (given) => layerNorm(given, taking(given.data, [3]))],
      ["layerNorm", "x", (given) => layerNorm(given, three, taking(given.data, [3]))],
      ["rmsNormBackward", "x", (given) => rmsNormBackward(given, three, taking(given.data, [2, 3]))],
      ["embeddingBackward", "table", (given) => embeddingBackward(given, Int32Array.of(0), taking(given.data, [1, 3]))],
    ];
    test.each(calls)("%s names %s", (operation, argument, call) => {
      const error = thrownBy(() => call(floats([1, 2, 3, 4, 5, 6], [2, 3])));
      expect(error.message).toContain(`${operation}: the memory of ${argument} was transferred, shrunk or detached`);
      expect(OptionError.is(error)).toBe(true);
    });
  });

  test.each(refused)("%s", (_, call, Class, message) => {
    const error = thrownBy(call);
    expect(error.message).toContain(message);
    expect(Class.is(error)).toBe(true);
  });
});
