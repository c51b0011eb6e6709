// What the row operations of steps compute, in double precision, with tolerances that follow from float32.

import { quantizeWeight, tensor, toBfloat16, toFloat16 } from "headwise";
import type { Recorder } from "../../web/src/step/recorder.js";
import { ACTIVATIONS, type StepActivation } from "../../web/src/step/stepProblem.js";
import type { StepTensor } from "../../web/src/step/stepTensor.js";
import type { Expected } from "../attention-conformance/reference/reference.js";
import { erfc } from "./erfc.js";
import { randomTensor } from "./randomTensor.js";

/** Half a unit in the last place of float32 near 1. */
const EPSILON = 2 ** -24;

export const WIDTH = 150;
export const ROWS = 8;

/** Rows of usual numbers, then one each with NaN, ∞, −∞, zeros alone, and large numbers. */
export function operands() {
  const x = randomTensor(1, [ROWS, WIDTH]);
  const at = (row: number) => row * WIDTH;
  x.data[at(3) + 5] = NaN;
  x.data[at(4) + 149] = Infinity;
  x.data[at(5)] = -Infinity;
  x.data.fill(0, at(6), at(7));
  x.data[at(6) + 1] = -0;
  for (let i = at(7); i < at(8); i++) x.data[i]! *= 1e4;
  return x;
}

const gain = randomTensor(2, [WIDTH]);
const shift = randomTensor(3, [WIDTH]);
const other = randomTensor(4, [ROWS, WIDTH]);
const equal = (size: number) => tensor(new Float32Array(WIDTH).fill(size), [WIDTH]);

/** An operation, and what it makes of a row. */
export interface RowOperation {
  readonly name: string;
  readonly build: (recorder: Recorder, x: StepTensor) => StepTensor;
  readonly of: (row: readonly number[], number: number) => Expected;
}

const expectedFrom = (all: readonly (readonly [value: number, tolerance: number])[]): Expected => ({
  values: Float64Array.from(all, ([value]) => value),
  tolerance: Float64Array.from(all, ([, tolerance]) => tolerance),
});

/** The numbers of a row, each by itself. */
function each(f: (x: number, i: number, row: number) => readonly [value: number, tolerance: number]) {
  return (row: readonly number[], number: number): Expected => {
    const all = row.map((x, i) => f(x, i, number));
    return expectedFrom(all);
  };
}

/** x / (1 + exp(−z)); 0 where z is below −87. */
const gated = (x: number, z: number) => (z < -87 ? -0 : x / (1 + Math.exp(-z)));

const FUNCTIONS: Readonly<Record<StepActivation, (x: number) => number>> = {
  gelu: (x) => (x === -Infinity ? -0 : (x * erfc(-x / Math.SQRT2)) / 2),
  geluTanh: (x) => gated(x, 2 * Math.sqrt(2 / Math.PI) * x * (1 + 0.044715 * x * x)),
  quickGelu: (x) => gated(x, 1.702 * x),
  silu: (x) => gated(x, x),
  relu: (x) => (x < 0 ? 0 : x),
  tanh: Math.tanh,
};

/** Of f(x), as the documentation says it, and of the products after it. */
const near = (x: number, value: number) => 2 ** -21 * Math.abs(x) + 8 * EPSILON * Math.abs(value);

function normed(centred: boolean, epsilon: number) {
  return (row: readonly number[]): Expected => {
    const mean = centred ? sum(row) / row.length : 0;
    const size = sum(row.map(Math.abs)) / row.length;
    const inverse = 1 / Math.sqrt(sum(row.map((x) => (x - mean) ** 2)) / row.length + epsilon);
    const ofMean = centred ? (row.length + 2) * EPSILON * size * inverse : 0;
    return each((x, i) => {
      const normal = (x - mean) * inverse;
      const value = normal * gain.data[i]! + (centred ? shift.data[i]! : 0);
      const off = Math.abs(normal) * ((row.length / 2 + 10) * EPSILON + ofMean) + ofMean;
      return [value, Math.abs(gain.data[i]!) * off + 4 * EPSILON * (Math.abs(value) + Math.abs(shift.data[i]!))];
    })(row, 0);
  };
}

/** The norm of a row of equal numbers; NaN if one was not finite. */
const flat =
  (value: (i: number) => number) =>
  (row: readonly number[]): Expected =>
    each((_, i) => [row.every(Number.isFinite) ? value(i) : NaN, 0])(row, 0);

function softmax(scale: number) {
  return (row: readonly number[]): Expected => {
    const scores = row.map((x) => scale * x);
    const largest = Math.max(...scores);
    const all = scores.map((score) => Math.exp(score - largest));
    const total = sum(all);
    return each((_, i) => {
      if (largest === -Infinity) return [0, 0];
      const value = all[i]! / total;
      if (value === 0) return [0, 1e-37];
      const off = (row.length + 12 + 4 * Math.abs(largest) + 4 * Math.abs(scores[i]! - largest)) * EPSILON;
      return [value, off * value + 1e-37];
    })(row, 0);
  };
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, x) => total + x, 0);

/** Operations of one operand, `[…, WIDTH]`. */
export const ROW_OPERATIONS: readonly RowOperation[] = [
  ...ACTIVATIONS.map((name) => ({
    name,
    build: (recorder: Recorder, x: StepTensor) => recorder.activation(x, name),
    of: each((x) => [FUNCTIONS[name](x), name === "relu" ? 0 : near(x, FUNCTIONS[name](x))]),
  })),
  ...(["silu", "geluTanh"] as const).map((name) => ({
    name: `${name} of one half of the columns, times the other half`,
    build: (recorder: Recorder, x: StepTensor) =>
      recorder.activation(recorder.columns(x, 0, WIDTH / 2), name, recorder.columns(x, WIDTH / 2, WIDTH)),
    of: (row: readonly number[]) =>
      each((x, i) => {
        const [factor, value] = [row[WIDTH / 2 + i]!, FUNCTIONS[name](x)];
        return [value * factor, near(x, value) * Math.abs(factor) + EPSILON * Math.abs(value * factor)];
      })(row.slice(0, WIDTH / 2), 0),
  })),
  {
    name: "a sum with itself",
    build: (recorder, x) => recorder.add(x, x),
    of: each((x) => [Math.fround(x + x), 0]),
  },
  {
    name: "a sum with numbers",
    build: (recorder, x) => recorder.add(x, other),
    of: each((x, i, row) => [Math.fround(x + other.data[row * WIDTH + i]!), 0]),
  },
  {
    name: "a sum with a row",
    build: (recorder, x) => recorder.add(x, shift),
    of: each((x, i) => [Math.fround(x + shift.data[i]!), 0]),
  },
  {
    name: "a product with a row",
    build: (recorder, x) => recorder.multiply(x, gain),
    of: each((x, i) => [Math.fround(x * gain.data[i]!), 0]),
  },
  {
    name: "a multiple",
    build: (recorder, x) => recorder.scale(x, 0.3),
    of: each((x) => [Math.fround(x * Math.fround(0.3)), 0]),
  },
  ...[0.5, 1e-50, 1e-30, 1e30].map((cap) => ({
    name: `a softcap of ${cap}`,
    build: (recorder: Recorder, x: StepTensor) => recorder.softcap(x, cap),
    of: each((x) => [cap * Math.tanh(x / cap), near(x, cap * Math.tanh(x / cap))]),
  })),
  {
    name: "a softcap of numbers far below it",
    build: (recorder, x) => recorder.softcap(recorder.scale(x, 2 ** -60), 1e30),
    of: each((x) => [1e30 * Math.tanh((x * 2 ** -60) / 1e30), near(x * 2 ** -60, 0)]),
  },
  {
    name: "a layer norm",
    build: (recorder, x) => recorder.layerNorm(x, gain, shift, { epsilon: 1e-3 }),
    of: normed(true, 1e-3),
  },
  {
    name: "an RMS norm",
    build: (recorder, x) => recorder.rmsNorm(x, gain),
    of: normed(false, 1e-6),
  },
  {
    name: "an RMS norm without epsilon",
    build: (recorder, x) => recorder.rmsNorm(x, gain, { epsilon: 0 }),
    of: normed(false, 0),
  },
  ...[100, 63, -63, -80].map((exponent) => ({
    name: `an RMS norm of numbers times 2^${exponent}`,
    build: (recorder: Recorder, x: StepTensor) =>
      recorder.rmsNorm(recorder.scale(x, 2 ** exponent), gain, { epsilon: 0 }),
    of: (row: readonly number[]) => normed(false, 0)(row.map((value) => Math.fround(value * 2 ** exponent))),
  })),
  ...[
    [-48, 1e-30],
    [-62, 2 ** -126],
    [-66, 2 ** -133],
  ].map(([exponent, epsilon]) => ({
    name: `an RMS norm of numbers times 2^${exponent} with an epsilon of ${epsilon}`,
    build: (recorder: Recorder, x: StepTensor) =>
      recorder.rmsNorm(recorder.scale(x, 2 ** exponent!), gain, { epsilon }),
    of: (row: readonly number[]) => normed(false, epsilon!)(row.map((value) => Math.fround(value * 2 ** exponent!))),
  })),
  ...[90, -70].map((exponent) => ({
    name: `a layer norm of numbers times 2^${exponent}`,
    build: (recorder: Recorder, x: StepTensor) =>
      recorder.layerNorm(recorder.scale(x, 2 ** exponent), gain, shift, { epsilon: 0 }),
    of: (row: readonly number[]) => normed(true, 0)(row.map((value) => Math.fround(value * 2 ** exponent))),
  })),
  ...[
    [2 ** 127, 1e-5],
    [2 ** 13, 1e-38],
    [1, 1e-50],
  ].map(([size, epsilon]) => ({
    name: `a layer norm of equal numbers of ${size} with an epsilon of ${epsilon}`,
    build: (recorder: Recorder, x: StepTensor) =>
      recorder.layerNorm(recorder.add(recorder.scale(x, 0), equal(size!)), gain, shift, { epsilon }),
    of: flat((i) => shift.data[i]!),
  })),
  {
    name: "an RMS norm of zeros with an epsilon below float32",
    build: (recorder, x) => recorder.rmsNorm(recorder.scale(x, 0), gain, { epsilon: 1e-50 }),
    of: flat(() => 0),
  },
  { name: "a softmax", build: (recorder, x) => recorder.softmax(x), of: softmax(1) },
  { name: "a softmax of a multiple", build: (recorder, x) => recorder.softmax(x, { scale: -0.7 }), of: softmax(-0.7) },
];

/** What an operation makes of all rows. */
export function expectedOf({ of }: RowOperation, { data }: { readonly data: Float32Array }): Expected {
  const rows = Array.from({ length: ROWS }, (_, n) => of(Array.from(data.subarray(n * WIDTH, (n + 1) * WIDTH)), n));
  return expectedFrom(
    rows.flatMap(({ values, tolerance }) => Array.from(values, (value, i) => [value, tolerance[i]!] as const)),
  );
}

/** Columns of the largest numbers, by the definition. */
export function largestColumns(row: readonly number[], k: number): number[] {
  const order = (x: number) => (Number.isNaN(x) ? Infinity : x);
  const isNan = (n: number) => Number(Number.isNaN(row[n]!));
  const columns = [...row.keys()];
  columns.sort((a, b) => isNan(b) - isNan(a) || (order(row[b]!) === order(row[a]!) ? 0 : order(row[b]!) - order(row[a]!)) || a - b); // oxfmt-ignore
  return columns.slice(0, k);
}

/** A table in every dtype, and how far its numbers may be from the float32 ones. */
export function tables(table: ReturnType<typeof randomTensor>) {
  const { data, shape } = table;
  return [
    { weight: table, most: 0 },
    { weight: { data: toFloat16(data), shape, dtype: "float16" as const }, most: 2 ** -11 },
    { weight: { data: toBfloat16(data), shape, dtype: "bfloat16" as const }, most: 2 ** -8 },
    { weight: quantizeWeight(table, { weightLayout: "out-in" }), most: 0.02 },
  ];
}
