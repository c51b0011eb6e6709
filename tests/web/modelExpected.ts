// What small models of smallModels.ts must compute: their formulas in double precision, and how far float32 may be off.

import { expect } from "@jest/globals";

import * as reference from "./modelReference.js";
import {
  exact,
  noisy,
  type Computed,
  type LlamaForm,
  type Rounding,
  type Rows,
  type Weight,
  type Weights,
} from "./modelReference.js";
import { CONFIGS, FORMS, randomWeights, shapesOf, type Config, type Kind } from "./smallModels.js";

export const KINDS = Object.keys(CONFIGS) as Kind[];
export const TOKENS = [3, 17, 5, 28, 0, 11, 3, 9];

export interface Settings {
  readonly config?: Config;
  readonly form?: LlamaForm;
  readonly tokens?: readonly number[];
  readonly weights?: Weights;
}

export function settingsOf(kind: Kind, { config = CONFIGS[kind], form, tokens = TOKENS, weights }: Settings = {}) {
  const chosen = form ?? FORMS[kind as keyof typeof FORMS];
  return { config, form: chosen, tokens, weights: weights ?? randomWeights(shapesOf(kind, config, chosen)) };
}

export function compute(kind: Kind, settings: Settings, round: Rounding): Computed {
  const { config, form, tokens, weights } = settingsOf(kind, settings);
  if (kind === "bert") return reference.bert(config, weights, tokens, { round });
  return kind === "gpt2"
    ? reference.gpt2(config, weights, tokens, round)
    : reference.llama(config, form, weights, tokens, round);
}

/**
 * Rows of the reference. The tolerance of all of them is four times what random roundings of the reference itself change at
 * most.
 */
export function expected(compute: (round: Rounding) => Rows) {
  const values = compute(exact).flat();
  const moved = [1, 2, 3].flatMap((seed) =>
    compute(noisy(seed))
      .flat()
      .map((value, n) => Math.abs(value - values[n % values.length]!)),
  );
  const tolerance = 4 * Math.max(...moved);
  expect(tolerance).toBeLessThan(1e-4 * Math.max(...values.map(Math.abs))); // so that it shows a wrong formula
  return { values: Float64Array.from(values), tolerance: Float64Array.from(values, () => tolerance) };
}

/** Whether a weight is kept as int8: all matrices are. */
const isMatrix = (name: string) => name.endsWith(".weight") && !/norm|ln_/i.test(name);

/** The weight that int8 stands for: integers times max|w| / 127 of each output. GPT-2 stores an output as a column. */
function int8(name: string, { shape, data }: Weight): Weight {
  const [rows, width] = shape as [number, number];
  const isColumn = /c_attn|c_fc|c_proj/.test(name);
  const scaleOf = (n: number) => {
    const same = (m: number) => (isColumn ? m % width === n % width : Math.floor(m / width) === Math.floor(n / width));
    let largest = 0;
    for (let m = 0; m < rows * width; m++) if (same(m)) largest = Math.max(largest, Math.abs(data[m]!));
    return Math.fround(largest / 127);
  };
  const values = Array.from(data, (value, n) => {
    const scale = scaleOf(n);
    const steps = Math.fround(value / scale);
    const even = 2 * Math.round(steps / 2);
    return (Math.abs(steps - even) === 0.5 ? even : Math.round(steps)) * scale;
  });
  return { shape, data: values };
}

/** The weights of a model that keeps its matrices in int8. */
export function throughInt8(weights: Weights): Weights {
  return new Map([...weights].map(([name, weight]) => [name, isMatrix(name) ? int8(name, weight) : weight]));
}
