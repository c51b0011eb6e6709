import { describe, expect, test } from "@jest/globals";
import { formula } from "headwise/formula";

import { word } from "./cases.js";
import { referenceAttention, type Input, type ReferenceOptions } from "../attention-conformance/reference/reference.js";
import { referenceBackward } from "../attention-conformance/reference/referenceBackward.js";

/** What the loss depends on. All numbers are double precision. */
interface Call {
  readonly query: Input;
  readonly key: Input;
  readonly value: Input;
  readonly options: ReferenceOptions;
}

function numbers(stream: number, shape: readonly number[]): { data: Float64Array; shape: readonly number[] } {
  const length = shape.reduce((product, extent) => product * extent, 1);
  return { data: Float64Array.from({ length }, (_, k) => word(7, stream, k) / 2 ** 31 - 1), shape };
}

const [B, HQ, HKV, SQ, SKV, D, DV] = [2, 4, 2, 5, 7, 3, 4];
const dOutput = numbers(4, [B, HQ, SQ, DV]);

function call(options: ReferenceOptions): Call {
  return {
    query: numbers(1, [B, HQ, SQ, D]),
    key: numbers(2, [B, HKV, SKV, D]),
    value: numbers(3, [B, HKV, SKV, DV]),
    options,
  };
}

function loss({ query, key, value, options }: Call, gradient: Input): number {
  const { output } = referenceAttention(query, key, value, options);
  return output.values.reduce((sum, x, at) => sum + x * gradient.data[at]!, 0);
}

/** dL/dx for each number of an array inside of the call, by central differences. */
function differences(given: Call, numbers: ArrayLike<number>, gradient: Input = dOutput): number[] {
  const list = numbers as number[];
  const step = 2 ** -17;
  return Array.from(list, (x, k) => {
    if (!Number.isFinite(x)) return 0;
    const at = (moved: number) => {
      list[k] = moved;
      return loss(given, gradient);
    };
    const slope = (at(x + step) - at(x - step)) / (2 * step);
    list[k] = x;
    return slope;
  });
}

/** Whether each gradient is the finite difference. */
function expectClose(name: string, gradient: ArrayLike<number>, slopes: readonly number[], error: number): void {
  const problems = slopes.flatMap((slope, k) =>
    Math.abs(slope - gradient[k]!) <= error * (1 + Math.abs(slope)) ? [] : [`${name}[${k}]: ${gradient[k]} ≠ ${slope}`],
  );
  expect(problems).toEqual([]);
}

const CASES: readonly [name: string, options: ReferenceOptions][] = [
  ["no options", {}],
  ["scale", { scale: -0.75 }],
  ["causal", { causal: true }],
  ["causal, upper-left, window, offset", { causal: "upper-left", window: { left: 2 }, queryOffset: [1, -2] }],
  ["excludeSelf", { excludeSelf: true, window: { left: 1, right: 3 } }],
  ["lengths", { keyLengths: [7, 3], queryLengths: [2, 5] }],
  ["softcap", { softcap: 0.5 }],
  ["ALiBi", { alibiSlopes: [0.5, 0.25, -0.125, 1] }],
  ["bias that hides", { bias: { ...numbers(5, [HQ, 1, SKV]), data: hiding(numbers(5, [HQ, 1, SKV]).data) } as never }],
  ["bias for each row", { bias: numbers(5, [B, 1, SQ, 1]) as never, softcap: 2 }],
  ["sinks", { sinks: [0.5, -1, -Infinity, 2], causal: true }],
  ["sinks and rows without keys", { sinks: [0.5, -1, -Infinity, 2], queryOffset: -2, causal: true }],
  ["head gain", { headGain: [0, 2, -1, 0.5], sinks: [1, 1, 0, 0] }],
  ["everything", { softcap: 1, alibiSlopes: [0.5, 0.25, -0.125, 1], headGain: [3, 2, -1, 0.5], sinks: [0.5, -1, -2, 2], causal: true, bias: numbers(5, [SKV]) as never }], // oxfmt-ignore
];

function hiding(data: Float64Array): Float64Array {
  return data.map((x, k) => (k % 3 === 1 ? -Infinity : x));
}

describe("the reference's gradients are the finite differences of its forward:", () => {
  test.each(CASES)("%s", (_, options) => {
    const given = call(options);
    const gradients = referenceBackward(given.query, given.key, given.value, dOutput, options);
    const check = (name: string, { values }: { values: Float64Array }, of: ArrayLike<number> | undefined) =>
      of && expectClose(name, values, differences(given, of), 2e-9);
    check("dQuery", gradients.dQuery, given.query.data);
    check("dKey", gradients.dKey, given.key.data);
    check("dValue", gradients.dValue, given.value.data);
    check("dBias", gradients.dBias, (options.bias as Input | undefined)?.data);
    check("dSinks", gradients.dSinks, options.sinks as number[]);
    check("dHeadGain", gradients.dHeadGain, options.headGain as number[]);
    check("dAlibiSlopes", gradients.dAlibiSlopes, options.alibiSlopes as number[]);
  });

  test("a ragged batch with tokens first", () => {
    const options: ReferenceOptions = {
      layout: "BSE",
      numHeads: 2,
      numKvHeads: 1,
      cuSeqLensQuery: [0, 2, 2, 5],
      cuSeqLensKey: [0, 3, 5, 9],
      causal: true,
      alibiSlopes: [0.5, 1],
    };
    const [query, key, value] = [numbers(1, [1, 5, 6]), numbers(2, [1, 9, 3]), numbers(3, [1, 9, 2])];
    const given: Call = { query, key, value, options };
    const gradient = numbers(4, [1, 5, 4]);
    const { dQuery, dKey, dValue } = referenceBackward(query, key, value, gradient, options);
    expectClose("dQuery", dQuery.values, differences(given, query.data, gradient), 2e-9);
    expectClose("dKey", dKey.values, differences(given, key.data, gradient), 2e-9);
    expectClose("dValue", dValue.values, differences(given, value.data, gradient), 2e-9);
  });

  test("keys and values in a layout of their own", () => {
    const heads = { layout: "BES", kvLayout: "BSHD", numHeads: 4, numKvHeads: 2 } as const;
    const [query, key, value] = [numbers(1, [2, 12, 5]), numbers(2, [2, 7, 2, 3]), numbers(3, [2, 7, 2, 4])];
    const given: Call = { query, key, value, options: heads };
    const gradient = numbers(4, [2, 16, 5]);
    const { dQuery, dKey, dValue } = referenceBackward(query, key, value, gradient, heads);
    expectClose("dQuery", dQuery.values, differences(given, query.data, gradient), 2e-9);
    expectClose("dKey", dKey.values, differences(given, key.data, gradient), 2e-9);
    expectClose("dValue", dValue.values, differences(given, value.data, gradient), 2e-9);
  });

  const table = numbers(6, [4, 9]);
  const FORMULAS: readonly [text: string, parameters: Parameters<typeof formula>[1]][] = [
    ["s - slope[h] * abs(q - k)", { slope: [0.5, 0.25, -0.125, 1] }],
    ["cap * tanh(s / cap) + t[h][q - k + 4]", { cap: 2, t: Array.from({ length: 4 }, (_, h) => [...table.data.subarray(9 * h, 9 * h + 9)]) }], // oxfmt-ignore
    ["k > q ? -Infinity : s * w[b] + exp(s * 0.5) * c", { w: [0.75, 1.25], c: 0.125 }],
    ["max(s, 0.1 * s) + min(a, s) - sqrt(s * s + b2)", { a: 0.375, b2: 0.5 }],
    ["clamp(s, low, 0.5) + sin(s * f) * cos(f) + abs(s)", { low: -0.375, f: 1.5 }],
    ["pow(abs(s) + 1, e) / d + log(s * s + d) + (s % m)", { e: 1.25, d: 1.75, m: 0.6875 }],
    ["s ** 2 + s ** 3 - 2 ** (s * r) + (s < 0 && s * r || 3 * s)", { r: 0.5 }],
  ];

  test.each(FORMULAS)("the score %s", (text, parameters) => {
    const made = formula(text, parameters);
    const doubled = made.values.map((value) =>
      typeof value === "number" ? value : { ...value, data: Float64Array.from(value.data) },
    );
    const score = { ...made, values: doubled } as unknown as ReferenceOptions["score"];
    const given = call({ score });
    const gradients = referenceBackward(given.query, given.key, given.value, dOutput, given.options);
    // the forward's formula is the middle of a range, which is not quite smooth
    const error = 1e-6;
    expectClose("dQuery", gradients.dQuery.values, differences(given, given.query.data), error);
    expectClose("dKey", gradients.dKey.values, differences(given, given.key.data), error);
    for (const [slot, { name }] of made.graph.parameters.entries()) {
      const value = doubled[slot]!;
      const moving = typeof value === "number" ? doubled : value.data;
      const slopes = differences(given, moving as never);
      expectClose(name, gradients.dTables[name]!.values, typeof value === "number" ? [slopes[slot]!] : slopes, error);
    }
  });
});

test("a row without keys has no gradient, and NaN of its query's if the call asks for NaN", () => {
  for (const emptyRows of ["zero", "nan", "uniform"] as const) {
    const given = call({ emptyRows, causal: true, queryOffset: -2, sinks: [1, 2, 3, 4] });
    const { dQuery, dKey } = referenceBackward(given.query, given.key, given.value, dOutput, given.options);
    expect(dQuery.values.slice(0, 2 * D)).toEqual(new Float64Array(2 * D).fill(emptyRows === "nan" ? NaN : 0));
    expect(dQuery.values[2 * D]).not.toBe(0);
    expect(dKey.values.every(Number.isFinite)).toBe(true);
  }
});
