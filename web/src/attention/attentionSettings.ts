import { describe } from "../base/describe.js";
import { OptionError, ShapeError, UnsupportedError } from "../base/errors.js";
import type { FormulaData } from "../formula/graph.js";
import { namesOf, type OptionReader } from "../read/options.js";
import { flag, floats, integer, integers, number, object, oneOf, otherwise, own } from "../read/settingKinds.js";
import { namesIn, readTable, type Checked, type Kind, type Row, type TableOf } from "../read/settingTable.js";
import { FLOATS, type Dtype, type PlacedTensor } from "../tensor/tensor.js";
import type { AttentionSettingsOptions, Dropout, EmptyRows, Window } from "./attentionOptions.js";
import type { AttentionShape } from "./attentionShape.js";
import type { SequencePositions } from "./callPositions.js";
import { formulaReading } from "./formulaReading.js";
import { checkKeyLengths } from "./keyLengths.js";

/** A tensor that broadcasts, and its extents padded to rank 4. */
export interface Broadcast<T extends PlacedTensor> {
  readonly tensor: T;
  readonly extents: readonly [number, number, number, number];
}

/** Where ALiBi counts from, if not from indices: `[B, Sq]` and `[B, Skv]`. Both are given, or none. */
interface AlibiPositions {
  readonly alibiQueryPositions?: Int32Array | undefined;
  readonly alibiKeyPositions?: Int32Array | undefined;
}

const DROPOUT_NAMES = namesOf<Dropout>({ rate: true, seed: true });

type Causal = "none" | "upper-left" | "lower-right";

const WINDOW = { left: integer({ min: 0 }), right: integer({ min: 0 }) } satisfies TableOf<Window>;

/** What the readers of settings need. */
type Sizes = Readonly<Record<"batchSize" | "numHeads" | "queryLength" | "numSequences", number>>;

/** A setting that may read where the queries stand. */
function positional<K extends Kind, Value, Rule, S>(
  row: Row<K, Value, Rule, S>,
  readsPosition: (value: Value) => boolean,
): Row<K, Value, Rule, S> & { readonly readsPosition: (value: Value) => boolean } {
  return { ...row, readsPosition };
}

/** A row for each setting; attentionOptions.ts has their texts. Options are read in this order. */
export const SETTINGS = {
  scale: number({ nullable: true }),
  causal: own<Causal>("none", readCausal),
  queryOffset: own(undefined, readQueryOffset),
  window: positional(
    otherwise(object(WINDOW), { left: undefined, right: undefined }),
    ({ left, right }) => (left ?? right) !== undefined,
  ),
  mask: own(undefined, (options, name) => readBroadcast(options, name, nullable(options, name, ["bool"]))),
  bias: own(undefined, (options, name) => readBroadcast(options, name, nullable(options, name, FLOATS))),
  score: positional(own(undefined, readScore), readsQueryPosition),
  visible: positional(own(undefined, readVisible), readsQueryPosition),
  keyLengths: integers({ length: "batchSize" }),
  queryLengths: integers({ length: "batchSize", most: "queryLength" }),
  excludeSelf: positional(flag(), (excludes) => excludes),
  softcap: number({ min: 0, neutral: 0 }),
  alibiSlopes: positional(floats({ length: "numHeads", usual: 0.1 }), (slopes) => slopes !== undefined),
  sinks: floats({ length: "numHeads", minusInfinity: true }),
  headGain: floats({ length: "numHeads" }),
  dropout: own(undefined, readDropout),
  emptyRows: oneOf<EmptyRows>(["zero", "nan", "uniform", "throw"]),
} satisfies TableOf<AttentionSettingsOptions, Sizes>;

type Rows = typeof SETTINGS;

/** The checked options, with defaults. */
export type AttentionSettings = Checked<Rows> & AlibiPositions;

/** The settings that are numbers, flags or lists of numbers. */
export type PlainName = {
  [Name in keyof Rows]: Rows[Name]["kind"] extends "number" | "flag" | "integers" | "floats" ? Name : never;
}[keyof Rows];

export const SETTINGS_NAMES = namesIn(SETTINGS);

/** The settings of a call without options. */
export const NO_SETTINGS = Object.fromEntries(
  SETTINGS_NAMES.map((name) => [name, SETTINGS[name].absent]),
) as unknown as AttentionSettings;

/**
 * Reads the formula's options for a call of this shape. `checkKeys` does the checks that need the number of keys. With
 * a cache that number is known only when it is the call's turn.
 *
 * @param numSequences - How many entries queryOffset has: the batch size, or the number of ragged sequences.
 */
export function readSettings(
  options: OptionReader,
  { batchSize, numHeads, queryLength }: Omit<Sizes, "numSequences">,
  numSequences = batchSize,
): AttentionSettings {
  return readTable(options, SETTINGS, { batchSize, numHeads, queryLength, numSequences });
}

/**
 * With the lengths of keys alone, `causal: true` moves the diagonal of each shorter sequence, because its last query sees
 * its last key: the first queries, which are no padding, see nothing.
 */
export function refuseMovedDiagonal(
  { operation }: OptionReader,
  { causal, keyLengths, queryLengths, queryOffset }: AttentionSettings,
  queryLength: number,
): void {
  if (causal !== "lower-right" || !keyLengths || queryLengths || queryOffset) return;
  const n = keyLengths.findIndex((length) => length < queryLength);
  if (n < 0) return;
  throw new OptionError(
    `${operation}: keyLengths[${n}] must be at least the number of queries with causal: true and without queryLengths, ` +
      `got ${keyLengths[n]} and ${queryLength}`,
    { hint: 'For texts with padding on the right give `queryLengths` too, or `causal: "upper-left"`.' },
  );
}

function readCausal(options: OptionReader, name: string): Causal {
  const value = options.value(name);
  if (typeof value === "boolean") return value ? "lower-right" : "none";
  if (value === "upper-left" || value === "lower-right") return value;
  throw options.refuse(name, 'be true, false, "upper-left" or "lower-right"');
}

function readQueryOffset(options: OptionReader, name: string, { numSequences }: Sizes): Int32Array | undefined {
  if (typeof options.value(name) !== "number") return options.integers(name, {}, numSequences);
  return new Int32Array(numSequences).fill(options.requiredInteger(name));
}

/** undefined also for a rate of 0, which drops nothing. */
function readDropout(options: OptionReader, name: string): Dropout | undefined {
  const given = options.value(name);
  if (typeof given === "number")
    throw options.refuse(name, "be an object", `Give { rate: ${given}, seed }; the seed decides what is dropped.`);
  const dropout = options.object(name, DROPOUT_NAMES)!;
  const rate = dropout.number("rate");
  if (rate === undefined) throw dropout.missing("rate", "a number from 0 to 1");
  if (rate < 0 || rate > 1) throw dropout.refuse("rate", "be a number from 0 to 1");
  const seed = dropout.requiredInteger("seed", { min: 0, max: Number.MAX_SAFE_INTEGER });
  return rate === 0 ? undefined : { rate, seed };
}

/** Refuses dropout together with something else, such as "a cache". */
export function refuseDropout(operation: string, { dropout }: AttentionSettings, other: string): void {
  if (dropout)
    throw new UnsupportedError(`${operation}: dropout is not supported with ${other}`, {
      hint: "Dropout is for training, which reads all keys at once.",
    });
}

/** A tensor option; null counts as absent. */
function nullable<D extends Dtype>(
  options: OptionReader,
  name: string,
  dtypes: readonly D[],
): PlacedTensor<D> | undefined {
  return options.value(name) === null ? undefined : options.placed(name, dtypes);
}

/** Pads the extents to rank 4 and refuses more axes. `checkKeys` checks each extent. */
function readBroadcast<T extends PlacedTensor>(
  options: OptionReader,
  name: string,
  tensor: T | undefined,
): Broadcast<T> | undefined {
  if (!tensor) return undefined;
  const { shape } = tensor;
  if (shape.length > 4)
    throw new ShapeError(
      `${options.at(name)}.shape must broadcast from the right to [batchSize, numHeads, queryLength, keyLength], ` +
        `got ${describe(shape)}`,
    );
  const extents = [...[1, 1, 1, 1].slice(shape.length), ...shape];
  return { tensor, extents: extents as [number, number, number, number] };
}

function readScore(options: OptionReader, name: string): FormulaData | undefined {
  const score = formulaReading.code!.readFormula(options, name);
  if (score && options.value("emptyRows") === "throw")
    throw new UnsupportedError(`${options.at("emptyRows")} "throw" is not supported with score`, {
      hint: "Only the scores say which rows a formula empties. `returns: { lse: true }` shows them: their lse is −∞.",
    });
  return score;
}

function readVisible(options: OptionReader, name: string): FormulaData | undefined {
  const visible = formulaReading.code!.readFormula(options, name);
  if (visible?.graph.nodes.some(({ variable }) => variable === "s"))
    throw new OptionError(`${options.at(name)} must not read s, the score: ${visible.text}`, {
      hint: 'The option score can hide by the score: formula("s < 0 ? -Infinity : s").',
    });
  return visible;
}

function readsQueryPosition(formula: FormulaData | undefined): boolean {
  return formula?.graph.nodes.some(({ variable }) => variable === "q") ?? false;
}

/**
 * Whether a setting other than causal reads where the queries stand. The positions of ALiBi only go with its slopes.
 */
export function readPositions(settings: AttentionSettings): boolean {
  return SETTINGS_NAMES.some((name) => {
    const row = SETTINGS[name];
    return "readsPosition" in row && row.readsPosition(settings[name] as never);
  });
}

/**
 * Checks the settings that depend on the number of keys.
 *
 * @param sequences - The rows of each batch or ragged sequence, and their positions.
 */
export function checkKeys(
  operation: string,
  settings: AttentionSettings,
  shape: AttentionShape,
  sequences: readonly SequencePositions[],
): void {
  checkKeyLengths(operation, settings.keyLengths, () => shape.keyLength);
  for (const name of ["mask", "bias"] as const) checkBroadcast(operation, name, settings[name], shape);
  if (settings.score || settings.visible) formulaReading.code!.checkFormulas(operation, settings, shape, sequences);
}

function checkBroadcast(
  operation: string,
  name: string,
  broadcast: Broadcast<PlacedTensor> | undefined,
  { batchSize, numHeads, queryLength, keyLength }: AttentionShape,
): void {
  const full = [batchSize, numHeads, queryLength, keyLength];
  if (!broadcast || broadcast.extents.every((extent, axis) => extent === 1 || extent === full[axis])) return;
  const given = broadcast.tensor.shape;
  const perKey = given.length === 2 && given[0] === batchSize && given[1] === keyLength;
  throw new ShapeError(
    `${operation}: ${name}.shape must broadcast from the right to ` +
      `[batchSize, numHeads, queryLength, keyLength] = ${describe(full)}, got ${describe(given)}`,
    {
      hint: perKey
        ? `For one row per batch use shape [${batchSize}, 1, 1, ${keyLength}], or keyLengths for padding.`
        : undefined,
    },
  );
}
