import { namesOf, type NumberList, type OptionReader } from "../call/options.js";
import { OptionError, ShapeError, UnsupportedError } from "../errors/errors.js";
import { describe } from "../foreign/describe.js";
import { fromHalf } from "../tensor/half.js";
import { FLOATS, type CheckedFloats, type FloatTensorLike } from "../tensor/tensor.js";

/**
 * Changes a rotary embedding for contexts that are longer than those of the training. The formulas are the published
 * ones, as in Hugging Face transformers.
 *
 * - `"linear"` (Chen et al. 2023) divides every angle by `factor`.
 * - `"ntk"` raises the base.
 * - `"dynamic-ntk"` raises the base as the sequence grows beyond originalLength.
 * - `"yarn"` (Peng et al. 2023) and `"llama3"` (Llama 3.1) divide the angles of slow pairs, keep the angles of fast
 *   pairs, and blend between.
 * - `"longrope"` (Ding et al. 2024; Phi-3, Phi-4) divides the angle of each pair by a factor of its own.
 */
export type RotaryScaling =
  | { readonly kind: "linear" | "ntk"; readonly factor: number }
  | {
      readonly kind: "dynamic-ntk";
      readonly factor: number;
      /** Context length of the training, in tokens. */
      readonly originalLength: number;
      /** Current length in tokens. Default: the highest position + 1. */
      readonly sequenceLength?: number | undefined;
    }
  | {
      readonly kind: "yarn";
      readonly factor: number;
      /** Context length of the training, in tokens. */
      readonly originalLength: number;
      /** Pairs with more turns than this within originalLength keep their angle. Default 32. */
      readonly betaFast?: number | undefined;
      /** Pairs with fewer turns than this have their angle divided by factor. Default 1. */
      readonly betaSlow?: number | undefined;
      /** Whether the blend begins and ends at whole pairs. Default true (gpt-oss uses false). */
      readonly truncate?: boolean | undefined;
      /** Factor on cos and sin. Default: 0.1·ln(factor) + 1, or the value from mscale and mscaleAllDim. */
      readonly attentionFactor?: number | undefined;
      /**
       * If mscale and mscaleAllDim are given, attentionFactor is (0.1·mscale·ln(factor) + 1) /
       * (0.1·mscaleAllDim·ln(factor) + 1) (DeepSeek).
       */
      readonly mscale?: number | undefined;
      /** See mscale. */
      readonly mscaleAllDim?: number | undefined;
    }
  | {
      readonly kind: "llama3";
      readonly factor: number;
      /** Context length of the training, in tokens. */
      readonly originalLength: number;
      /** Pairs with fewer turns than this within originalLength have their angle divided by factor. Default 1. */
      readonly lowFreqFactor?: number | undefined;
      /** Pairs with more turns than this keep their angle. Default 4. */
      readonly highFreqFactor?: number | undefined;
    }
  | {
      readonly kind: "longrope";
      /** The length of texts divided by originalLength. Only attentionFactor follows from it. */
      readonly factor: number;
      /** Context length of the training, in tokens; greater than 1. */
      readonly originalLength: number;
      /** rotaryDim / 2 numbers by which the angles are divided while sequenceLength is at most originalLength. */
      readonly shortFactor: FrequencyList;
      /** rotaryDim / 2 numbers by which the angles are divided if sequenceLength exceeds originalLength. */
      readonly longFactor: FrequencyList;
      /** Current length in tokens. Default: the highest position of the call + 1. Caches need it. */
      readonly sequenceLength?: number | undefined;
      /** Factor on cos and sin. Default: √(1 + ln(factor) / ln(originalLength)), or 1 if factor is at most 1. */
      readonly attentionFactor?: number | undefined;
    };

/** How angles are decided, in the order of RotaryScaling in position.h. */
export const ANGLE_KINDS = [
  "none",
  "linear",
  "ntk",
  "dynamic-ntk",
  "yarn",
  "llama3",
  "longrope",
  "frequencies",
  "tables",
] as const;

/** The number of its kind in position.h, and in saved caches. */
export function kindNumber({ scaling, frequencies, tables }: CheckedAngles): number {
  return ANGLE_KINDS.indexOf(tables ? "tables" : frequencies ? "frequencies" : (scaling?.kind ?? "none"));
}

/** A number for each pair of features. All digits of float64 are used. */
export type FrequencyList = NumberList | Float64Array;

/** Angles of a rotary embedding (Su et al. 2021): pair m turns by position · base^(−2m / rotaryDim), in radians. */
export interface RotaryAngles {
  /** Number of features that turn; even. The features after them stay as they are. Default: all. */
  readonly rotaryDim?: number | undefined;
  /**
   * true: a pair is two neighbouring features (GPT-J). false, the default: its features are rotaryDim / 2 apart
   * (GPT-NeoX, Llama).
   */
  readonly interleaved?: boolean | undefined;
  /** Greater than 0, for `"yarn"` than 1. Default 10000. */
  readonly base?: number | undefined;
  /** Scaling for long contexts. Default: none. */
  readonly scaling?: RotaryScaling | undefined;
  /**
   * Frequencies of your own: rotaryDim / 2 numbers. Pair m turns by position · frequencies[m], in radians. They replace
   * base and scaling.
   */
  readonly frequencies?: FrequencyList | undefined;
  /** Factor on cos and sin of your own frequencies; greater than 0. Default 1. */
  readonly attentionFactor?: number | undefined;
  /**
   * Your own tables `[rows, rotaryDim/2]`, float32 or float16: positions are row numbers. They replace base, scaling and
   * frequencies. A token at a position that is no row is refused.
   */
  readonly cos?: FloatTensorLike | undefined;
  readonly sin?: FloatTensorLike | undefined;
  /**
   * M-RoPE (Wang et al. 2024; Qwen2-VL): three numbers of pairs, which sum to rotaryDim / 2. With positions `[3, B, S]`
   * the pairs of section i turn by positions[i]. Layers and caches take them.
   */
  readonly sections?: NumberList | undefined;
}

/** Tables of cos and sin, `[rows, rotaryDim/2]`. */
export interface AngleTables {
  readonly cos: Float32Array;
  readonly sin: Float32Array;
  readonly rows: number;
}

/** Checked angles. If the head width was not known, rotaryDim 0 means the whole head. */
export interface CheckedAngles {
  readonly rotaryDim: number;
  readonly interleaved: boolean;
  readonly base: number;
  readonly scaling: ({ readonly kind: RotaryScaling["kind"] } & ScalingNumbers) | undefined;
  /** Instead of base and scaling. */
  readonly frequencies?: Float64Array | undefined;
  /** With frequencies. */
  readonly attentionFactor?: number | undefined;
  /** Instead of base, scaling and frequencies. */
  readonly tables?: AngleTables | undefined;
  /** How many pairs turn by each plane of positions. */
  readonly sections?: readonly number[] | undefined;
}

interface ScalingNumbers {
  readonly factor: number;
  readonly originalLength?: number | undefined;
  readonly sequenceLength?: number | undefined;
  readonly betaFast?: number | undefined;
  readonly betaSlow?: number | undefined;
  readonly truncate?: boolean | undefined;
  readonly attentionFactor?: number | undefined;
  readonly mscale?: number | undefined;
  readonly mscaleAllDim?: number | undefined;
  readonly lowFreqFactor?: number | undefined;
  readonly highFreqFactor?: number | undefined;
  readonly shortFactor?: Float64Array | undefined;
  readonly longFactor?: Float64Array | undefined;
}

/** Names of the options that `readAngles` reads. */
export const ANGLE_NAMES = namesOf<RotaryAngles>({
  rotaryDim: true,
  interleaved: true,
  base: true,
  scaling: true,
  frequencies: true,
  attentionFactor: true,
  cos: true,
  sin: true,
  sections: true,
});

/** The options of each scaling, without `kind` and `factor`. */
export const SCALING_NAMES: Readonly<Record<RotaryScaling["kind"], readonly string[]>> = {
  linear: [],
  ntk: [],
  "dynamic-ntk": namesOf<ScalingOf<"dynamic-ntk">>({ originalLength: true, sequenceLength: true }),
  yarn: namesOf<ScalingOf<"yarn">>({
    originalLength: true,
    betaFast: true,
    betaSlow: true,
    truncate: true,
    attentionFactor: true,
    mscale: true,
    mscaleAllDim: true,
  }),
  llama3: namesOf<ScalingOf<"llama3">>({ originalLength: true, lowFreqFactor: true, highFreqFactor: true }),
  longrope: namesOf<ScalingOf<"longrope">>({
    originalLength: true,
    shortFactor: true,
    longFactor: true,
    sequenceLength: true,
    attentionFactor: true,
  }),
};

type ScalingOf<K extends RotaryScaling["kind"]> = Omit<Extract<RotaryScaling, { readonly kind: K }>, "kind" | "factor">;

export const KINDS = Object.keys(SCALING_NAMES) as RotaryScaling["kind"][];

/** Reads the options of the angles, by the rules of `validate_rotary` in the C++ core. `headDim` is the width of a head. */
export function readAngles(options: OptionReader, headDim: number): CheckedAngles {
  const rotaryDim = options.integer("rotaryDim", { min: 2 });
  if ((rotaryDim ?? headDim) % 2 !== 0 || (rotaryDim ?? headDim) > headDim)
    throw new OptionError(
      `${options.at("rotaryDim")} must be even and at most headDim, ` + `got ${rotaryDim ?? headDim} and ${headDim}`,
    );
  const base = options.number("base") ?? 10000;
  if (base <= 0) throw options.refuse("base", "be greater than 0");
  const pairs = (rotaryDim ?? headDim) / 2;
  const own = readOwnAngles(options, pairs);
  const scaling = readScaling(options, pairs);
  const sections = readSections(options, pairs);
  if (scaling?.kind === "yarn" && base <= 1) throw options.refuse("base", 'be greater than 1 for "yarn"');
  return {
    rotaryDim: rotaryDim ?? headDim,
    interleaved: options.flag("interleaved", false),
    base,
    scaling,
    ...own,
    ...(sections && { sections }),
  };
}

function readSections(options: OptionReader, pairs: number): number[] | undefined {
  const sections = options.integers("sections", { min: 0, max: pairs }, 3);
  if (!sections) return undefined;
  const sum = sections.reduce((all, count) => all + count, 0);
  if (sum !== pairs)
    throw new OptionError(`${options.at("sections")} must sum to rotaryDim / 2, got ${sum} and ${pairs}`);
  return [...sections];
}

/** Refuses sections where positions have one plane. */
export function refuseSections(options: OptionReader): void {
  if (!options.has("sections")) return;
  throw new UnsupportedError(`${options.at("sections")} must be absent: only layers and caches turn by sections`, {
    hint: 'position: { kind: "rotary", sections } of a layer, or rotary: { sections } of a cache.',
  });
}

/** Frequencies or tables of the caller's own. */
function readOwnAngles(
  options: OptionReader,
  pairs: number,
): Pick<CheckedAngles, "frequencies" | "attentionFactor" | "tables"> {
  const tables = readTables(options, pairs);
  const frequencies = options.doubles("frequencies", pairs);
  const attentionFactor = options.number("attentionFactor");
  const given = tables ? "cos and sin are" : "frequencies are";
  const replaced = tables ? ["base", "scaling", "frequencies", "attentionFactor"] : ["base", "scaling"];
  for (const name of replaced)
    if ((tables ?? frequencies) && options.has(name))
      throw new OptionError(`${options.at(name)} must be absent when ${given} given`);
  if (attentionFactor !== undefined && !frequencies)
    throw options.refuse("attentionFactor", "be absent without frequencies", "A scaling has its own attentionFactor.");
  if (attentionFactor !== undefined && attentionFactor <= 0)
    throw options.refuse("attentionFactor", "be greater than 0");
  return { ...(tables && { tables }), ...(frequencies && { frequencies, attentionFactor: attentionFactor ?? 1 }) };
}

function readTables(options: OptionReader, half: number): AngleTables | undefined {
  const cos = options.tensor("cos", FLOATS);
  const sin = options.tensor("sin", FLOATS);
  if (!cos && !sin) return undefined;
  if (!cos || !sin) throw new OptionError(`${options.operation}: cos and sin must be given together`);
  const check = (name: string, { shape }: CheckedFloats) => {
    if (shape.length !== 2 || shape[1] !== half)
      throw new ShapeError(
        `${options.at(name)}.shape must be [rows, rotaryDim/2] = [rows, ${half}], got ${describe(shape)}`,
        shape[1] === 2 * half ? { hint: "Where a table repeats itself over the pairs, its first half is enough." } : {},
      );
  };
  check("cos", cos);
  check("sin", sin);
  if (cos.shape[0] !== sin.shape[0])
    throw new ShapeError(
      `${options.operation}: cos and sin must have the same rows, got ${cos.shape[0]} and ${sin.shape[0]}`,
    );
  return { cos: copyOf(cos), sin: copyOf(sin), rows: cos.shape[0]! };
}

function copyOf({ data, dtype }: CheckedFloats): Float32Array {
  return dtype === "float16" ? fromHalf(data as Uint16Array) : Float32Array.from(data);
}

/** Throws if tables have no row for a position. */
export function checkTableRows(
  operation: string,
  { tables }: CheckedAngles,
  positions: ArrayLike<number>,
  name = "positions",
): void {
  if (!tables) return;
  for (let n = 0; n < positions.length; ++n) {
    const position = positions[n]!;
    if (!Number.isInteger(position) || position < 0 || position >= tables.rows)
      throw new OptionError(
        `${operation}: ${name} must be rows of cos and sin, 0 to ${tables.rows - 1}, got ${position}`,
      );
  }
}

/** Whether the angles depend on the length of a call: keys in a cache then have the angles of another length. */
export function followsLength({ scaling }: CheckedAngles): boolean {
  return (scaling?.kind === "dynamic-ntk" || scaling?.kind === "longrope") && scaling.sequenceLength === undefined;
}

function readScaling(options: OptionReader, pairs: number): CheckedAngles["scaling"] {
  const all = options.object("scaling", ["kind", "factor", ...new Set(Object.values(SCALING_NAMES).flat())]);
  if (!all) return undefined;
  if (!all.has("kind")) throw all.refuse("kind", `be given: ${KINDS.join(", ")}`);
  const kind = all.oneOf("kind", KINDS, "linear");
  const scaling = all.narrowed(["kind", "factor", ...SCALING_NAMES[kind]]);
  const atLeast = (name: string, least: number) => {
    const value = scaling.number(name);
    if (value !== undefined && value < least) throw scaling.refuse(name, `be at least ${least}`);
    return value === undefined ? undefined : value + 0; // no −0: it is 0 in a saved cache
  };
  const positive = (name: string) => {
    const value = scaling.number(name);
    if (value !== undefined && value <= 0) throw scaling.refuse(name, "be greater than 0");
    return value;
  };
  const required = (name: string) => {
    if (!scaling.has(name)) throw scaling.refuse(name, `be given for "${kind}"`);
    return positive(name)!;
  };
  const factors = (name: string) => {
    const list = scaling.doubles(name, pairs);
    if (!list) throw scaling.refuse(name, `be given for "${kind}": ${pairs} numbers`);
    const bad = list.findIndex((value) => value <= 0);
    if (bad >= 0) throw new OptionError(`${scaling.at(name)}[${bad}] must be greater than 0, got ${list[bad]}`);
    return list;
  };
  const numbers: ScalingNumbers = {
    factor: required("factor"),
    originalLength: SCALING_NAMES[kind].includes("originalLength") ? required("originalLength") : undefined,
    sequenceLength: positive("sequenceLength"),
    betaFast: positive("betaFast"),
    betaSlow: positive("betaSlow"),
    truncate: scaling.has("truncate") ? scaling.flag("truncate", true) : undefined,
    attentionFactor: positive("attentionFactor"),
    mscale: atLeast("mscale", 0),
    mscaleAllDim: atLeast("mscaleAllDim", 0),
    lowFreqFactor: positive("lowFreqFactor"),
    highFreqFactor: positive("highFreqFactor"),
    ...(kind === "longrope" && { shortFactor: factors("shortFactor"), longFactor: factors("longFactor") }),
  };
  if (kind === "longrope" && numbers.originalLength! <= 1)
    throw scaling.refuse("originalLength", 'be greater than 1 for "longrope"');
  if (kind === "dynamic-ntk" && numbers.factor < 1) throw scaling.refuse("factor", 'be at least 1 for "dynamic-ntk"');
  if ((numbers.betaFast ?? 32) < (numbers.betaSlow ?? 1)) throw scaling.refuse("betaFast", "be at least betaSlow");
  if ((numbers.highFreqFactor ?? 4) <= (numbers.lowFreqFactor ?? 1))
    throw scaling.refuse("highFreqFactor", "be greater than lowFreqFactor");
  return { kind, ...numbers };
}
