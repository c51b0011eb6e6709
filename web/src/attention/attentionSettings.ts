import { namesOf, type NumberList, type OptionReader } from "../call/options.js";
import { OptionError, ShapeError, UnsupportedError } from "../errors/errors.js";
import { describe } from "../foreign/describe.js";
import type { FormulaData } from "../formula/graph.js";
import { readFormula } from "../formula/readFormula.js";
import { FLOATS, type Dtype, type FloatTensorLike, type MaskLike, type PlacedTensor } from "../tensor/tensor.js";
import type { AttentionShape } from "./attentionShape.js";
import type { SequencePositions } from "./callPositions.js";
import { checkFormulas, type Formulas } from "./formulaChecks.js";

/**
 * What a query row that sees no key gives. `"zero"`: output and probs 0. `"nan"`: NaN. `"uniform"`: the mean over the
 * keys. `"throw"`: an EmptyRowError.
 */
export type EmptyRows = "zero" | "nan" | "uniform" | "throw";

/** How many keys are visible on each side of the query's position. An absent side has no limit. */
export interface Window {
  readonly left?: number | undefined;
  readonly right?: number | undefined;
}

/**
 * Drops weights at random, in training (Srivastava et al. 2014). A weight becomes 0 with probability `rate`, and the
 * others are divided by 1 − rate, after the softmax.
 */
export interface Dropout {
  /** From 0 (nothing is dropped) to 1 (every weight is 0). */
  readonly rate: number;
  /**
   * A whole number from 0 to 2⁵³ − 1. Give each step of training, and each layer, a seed of its own. Equal seeds drop
   * the same weights on every engine, for every number of threads and every layout; so the gradient needs the forward's
   * seed.
   */
  readonly seed: number;
}

/**
 * The options of the attention formula. For batch b, query head h, key head g, query i at position i + offset_b, and
 * key j:
 *
 *     s = scale · q_bhi · k_bgj                      "raw"
 *     s = softcap · tanh(s / softcap)                "softcapped"
 *     s = s − alibiSlopes_h · |i + offset_b − j|     or the distance of `positions`, if they are given
 *     s = s + bias_bhij                              "biased"; −∞ where hidden
 *     s = score(s, q, k, h, …)                       "formula"; −∞ where hidden
 *     p = exp(s) / (Σ_visible exp(s) + exp(sink_h))
 *     w = p / (1 − rate), or 0 if dropped            p without dropout
 *     output = headGain_h · Σ_visible w · v
 *
 * A hidden key has no effect at all, even if its key, value, bias or `score` is NaN or infinite.
 */
export interface AttentionSettingsOptions {
  /** Multiplies q·k. Default 1/√headDim. */
  readonly scale?: number | undefined;
  /**
   * Hides the keys after the query's position. `true` means `"lower-right"`, the alignment of FlashAttention. PyTorch's
   * `is_causal` is `"upper-left"`. Default false.
   */
  readonly causal?: boolean | "upper-left" | "lower-right" | undefined;
  /**
   * The position of query 0: a number, or one for each batch (or ragged sequence). causal, window, alibiSlopes and
   * excludeSelf use it, and it overrides the alignment of causal. It may be negative: then the first rows see no key.
   * Default: key length − query length if causal is `"lower-right"`, otherwise 0.
   */
  readonly queryOffset?: number | NumberList | undefined;
  /** Keys visible on each side. For example, Mistral's window W is `{ left: W - 1 }` with causal. Default: no limit. */
  readonly window?: Window | undefined;
  /** `[B, numHeads, Sq, Skv]`, broadcast from the right as in NumPy; bool, **true = may attend**. Default: all. */
  readonly mask?: MaskLike | undefined;
  /** `[B, numHeads, Sq, Skv]`, broadcast from the right. It is added to the scores; −∞ hides the key. */
  readonly bias?: FloatTensorLike | null | undefined;
  /**
   * A formula that gives the new score of each visible pair; `s` is the score so far. −∞ hides the key, and NaN poisons
   * its own row. `formula` of `headwise/formula` makes it: `formula("s - slope[h] * abs(q - k)", { slope })`. Positions
   * must be below 2²⁴. Not with emptyRows `"throw"`.
   */
  readonly score?: FormulaData | undefined;
  /**
   * A formula that says which pairs are visible, without `s`: `formula("doc[q] == doc[k]", { doc })`. A key is visible
   * if the formula is true (neither 0 nor NaN) and every other rule allows it. Positions must be below 2²⁴.
   */
  readonly visible?: FormulaData | undefined;
  /** `[B]`, from 0 to Skv. Keys from this index on are padding. Default Skv. */
  readonly keyLengths?: NumberList | undefined;
  /** `[B]`, from 0 to Sq. Query rows from this index on are padding, and their outputs are 0. Default Sq. */
  readonly queryLengths?: NumberList | undefined;
  /** Hides the key that has the query's own position. Default false. */
  readonly excludeSelf?: boolean | undefined;
  /** Limits the scores smoothly to ±softcap (Gemma 2: 50). Default 0: no limit. */
  readonly softcap?: number | undefined;
  /** `[numHeads]`: slopes of a bias that grows with distance (ALiBi, Press et al. 2022); see `alibiSlopes()`. */
  readonly alibiSlopes?: NumberList | undefined;
  /**
   * `[numHeads]`: a logit of each head that has no key or value and joins the softmax's sum (gpt-oss). −∞ means none.
   */
  readonly sinks?: NumberList | undefined;
  /** `[numHeads]`: multiplies the output of each head; 0 gives exactly 0. Default 1. */
  readonly headGain?: NumberList | undefined;
  /**
   * Drops weights at random, in training: `{ rate: 0.1, seed: step }`. lse, entropy and scores are those without dropout;
   * probs and topK have the weights that multiply the values, with dropout. A row that sees no key follows emptyRows. Not
   * with a cache, nor with `patch.probs`. Default: none.
   */
  readonly dropout?: Dropout | undefined;
  /** What a query row that sees no key yields. Default `"zero"`. */
  readonly emptyRows?: EmptyRows | undefined;
}

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

/** The checked options, with defaults. */
export type AttentionSettings = Readonly<ReturnType<typeof readSettings>> & AlibiPositions;

export const SETTINGS_NAMES = namesOf<AttentionSettingsOptions>({
  scale: true,
  causal: true,
  queryOffset: true,
  window: true,
  mask: true,
  bias: true,
  score: true,
  visible: true,
  keyLengths: true,
  queryLengths: true,
  excludeSelf: true,
  softcap: true,
  alibiSlopes: true,
  sinks: true,
  headGain: true,
  dropout: true,
  emptyRows: true,
});

/**
 * Reads the formula's options for a call of this shape. `checkKeys` does the checks that need the number of keys. With
 * a cache that number is known only when it is the call's turn.
 *
 * @param numSequences - How many entries queryOffset has: the batch size, or the number of ragged sequences.
 */
export function readSettings(
  options: OptionReader,
  shape: Omit<AttentionShape, "keyLength">,
  numSequences = shape.batchSize,
) {
  const { batchSize, numHeads, queryLength } = shape;
  const softcap = options.number("softcap") ?? 0;
  if (softcap < 0) throw options.refuse("softcap", "be at least 0");
  return {
    scale: options.value("scale") === null ? undefined : options.number("scale"),
    softcap,
    causal: readCausal(options),
    queryOffset: readQueryOffset(options, numSequences),
    window: readWindow(options),
    mask: readBroadcast(options, "mask", nullable(options, "mask", ["bool"])),
    bias: readBroadcast(options, "bias", nullable(options, "bias", FLOATS)),
    ...readFormulas(options),
    keyLengths: options.integers("keyLengths", { min: 0 }, batchSize),
    queryLengths: options.integers("queryLengths", { min: 0, max: queryLength }, batchSize),
    excludeSelf: options.flag("excludeSelf", false),
    alibiSlopes: options.floats("alibiSlopes", numHeads),
    sinks: options.floats("sinks", numHeads, { minusInfinity: true }),
    headGain: options.floats("headGain", numHeads),
    /** undefined also for a rate of 0, which drops nothing */
    dropout: readDropout(options),
    emptyRows: options.oneOf<EmptyRows>("emptyRows", ["zero", "nan", "uniform", "throw"], "zero"),
  } satisfies Record<keyof AttentionSettingsOptions, unknown>;
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

function readCausal(options: OptionReader): "none" | "upper-left" | "lower-right" {
  const value = options.has("causal") ? options.value("causal") : false;
  if (typeof value === "boolean") return value ? "lower-right" : "none";
  if (value === "upper-left" || value === "lower-right") return value;
  throw options.refuse("causal", 'be true, false, "upper-left" or "lower-right"');
}

function readQueryOffset(options: OptionReader, numSequences: number): Int32Array | undefined {
  if (typeof options.value("queryOffset") !== "number") return options.integers("queryOffset", {}, numSequences);
  return new Int32Array(numSequences).fill(options.requiredInteger("queryOffset"));
}

const WINDOW_NAMES = namesOf<Window>({ left: true, right: true });

function readWindow(options: OptionReader): { readonly left: number | undefined; readonly right: number | undefined } {
  const window = options.object("window", WINDOW_NAMES);
  return { left: window?.integer("left", { min: 0 }), right: window?.integer("right", { min: 0 }) };
}

const DROPOUT_NAMES = namesOf<Dropout>({ rate: true, seed: true });

function readDropout(options: OptionReader): Dropout | undefined {
  const given = options.value("dropout");
  if (typeof given === "number")
    throw options.refuse("dropout", "be an object", `Give { rate: ${given}, seed }; the seed decides what is dropped.`);
  const dropout = options.object("dropout", DROPOUT_NAMES);
  if (!dropout) return undefined;
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

/** Reads the formulas, and refuses what no engine can do with them. */
function readFormulas(options: OptionReader): Formulas {
  const [score, visible] = [readFormula(options, "score"), readFormula(options, "visible")];
  if (visible?.graph.nodes.some(({ variable }) => variable === "s"))
    throw new OptionError(`${options.at("visible")} must not read s, the score: ${visible.text}`, {
      hint: 'The option score can hide by the score: formula("s < 0 ? -Infinity : s").',
    });
  if (score && options.value("emptyRows") === "throw")
    throw new UnsupportedError(`${options.at("emptyRows")} "throw" is not supported with score`, {
      hint: "Only the scores say which rows a formula empties. `returns: { lse: true }` shows them: their lse is −∞.",
    });
  return { score, visible };
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
  const { keyLengths } = settings;
  const tooLong = keyLengths?.findIndex((length) => length > shape.keyLength) ?? -1;
  if (tooLong >= 0)
    throw new OptionError(
      `${operation}: keyLengths[${tooLong}] must be an integer from 0 to ${shape.keyLength}, got ${keyLengths![tooLong]}`,
    );
  for (const name of ["mask", "bias"] as const) checkBroadcast(operation, name, settings[name], shape);
  checkFormulas(operation, settings, shape, sequences);
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
