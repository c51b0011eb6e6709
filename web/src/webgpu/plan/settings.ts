import type { Dropout } from "../../attention/attentionOptions.js";
import type { AttentionShape } from "../../attention/attentionShape.js";
import type { AttentionSettings, Broadcast } from "../../attention/attentionSettings.js";
import { product } from "../../tensor/product.js";
import { BYTES, type PlacedTensor } from "../../tensor/tensor.js";
import { formulaWordCount } from "../formula/formulaWords.js";
import { BY_SETTINGS, FEATURE, SETTING_PARAMS, type Params, type SettingFeature } from "../kernels/params.js";
import { checkBytes, type Limits } from "./limits.js";
import { broadcastStrides } from "./strides.js";

/**
 * Where the kernels find a setting that is not among the numbers of the call: with the numbers of heads below, with the
 * sequences (sequences.ts), with the words of formulas (formulaWords.ts), or with the positions (`tablesOf`).
 */
type Elsewhere = "heads" | "sequences" | "formulas" | "positions";

type Numbers = { -readonly [Name in keyof Params]: Params[Name] };

/** Writes the numbers that follow from the settings of these names. */
type Write<Name extends keyof AttentionSettings> = (
  params: Numbers,
  settings: Pick<AttentionSettings, Name>,
  shape: AttentionShape,
) => void;

/** With `throw` such a row is never returned. */
const EMPTY_ROWS = { zero: 0, nan: 1, uniform: 2, throw: 0 } as const;

const NO_DROPOUT: Dropout = { rate: 0, seed: 0 };

const PLAIN = Object.entries(SETTING_PARAMS) as readonly [keyof typeof SETTING_PARAMS, PlainName][];

/** The settings that are written as they are. An absent one is 0. */
type PlainName = (typeof SETTING_PARAMS)[keyof typeof SETTING_PARAMS];

/** How each other setting reaches the kernels; the compiler asks for a new one. */
const PLACES = {
  scale(params, { scale }, { headDim }) {
    const all = scale ?? 1 / Math.sqrt(headDim);
    // No product of a query with the scale overflows whose score is within float32.
    const raises = Math.abs(all) > 1;
    params.query_scale = raises ? 1 : all;
    params.score_scale = raises ? all : 1;
  },
  causal: "sequences",
  queryOffset: "sequences",
  window: "sequences",
  mask(params, { mask }) {
    if (!mask) return;
    [params.mask_batch, params.mask_head, params.mask_query, params.mask_key] = broadcastStrides(mask.extents);
  },
  bias(params, { bias }) {
    if (!bias) return;
    [params.bias_batch, params.bias_head, params.bias_query, params.bias_key] = broadcastStrides(bias.extents);
  },
  score: "formulas",
  visible: "formulas",
  keyLengths: "sequences",
  queryLengths: "sequences",
  alibiSlopes: "heads",
  alibiQueryPositions: "positions",
  alibiKeyPositions: "positions",
  sinks: "heads",
  headGain: "heads",
  dropout(params, { dropout: { rate, seed } = NO_DROPOUT }) {
    params.dropout_seed = seed % 2 ** 32;
    params.dropout_seed_high = Math.floor(seed / 2 ** 32);
    params.dropout_least = Math.min(Math.floor(rate * 2 ** 32), 2 ** 32 - 1);
    params.dropout_factor = rate < 1 ? 1 / (1 - rate) : 0;
  },
  emptyRows(params, { emptyRows }) {
    params.empty_rows = EMPTY_ROWS[emptyRows];
  },
} as const satisfies { readonly [Name in Exclude<keyof AttentionSettings, PlainName>]-?: Write<Name> | Elsewhere };

/** The names of the settings that lie in a place. */
type NamesIn<P extends Elsewhere> = {
  [Name in keyof typeof PLACES]: (typeof PLACES)[Name] extends P ? Name : never;
}[keyof typeof PLACES];

const WRITES = Object.values<Write<keyof AttentionSettings> | Elsewhere>(PLACES).filter(
  (place) => typeof place !== "string",
);

/** Writes the numbers that follow from the settings. */
export function writeSettings(params: Numbers, settings: AttentionSettings, shape: AttentionShape): void {
  for (const [param, name] of PLAIN) params[param] = Number(settings[name] ?? 0);
  for (const write of WRITES) write(params, settings, shape);
}

/** What a head has if a setting is absent, in the order of the kernels: see `heads_at` of params.ts. */
const HEADS: Readonly<Record<NamesIn<"heads">, number>> = { alibiSlopes: 0, sinks: -Infinity, headGain: 1 };
const HEAD_NAMES = Object.keys(HEADS) as readonly NamesIn<"heads">[];

export const HEAD_WORDS = HEAD_NAMES.length;

/** The numbers of heads: all heads of one setting, then those of the next. */
export function headNumbers(settings: Pick<AttentionSettings, NamesIn<"heads">>, numHeads: number): Float32Array {
  const numbers = new Float32Array(HEAD_WORDS * numHeads);
  HEAD_NAMES.forEach((name, n) => {
    const given = settings[name];
    if (given) numbers.set(given, n * numHeads);
    else numbers.fill(HEADS[name], n * numHeads, (n + 1) * numHeads);
  });
  return numbers;
}

/** Whether a call has a feature: the compiler asks if it has no setting's name. One of that name comes with the setting. */
function has(name: SettingFeature, settings: AttentionSettings): boolean {
  if (name === "halfBias") return settings.bias?.tensor.dtype === "float16";
  return settings[name === "alibi" ? "alibiSlopes" : name] !== undefined;
}

/** The bits of `features` that follow from the settings. */
export function settingFeatures(settings: AttentionSettings): number {
  return BY_SETTINGS.reduce((bits, name) => bits | (has(name, settings) ? FEATURE[name] : 0), 0);
}

/** Throws if an array of the settings exceeds a limit of the device. */
export function checkSettings(
  { operation, settings }: { readonly operation: string; readonly settings: AttentionSettings },
  limits: Limits,
): void {
  const bytesOf = (given: Broadcast<PlacedTensor> | undefined) =>
    given ? BYTES[given.tensor.dtype] * product(given.tensor.shape) : 0;
  checkBytes(operation, "mask", bytesOf(settings.mask), limits);
  checkBytes(operation, "bias", bytesOf(settings.bias), limits);
  checkBytes(operation, "the formulas' tables", 4 * formulaWordCount(settings), limits);
}
