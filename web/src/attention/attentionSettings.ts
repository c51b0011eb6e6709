import { namesOf, type NumberList, type OptionReader } from "../call/options.js";
import { OptionError, ShapeError, UnsupportedError } from "../errors/errors.js";
import { describe } from "../foreign/describe.js";
import { FLOATS, type CheckedTensor, type Dtype, type FloatTensorLike, type MaskLike } from "../tensor/tensor.js";
import type { AttentionShape } from "./attentionShape.js";

/** `"zero"`: output and probs 0. `"nan"`: NaN. `"uniform"`: the mean over the keys. `"throw"`: an EmptyRowError. */
export type EmptyRows = "zero" | "nan" | "uniform" | "throw";

/** Keys visible on either side of the query's position; an omitted side is unbounded. */
export interface Window {
  readonly left?: number;
  readonly right?: number;
}

/**
 * The attention formula's options. For batch b, query head h, query i at position i + offset_b and key j:
 *
 *     s = scale · q_bhi · k_bgj                      "raw"
 *     s = softcap · tanh(s / softcap)                "softcapped"
 *     s = s − alibiSlopes_h · |i + offset_b − j|
 *     s = s + bias_bhij                              "biased"; −∞ where hidden
 *     p = exp(s) / (Σ_visible exp(s) + exp(sink_h))
 *     output = headGain_h · Σ_visible p · v
 *
 * A hidden key contributes exactly nothing, whatever its key, value and bias hold.
 */
export interface AttentionSettingsOptions {
  /** Multiplies q·k; default 1/√headDim. */
  readonly scale?: number;
  /**
   * Hides the keys after the query's position. `true` means `"lower-right"`, the alignment of FlashAttention; PyTorch's
   * `is_causal` is `"upper-left"`. Default false.
   */
  readonly causal?: boolean | "upper-left" | "lower-right";
  /**
   * Position of query 0, one number or one per batch (or ragged sequence); it serves causal, window, alibiSlopes and
   * excludeSelf, and wins over an alignment. May be negative: leading rows then see nothing.
   * Default: `"lower-right"` key length − query length, otherwise 0.
   */
  readonly queryOffset?: number | NumberList;
  /** Keys visible on either side, e.g. Mistral's window W is `{ left: W - 1 }` with causal. Default unbounded. */
  readonly window?: Window;
  /** `[B, numHeads, Sq, Skv]`, broadcast from the right as in NumPy; bool, **true = may attend**. */
  readonly mask?: MaskLike;
  /** `[B, numHeads, Sq, Skv]`, broadcast from the right; added to the scores. −∞ hides the key. */
  readonly bias?: FloatTensorLike | null;
  /** `[B]`, 0…Skv: keys at or past it are padding. Default Skv. */
  readonly keyLengths?: NumberList;
  /** `[B]`, 0…Sq: rows at or past it are padding, and their outputs zero. Default Sq. */
  readonly queryLengths?: NumberList;
  /** Hides the key at the query's own position. Default false. */
  readonly excludeSelf?: boolean;
  /** Bounds the scores smoothly to ±softcap (Gemma 2: 50); 0, the default, is off. */
  readonly softcap?: number;
  /** `[numHeads]`: linear biases by distance (Press et al. 2022); see `alibiSlopes()`. */
  readonly alibiSlopes?: NumberList;
  /** `[numHeads]`: a logit per head that joins the softmax without a value (gpt-oss); −∞ is none. */
  readonly sinks?: NumberList;
  /** `[numHeads]`: multiplies each head's output; 0 gives exact 0. */
  readonly headGain?: NumberList;
  /** What a query row that sees no key yields. Default `"zero"`. */
  readonly emptyRows?: EmptyRows;
  /** `"int8"` would quantise queries, keys and values; measured and not kept, so refused (cpp/README.md says why). */
  readonly precision?: "float32" | "int8";
}

/** A broadcast array and its extents padded to rank 4. */
export interface Broadcast<T extends CheckedTensor> {
  readonly tensor: T;
  readonly extents: readonly [number, number, number, number];
}

/** The options, checked, with defaults in place. */
export interface AttentionSettings {
  readonly scale: number | undefined;
  readonly softcap: number;
  readonly causal: "none" | "upper-left" | "lower-right";
  readonly queryOffset: Int32Array | undefined;
  readonly window: { readonly left: number | undefined; readonly right: number | undefined };
  readonly mask: Broadcast<CheckedTensor<"bool">> | undefined;
  readonly bias: Broadcast<CheckedTensor<"float32" | "float16">> | undefined;
  readonly keyLengths: Int32Array | undefined;
  readonly queryLengths: Int32Array | undefined;
  readonly excludeSelf: boolean;
  readonly alibiSlopes: Float32Array | undefined;
  readonly sinks: Float32Array | undefined;
  readonly headGain: Float32Array | undefined;
  readonly emptyRows: EmptyRows;
}

export const SETTINGS_NAMES = namesOf<AttentionSettingsOptions>({
  scale: true,
  causal: true,
  queryOffset: true,
  window: true,
  mask: true,
  bias: true,
  keyLengths: true,
  queryLengths: true,
  excludeSelf: true,
  softcap: true,
  alibiSlopes: true,
  sinks: true,
  headGain: true,
  emptyRows: true,
  precision: true,
});

/**
 * Reads the formula's options for a call of this shape. What depends on the number of keys is checked by `checkKeys`: on a
 * cache the number is known only when the call's turn has come.
 *
 * @param numSequences - How many queryOffset entries there are: the batch size, or the number of ragged sequences.
 */
export function readSettings(
  options: OptionReader,
  shape: Omit<AttentionShape, "keyLength">,
  numSequences = shape.batchSize,
): AttentionSettings {
  const { batchSize, numHeads, queryLength } = shape;
  refusePrecision(options);
  const softcap = options.number("softcap") ?? 0;
  if (softcap < 0) throw options.refuse("softcap", "be at least 0");
  return {
    scale: options.number("scale"),
    softcap,
    causal: readCausal(options),
    queryOffset: readQueryOffset(options, numSequences),
    window: readWindow(options),
    mask: readBroadcast(options, "mask", nullable(options, "mask", ["bool"])),
    bias: readBroadcast(options, "bias", nullable(options, "bias", FLOATS)),
    keyLengths: options.integers("keyLengths", { min: 0 }, batchSize),
    queryLengths: options.integers("queryLengths", { min: 0, max: queryLength }, batchSize),
    excludeSelf: options.flag("excludeSelf", false),
    alibiSlopes: options.floats("alibiSlopes", numHeads),
    sinks: options.floats("sinks", numHeads, { minusInfinity: true }),
    headGain: options.floats("headGain", numHeads),
    emptyRows: options.oneOf("emptyRows", ["zero", "nan", "uniform", "throw"], "zero"),
  };
}

function refusePrecision(options: OptionReader): void {
  if (options.oneOf("precision", ["float32", "int8"], "float32") === "int8")
    throw new UnsupportedError(`${options.at("precision")} "int8" is not supported`, {
      hint: "Leave `precision` out: int8 is hardly faster and less exact.",
    });
}

function readCausal(options: OptionReader): AttentionSettings["causal"] {
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

function readWindow(options: OptionReader): AttentionSettings["window"] {
  const window = options.object("window", WINDOW_NAMES);
  return { left: window?.integer("left", { min: 0 }), right: window?.integer("right", { min: 0 }) };
}

/** A tensor of the options; null is none. */
function nullable<D extends Dtype>(
  options: OptionReader,
  name: string,
  dtypes: readonly D[],
): CheckedTensor<D> | undefined {
  return options.value(name) === null ? undefined : options.tensor(name, dtypes);
}

/** Pads the extents to rank 4; more axes are left for `checkKeys` to refuse. */
function readBroadcast<T extends CheckedTensor>(
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

/** Checks what of the settings depends on the number of keys. */
export function checkKeys(operation: string, settings: AttentionSettings, shape: AttentionShape): void {
  const { keyLengths } = settings;
  const tooLong = keyLengths?.findIndex((length) => length > shape.keyLength) ?? -1;
  if (tooLong >= 0)
    throw new OptionError(
      `${operation}: keyLengths[${tooLong}] must be an integer from 0 to ${shape.keyLength}, got ${keyLengths![tooLong]}`,
    );
  for (const name of ["mask", "bias"] as const) checkBroadcast(operation, name, settings[name], shape);
}

function checkBroadcast(
  operation: string,
  name: string,
  broadcast: Broadcast<CheckedTensor> | undefined,
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
