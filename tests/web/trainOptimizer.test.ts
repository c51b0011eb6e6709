import { describe, expect, test } from "@jest/globals";
import { OptionError, ShapeError } from "headwise";
import {
  adamW,
  clipGradients,
  flatten,
  loadSafetensors,
  mapTree,
  random,
  saveSafetensors,
  unflatten,
  type Floats,
  type Tree,
} from "headwise/train";

import { differences } from "./close.js";
import { safetensors } from "./safetensorsFile.js";
import { thrownBy } from "./thrownBy.js";

type Pair = Record<"a" | "b", Floats>;
const floats = (data: readonly number[], shape: readonly number[] = [data.length]): Floats => ({
  data: Float32Array.from(data),
  shape,
});
const numbers = ({ data }: Floats) => Array.from(data);
const zerosLike = (tree: Tree) => mapTree(tree, ({ data, shape }) => ({ data: new Float32Array(data.length), shape }));

describe("adamW", () => {
  test("takes the first two steps that one computes by hand", () => {
    const parameters = { weight: floats([1, -2], [1, 2]), bias: floats([0.5]) };
    const options = { learningRate: 0.1, betas: [0.9, 0.99], epsilon: 0, weightDecay: 0.5 } as const;
    const { step, state } = adamW(parameters, options);
    // m̂ = g and v̂ = g² in the first step: every number moves by η against its sign; the weight shrinks by η·λ = 0.05
    step({ weight: floats([4, -3], [1, 2]), bias: floats([2]) });
    expect(numbers(parameters.weight)).toEqual([0.95 - 0.1, -1.9 + 0.1].map(Math.fround));
    expect(numbers(parameters.bias)).toEqual([Math.fround(0.4)]);
    // second step with g = 0: m̂ = 0.9·0.1·g/(1 − 0.81), v̂ = 0.99·0.01·g²/(1 − 0.9801)
    step({ weight: floats([0, 0], [1, 2]), bias: floats([0]) });
    const move = (0.1 * (0.09 / 0.19)) / Math.sqrt(0.0099 / 0.0199);
    expect(parameters.weight.data[0]).toBeCloseTo(0.85 * 0.95 - move, 6);
    expect(parameters.weight.data[1]).toBeCloseTo(-1.8 * 0.95 + move, 6);
    expect(parameters.bias.data[0]).toBeCloseTo(0.4 - move, 6);
    expect(numbers(state.steps)).toEqual([2]);
  });

  test("with an epsilon of 0 leaves what had no gradient, and does not hide NaN", () => {
    const parameters = { rows: floats([1, 2, 3]) };
    const { step } = adamW(parameters, { learningRate: 0.1, epsilon: 0 });
    step({ rows: floats([0, 4, 0]) });
    expect(numbers(parameters.rows)).toEqual([1, 2 - 0.1, 3].map(Math.fround));
    step({ rows: floats([0, 0, NaN]) });
    expect(numbers(parameters.rows)).toEqual([1, expect.closeTo(1.833, 3), NaN]);
    // its square is 0 in float32
    const small = { row: floats([1]) };
    const second = adamW(small, { learningRate: 0.1, epsilon: 0 });
    second.step({ row: floats([1e-25]) });
    second.step({ row: floats([0]) });
    expect(numbers(small.row)).toEqual([Math.fround(0.9)]);
  });

  test("agrees with its formula in double precision over 50 steps", () => {
    const [source, gradients] = [random(1), random(2)];
    const theta = source.normal([3, 4]);
    const expected = Float64Array.from(theta.data);
    const [m, v] = [new Float64Array(12), new Float64Array(12)];
    const { step } = adamW({ theta }, { learningRate: 0.01 });
    for (let t = 1; t <= 50; t++) {
      const g = gradients.normal([3, 4]);
      const learningRate = 0.01 / t;
      step({ theta: g }, { learningRate });
      g.data.forEach((slope, i) => {
        m[i] = 0.9 * m[i]! + 0.1 * slope;
        v[i] = 0.999 * v[i]! + 0.001 * slope ** 2;
        const update = m[i] / (1 - 0.9 ** t) / (Math.sqrt(v[i] / (1 - 0.999 ** t)) + 1e-8);
        expected[i]! -= learningRate * (update + 0.01 * expected[i]!);
      });
    }
    // 50 roundings of θ (below 4), and steps of at most 0.01 whose means were rounded to float32
    expect(differences(theta, { values: expected, tolerance: expected.map(() => 50 * 4 * 2 ** -24) })).toEqual([]);
  });

  test("lets decay the parameters that decay names, by default those with two axes", () => {
    const make = () => ({ a: floats([1], [1, 1]), b: floats([1]) });
    const [usual, chosen] = [make(), make()];
    adamW(usual, { learningRate: 1, weightDecay: 0.25 }).step(zerosLike(usual));
    adamW(chosen, { learningRate: 1, weightDecay: 0.25, decay: (name) => name === "b" }).step(zerosLike(chosen));
    expect([usual.a, usual.b, chosen.a, chosen.b].flatMap(numbers)).toEqual([0.75, 1, 1, 0.75]);
  });

  test.each(["parameters", "gradients", "state.steps", "state.mean", "state.meanSquare"])(
    "a step changes nothing if the memory of %s is gone",
    (gone) => {
      const [parameters, gradients] = [1, 0.5].map((value) => ({ a: floats([value]), b: floats([value]) })) as [Pair, Pair]; // oxfmt-ignore
      let lost: Float32Array | undefined;
      const decay = () => {
        if (lost) structuredClone(lost, { transfer: [lost.buffer as ArrayBuffer] });
        lost = undefined;
        return true;
      };
      const optimizer = adamW(parameters, { decay });
      const { steps, mean, meanSquare } = optimizer.state;
      const trees = { parameters, gradients, "state.steps": steps, "state.mean": mean, "state.meanSquare": meanSquare };
      const tree = trees[gone as keyof typeof trees] as Pair | Floats;
      lost = ("a" in tree ? tree.a : tree).data;
      expect(() => optimizer.step(gradients)).toThrow(`adamW.step: the memory of ${gone}`);
      expect(numbers(parameters.b)).toEqual([1]);
    },
  );

  test("a step in which decay throws changes nothing", () => {
    const parameters = { a: floats([1], [1, 1]), b: floats([2], [1, 1]) };
    const decay = (name: string) => {
      if (name === "b") throw new Error("no");
      return true;
    };
    const { step, state } = adamW(parameters, { decay });
    expect(() => step(zerosLike(parameters))).toThrow("no");
    expect([parameters.a, parameters.b, state.steps].flatMap(numbers)).toEqual([1, 2, 0]);
  });

  test("goes on from its saved state, bit for bit", () => {
    const start = () => ({ layers: [{ Wq: random(1).normal([2, 2]) }, { Wq: random(2).normal([2, 2]) }] });
    const [whole, halves] = [start(), start()];
    const gradient = (t: number) => mapTree(whole, ({ shape }, name) => random(t + name.length).normal(shape));
    const through = adamW(whole);
    [1, 2, 3, 4].forEach((t) => through.step(gradient(t)));
    const first = adamW(halves);
    [1, 2].forEach((t) => first.step(gradient(t)));
    const second = adamW(halves, { state: loadSafetensors(saveSafetensors(first.state)) });
    [3, 4].forEach((t) => second.step(gradient(t)));
    expect(flatten(halves)).toEqual(flatten(whole));
    expect(flatten(second.state)).toEqual(flatten(through.state));
  });

  test("takes gradients that are nested in another way", () => {
    const parameters = { layer: { position: { table: floats([1]) } } };
    adamW(parameters, { learningRate: 1 }).step({ layer: { "position.table": floats([3]) } });
    expect(numbers(parameters.layer.position.table)[0]).toBeCloseTo(0, 6);
  });

  test("refuses what does not fit, and changes nothing", () => {
    const parameters = { a: floats([1, 2]) };
    const { step, state } = adamW(parameters);
    const stateOf = (steps: number, square: number) => ({
      steps: floats([steps], []),
      mean: { a: floats([1, 2]) },
      meanSquare: { a: floats([1, square]) },
    });
    const refused: readonly [() => unknown, typeof OptionError | typeof ShapeError, string][] = [
      [() => step({}), OptionError, 'adamW.step: gradients must have the names of the parameters, but "a" is missing'],
      [() => step({ a: floats([1, 2]), b: floats([1]) }), OptionError, '"b" is not one of them'],
      [() => step({ a: floats([1]) }), ShapeError, "gradients.a.shape must be the parameter's shape, [2], got [1]"],
      [
        () => step({ a: floats([1, 2]) }, { learningRate: NaN }),
        OptionError,
        "learningRate must be a number from 0 to below Infinity, got NaN",
      ],
      [() => adamW(parameters, { betas: [0.9, 1] }), OptionError, "betas[1] must be a number from 0 to below 1, got 1"],
      [() => adamW(parameters, { betas: null as never }), OptionError, "adamW: betas must be two numbers, got null"],
      [() => adamW(parameters, { betas: [0.9] as never }), OptionError, "adamW: betas must be two numbers, got [0.9]"],
      [
        () => adamW(parameters, { betas: [0.9, 0.99, 0.1] as never }),
        OptionError,
        "adamW: betas must be two numbers, got [0.9, 0.99, 0.1]",
      ],
      [
        () => adamW(parameters, { weightDecay: -1 }),
        OptionError,
        "weightDecay must be a number from 0 to below Infinity, got -1",
      ],
      [() => adamW(parameters, { state: { steps: floats([1], []) } }), OptionError, '"mean.a" is missing'],
      [() => adamW(parameters, { state: stateOf(-1, 1) }), OptionError, "state.steps.data[0] must be an integer of 0"],
      [() => adamW(parameters, { state: stateOf(0.5, 1) }), OptionError, "an integer of 0 or more, got 0.5"],
      [() => adamW(parameters, { state: stateOf(NaN, 1) }), OptionError, "an integer of 0 or more, got NaN"],
      [
        () => adamW(parameters, { state: stateOf(1, -2) }),
        OptionError,
        "adamW: state.meanSquare.a.data must have no number below 0, got -2",
      ],
      [
        () => adamW(parameters, { decay: (() => Promise.resolve(false)) as never }).step({ a: floats([1, 2]) }),
        OptionError,
        'adamW.step: decay must give true or false, got a Promise for "a"',
      ],
    ];
    for (const [call, Class, message] of refused) {
      const error = thrownBy(call);
      expect(error.message).toContain(message);
      expect(Class.is(error)).toBe(true);
    }
    expect([numbers(parameters.a), numbers(state.steps)]).toEqual([[1, 2], [0]]);
  });
});

describe("clipGradients", () => {
  test("scales all gradients by one factor if their common norm is above the limit", () => {
    const gradients = { a: floats([3, 0]), b: [floats([0, 4])] };
    expect(clipGradients(gradients, 2.5)).toBe(5);
    expect([gradients.a, gradients.b[0]!].flatMap(numbers)).toEqual([1.5, 0, 0, 2]);
  });

  test("changes nothing if the norm is at most the limit, or not finite", () => {
    const [small, infinite, nan] = [floats([3, 4]), floats([1, Infinity]), floats([1, NaN])];
    expect([small, infinite, nan].map((g) => clipGradients({ g }, 5))).toEqual([5, Infinity, NaN]);
    expect([small, infinite, nan].flatMap(numbers)).toEqual([3, 4, 1, Infinity, 1, NaN]);
  });

  test("refuses arrays that share a part of their memory, as adamW does", () => {
    const all = Float32Array.of(0, 3, 4, 5);
    const part = (from: number, to: number) => ({ data: all.subarray(from, to), shape: [to - from] });
    const apart = { a: part(0, 2), b: [part(2, 4), part(2, 2)], c: part(0, 2) };
    expect(clipGradients(apart, 10)).toBe(Math.sqrt(50));
    expect(() => adamW(apart)).not.toThrow();
    const overlapping = { b: part(1, 3), a: part(0, 2) };
    for (const [call, message] of [
      [
        () => clipGradients(overlapping, 1),
        "clipGradients: gradients.a and gradients.b must share all of their memory",
      ],
      [() => adamW(overlapping), "adamW: parameters.a and parameters.b must share all of their memory or none of it"],
    ] as const)
      expect(thrownBy(call).message).toContain(message);
    expect([...all]).toEqual([0, 3, 4, 5]);
  });

  test("refuses a limit of 0", () => {
    expect(thrownBy(() => clipGradients({}, 0)).message).toContain("maxNorm must be a number above 0, got 0");
  });
});

describe("Trees of parameters", () => {
  const [a, b, c] = [floats([1]), floats([2]), floats([3])];

  test("are flattened to names with points, and grown again", () => {
    const flat = flatten({ layers: [{ Wq: a }, { Wq: b }], head: c });
    expect(flat).toEqual({ "layers.0.Wq": a, "layers.1.Wq": b, head: c });
    expect(flat["head"]).toBe(c);
    const tree = unflatten(flat);
    expect(tree).toEqual({ layers: { 0: { Wq: a }, 1: { Wq: b } }, head: c });
    expect(flatten(tree)).toEqual(flat);
  });

  test("keep names with empty parts", () => {
    const flat = { "a..b": a, "a.b": b, "c.": c, ".d": a, "..": b };
    expect(flatten(unflatten(flat))).toEqual(flat); // in any order
  });

  test("are mapped to trees of the same form", () => {
    const tree = { list: [a, { b }], c };
    const names: string[] = [];
    const doubled = mapTree(tree, ({ data, shape }, name) => {
      names.push(name);
      return { data: data.map((x) => 2 * x), shape };
    });
    expect(doubled).toEqual({ list: [floats([2]), { b: floats([4]) }], c: floats([6]) });
    expect(names).toEqual(["list.0", "list.1.b", "c"]);
  });

  test("take any name, also those of Object.prototype", () => {
    const tree = unflatten({ "constructor.x": a, "__proto__.polluted": b });
    expect(Object.keys(tree)).toEqual(["constructor", "__proto__"]);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
    expect(Object.keys(flatten(tree))).toEqual(["constructor.x", "__proto__.polluted"]);
  });

  test("that are none are refused", () => {
    const circle: Record<string, unknown> = {};
    circle["again"] = circle;
    const none = { dtype: "F32", shape: [0], bytes: new Uint8Array(0) };
    const refused: readonly [() => unknown, string][] = [
      [() => flatten({ "a.b": a, a: { b } }), 'flatten: tree has two tensors with the name "a.b"'],
      [() => unflatten({ a, "a.b": b }), 'flat has "a", which is the beginning of another name'],
      [
        () => flatten({ a: { b: 1 } } as never),
        "flatten: tree.a.b must be a tensor { data, shape } or an object of tensors, got 1",
      ],
      [() => unflatten({ "ab.b": a, "ab.b.c": b }), 'flat has "ab.b", which is the beginning of another name'],
      [() => saveSafetensors({ a, "a.b": b }), 'saveSafetensors: tree has "a", which is the beginning of another name'],
      [
        () => loadSafetensors(safetensors({ a: none, "a.b": none })),
        'loadSafetensors: bytes has "a", which is the beginning of another name',
      ],
      [() => mapTree(new Float32Array(2) as never, (x) => x), "mapTree: tree must be a tensor"],
      [() => mapTree({ a }, () => undefined as never), 'mapTree: map() for "a" must be a tensor { data, shape }'],
      [() => flatten(circle as Tree), "flatten: tree.again contains itself"],
    ];
    for (const [call, message] of refused) {
      const error = thrownBy(call);
      expect(error.message).toContain(message);
      expect(OptionError.is(error)).toBe(true);
    }
  });
});
