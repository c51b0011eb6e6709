// Illegal values of every setting of attention. Those of numbers, flags, words and lists follow from the rules of the table.

import { expect, test } from "@jest/globals";
import { HeadwiseError, type Attention } from "headwise";

import { SETTINGS } from "../../web/src/attention/attentionSettings.js";
import type { FloatsRule, IntegersRule, NumberRule } from "../../web/src/attention/settingKinds.js";
import { describe as text } from "../../web/src/foreign/describe.js";
import { randomTensor } from "./randomTensor.js";

/** What the lengths of lists depend on. */
export type Lengths = Readonly<Record<"batchSize" | "numHeads", number>>;

export interface IllegalSetting {
  readonly name: string;
  readonly what: string;
  readonly error: "OptionError" | "ShapeError";
  /** A part of the message. */
  readonly message: string;
  /** undefined if a call of these lengths has no such value. */
  readonly value: (lengths: Lengths) => unknown;
}

type Table = typeof SETTINGS;
type Name = keyof Table;
type OwnName = { [N in Name]: Table[N]["kind"] extends "own" ? N : never }[Name];

/** An illegal value, and the words after the name in its message. */
type Sample = readonly [value: unknown, rule: string, error?: IllegalSetting["error"]];

const BROADCAST = ".shape must broadcast from the right to [batchSize, numHeads, queryLength, keyLength]";

/** Of the settings with a reader of their own; the compiler asks for a new one. */
const OWN: Readonly<Record<OwnName, readonly Sample[]>> = {
  causal: ["left", 1, null].map((value) => [value, ' must be true, false, "upper-left" or "lower-right"']),
  queryOffset: [
    [0.5, " must be an integer"],
    ["0", " must be a list of numbers"],
  ],
  window: [
    [3, " must be an object"],
    [{ left: -1 }, ".left must be an integer of at least 0"],
    [{ right: 1.5 }, ".right must be an integer of at least 0"],
  ],
  mask: [
    [true, " must be a tensor"],
    [{ data: new Uint8Array(101), shape: [101] }, BROADCAST, "ShapeError"],
    [{ data: new Float32Array(1), shape: [1] }, " must be of dtype bool"],
  ],
  bias: [
    ["none", " must be a tensor"],
    [{ data: new Float32Array(101), shape: [101] }, BROADCAST, "ShapeError"],
    [{ data: new Float32Array(1), shape: [1, 1, 1, 1, 1] }, BROADCAST, "ShapeError"],
  ],
  score: [
    ["s - 1", " must be a formula"],
    [{}, " must be a formula"],
  ],
  visible: [
    ["k <= q", " must be a formula"],
    [{}, " must be a formula"],
  ],
  dropout: [
    [0.1, " must be an object"],
    [{ rate: 2, seed: 1 }, ".rate must be a number from 0 to 1"],
    [{ rate: 0.1 }, ".seed must be given"],
    [{ rate: 0.1, seed: -1 }, ".seed must be an integer from 0 to"],
  ],
};

const NO_NUMBERS = [NaN, Infinity, 1e39, "1", 1n, true];

function ofNumber({ min, nullable }: NumberRule<unknown>): readonly Sample[] {
  const values = [...NO_NUMBERS, ...(nullable ? [] : [null])];
  const low: Sample[] = min === undefined ? [] : [[min - 1, ` must be at least ${min}, got ${min - 1}`]];
  return [...values.map((value): Sample => [value, ` must be a finite number, got ${text(value)}`]), ...low];
}

function ofWords(words: readonly string[]): readonly Sample[] {
  const rule = ` must be ${words.map((word) => JSON.stringify(word)).join(" or ")}, got `;
  return [`${words[0]}s`, 0, null].map((value) => [value, rule + text(value)]);
}

/** Of a list: no list, a list of another length, and lists with an illegal element. */
function ofList(
  name: string,
  length: IntegersRule["length"],
  elements: readonly (readonly [element: unknown, rule: string])[],
): readonly IllegalSetting[] {
  const count = (lengths: Lengths) => lengths[length as keyof Lengths];
  return [
    ...[1, "steep", null].map((value): IllegalSetting => ({
      name,
      what: `${name} = ${text(value)}`,
      error: "OptionError",
      message: `${name} must be a list of numbers, got ${text(value)}`,
      value: () => value,
    })),
    {
      name,
      what: `${name} of another length`,
      error: "ShapeError",
      message: `${name} must have length`,
      value: (lengths) => new Array<number>(count(lengths) + 17).fill(1),
    },
    ...elements.map(([element, rule]): IllegalSetting => ({
      name,
      what: `${name} = [${text(element)}, …]`,
      error: "OptionError",
      message: `${name}[0] must be ${rule}`,
      value: (lengths) => (count(lengths) > 0 ? new Array<unknown>(count(lengths)).fill(element) : undefined),
    })),
  ];
}

function ofFloats(name: string, { length, minusInfinity }: FloatsRule): readonly IllegalSetting[] {
  const rule = minusInfinity ? "finite or -Infinity" : "finite";
  const elements = [NaN, Infinity, "1", ...(minusInfinity ? [] : [-Infinity])];
  return ofList(
    name,
    length,
    elements.map((element) => [element, `${rule}, got ${text(element)}`]),
  );
}

const ofIntegers = (name: string, { length }: IntegersRule) =>
  ofList(name, length, [
    ...[-1, 0.5, NaN, "1"].map((element) => [element, "an integer"] as const),
    [2 ** 20, "an integer from 0 to"], // beyond every sequence of the tests
  ]);

function illegalOf(name: Name): readonly IllegalSetting[] {
  const row = SETTINGS[name];
  if (row.kind === "floats") return ofFloats(name, row.rule);
  if (row.kind === "integers") return ofIntegers(name, row.rule);
  return samplesOf(name).map(([value, rule, error = "OptionError"]) => ({
    name,
    what: `${name} = ${text(value)}`,
    error,
    message: name + rule,
    value: () => value,
  }));
}

function samplesOf(name: Name): readonly Sample[] {
  const row = SETTINGS[name];
  if (row.kind === "number") return ofNumber(row.rule);
  if (row.kind === "oneOf") return ofWords(row.rule);
  if (row.kind === "flag") return [0, 1, "true"].map((value) => [value, ` must be true or false, got ${text(value)}`]);
  return OWN[name as OwnName];
}

export const illegalSettings: readonly IllegalSetting[] = (Object.keys(SETTINGS) as Name[]).flatMap(illegalOf);

const lengths = { batchSize: 1, numHeads: 2 };
const x = randomTensor(1, [1, 2, 3, 4]);
const rows = randomTensor(2, [1, 3, 8]);
const matrix = randomTensor(3, [8, 8]);
const weights = { Wq: matrix, Wk: matrix, Wv: matrix, Wo: matrix };
const shape = { numHeads: 2, queryLength: 3, headDim: 4 };

/** Every operation that takes the settings. */
async function operationsOf(hw: Attention): Promise<Readonly<Record<string, (options: object) => unknown>>> {
  const layer = await hw.multiHeadAttention({ numHeads: 2, weights });
  const [filled, layerCache] = [await hw.kvCache({ numKvHeads: 2, headDim: 4 }), await layer.kvCache()];
  await filled.append(x, x);
  const { output, lse } = await hw.scaledDotProductAttention(x, x, x, { returns: { lse: true } });
  const back = { query: x, key: x, value: x, output, lse, dOutput: x };
  return {
    scaledDotProductAttention: (options) => hw.scaledDotProductAttention(x, x, x, options),
    attentionBackward: (options) => hw.attentionBackward({ ...back, ...options }),
    plan: (options) => hw.plan(shape, options),
    warmup: (options) => hw.warmup(shape, options),
    "layer.forward": (options) => layer.forward(rows, options),
    "layer.forward with a cache": (options) => layer.forward(rows, { ...options, cache: layerCache }),
    "cache.attend": (options) => filled.attend(x, options),
    "cache.step": (options) => filled.step(x, x, x, options),
  };
}

/** Every operation of the instance refuses every illegal value, says the rule, and computes the same afterwards. */
export function illegalSettingTests(instance: () => Attention): void {
  test.each(illegalSettings)("$what is refused by every operation", async ({ name, error, message, value }) => {
    const operations = await operationsOf(instance());
    const usual = () => operations["scaledDotProductAttention"]!({});
    const before = await usual();
    const outcomes = await Promise.all(
      Object.entries(operations).map(async ([operation, call]) => {
        const reason: unknown = await Promise.resolve({ [name]: value(lengths) })
          .then(call)
          .catch((thrown: unknown) => thrown);
        if (!HeadwiseError.is(reason)) return `${operation}: it was computed`;
        return reason.name === error && reason.message.includes(message) ? "refused" : reason.message;
      }),
    );
    expect(outcomes).toEqual(outcomes.map(() => "refused"));
    expect(await usual()).toEqual(before);
  });
}
