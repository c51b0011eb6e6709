import { describe } from "../base/describe.js";
import { OptionError, ShapeError, UnsupportedError } from "../base/errors.js";
import type { NumberList, OptionReader } from "../read/options.js";
import { flag, integer, number, ofCall, otherwise, own, required } from "../read/settingKinds.js";
import { namesIn, readRow, readTable, type TableOf } from "../read/settingTable.js";
import { fromHalf } from "../tensor/half.js";
import { FLOATS, type CheckedFloats, type FloatTensorLike } from "../tensor/tensor.js";
import { SCALING_OTHERS } from "./otherNames.js";

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
  /** Greater than 0; for `"yarn"` greater than 1. Default 10000. */
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

/** What the readers of angles need. */
export interface Pairs {
  readonly pairs: number;
}

/** A row for each option of the angles. */
export const ANGLES = {
  rotaryDim: integer({ min: 2 }),
  interleaved: flag(),
  base: otherwise(number({ above: 0 }), 10000),
  scaling: own(undefined, readScaling),
  frequencies: own<Float64Array | undefined, Pairs>(undefined, (options, name, { pairs }) =>
    options.doubles(name, pairs),
  ),
  attentionFactor: number({ above: 0 }),
  cos: ofCall(),
  sin: ofCall(),
  sections: own(undefined, readSections),
} satisfies TableOf<RotaryAngles, Pairs>;

export const ANGLE_NAMES = namesIn(ANGLES);

const positive = number({ above: 0 });
const factor = required(positive);
const originalLength = required(positive);
const factors = required(own(undefined, readFactors), "rotaryDim / 2 numbers");

/** A row for each option of each scaling, without `kind`. */
export const SCALINGS = {
  linear: { factor },
  ntk: { factor },
  "dynamic-ntk": {
    factor: required(number({ min: 1, choice: "dynamic-ntk" })),
    originalLength,
    sequenceLength: positive,
  },
  yarn: {
    factor,
    originalLength,
    betaFast: positive,
    betaSlow: positive,
    truncate: otherwise(flag(), undefined),
    attentionFactor: positive,
    mscale: number({ min: 0 }),
    mscaleAllDim: number({ min: 0 }),
  },
  llama3: { factor, originalLength, lowFreqFactor: positive, highFreqFactor: positive },
  longrope: {
    factor,
    originalLength: required(number({ above: 1, choice: "longrope" })),
    shortFactor: factors,
    longFactor: factors,
    sequenceLength: positive,
    attentionFactor: positive,
  },
} satisfies { readonly [K in RotaryScaling["kind"]]: TableOf<ScalingOf<K>, Pairs> };

type ScalingOf<K extends RotaryScaling["kind"]> = Omit<Extract<RotaryScaling, { readonly kind: K }>, "kind">;

const KINDS = Object.keys(SCALINGS) as RotaryScaling["kind"][];

/** Reads the options of the angles, by the rules of `validate_rotary` in the C++ core. `headDim` is the width of a head. */
export function readAngles(options: OptionReader, headDim: number): CheckedAngles {
  const rotaryDim = readRow(options, "rotaryDim", ANGLES.rotaryDim) ?? headDim;
  if (!options.has("rotaryDim") && headDim % 2 !== 0)
    throw options.missing("rotaryDim", `an even number of features that turn, because headDim is odd: ${headDim}`);
  if (rotaryDim % 2 !== 0 || rotaryDim > headDim)
    throw new OptionError(
      `${options.at("rotaryDim")} must be even and at most headDim, got ${rotaryDim} and ${headDim}`,
    );
  const pairs = rotaryDim / 2;
  const { base, scaling, sections, interleaved, ...given } = readTable(options, ANGLES, { pairs });
  const own = ownAngles(options, readTables(options, pairs), given);
  if (scaling?.kind === "yarn" && base <= 1) throw options.refuse("base", 'be greater than 1 for "yarn"');
  return { rotaryDim, interleaved, base, scaling, ...own, ...(sections && { sections }) };
}

function readSections(options: OptionReader, name: string, { pairs }: Pairs): readonly number[] | undefined {
  const sections = options.integers(name, { min: 0, max: pairs }, 3)!;
  const sum = sections.reduce((all, count) => all + count, 0);
  if (sum !== pairs) throw new OptionError(`${options.at(name)} must sum to rotaryDim / 2, got ${sum} and ${pairs}`);
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
function ownAngles(
  options: OptionReader,
  tables: AngleTables | undefined,
  { frequencies, attentionFactor }: Pick<CheckedAngles, "frequencies" | "attentionFactor">,
): Pick<CheckedAngles, "frequencies" | "attentionFactor" | "tables"> {
  const given = tables ? "cos and sin are" : "frequencies are";
  const replaced = tables ? ["base", "scaling", "frequencies", "attentionFactor"] : ["base", "scaling"];
  for (const name of replaced)
    if ((tables ?? frequencies) && options.has(name))
      throw new OptionError(`${options.at(name)} must be absent when ${given} given`);
  if (attentionFactor !== undefined && !frequencies)
    throw options.refuse("attentionFactor", "be absent without frequencies", "A scaling has its own attentionFactor.");
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

function readScaling(options: OptionReader, name: string, sizes: Pairs): CheckedAngles["scaling"] {
  const all = options.object(name, ["kind", ...new Set(Object.values(SCALINGS).flatMap(namesIn))], SCALING_OTHERS)!;
  if (!all.has("kind")) throw all.refuse("kind", `be given: ${KINDS.join(", ")}`);
  const kind = all.oneOf("kind", KINDS, "linear");
  const scaling = all.narrowed(["kind", ...namesIn(SCALINGS[kind])]);
  const numbers: ScalingNumbers = readTable(scaling, SCALINGS[kind], sizes);
  if ((numbers.betaFast ?? 32) < (numbers.betaSlow ?? 1)) throw scaling.refuse("betaFast", "be at least betaSlow");
  if ((numbers.highFreqFactor ?? 4) <= (numbers.lowFreqFactor ?? 1))
    throw scaling.refuse("highFreqFactor", "be greater than lowFreqFactor");
  return { kind, ...numbers };
}

/** Numbers by which the angles of pairs are divided. */
function readFactors(options: OptionReader, name: string, { pairs }: Pairs): Float64Array | undefined {
  const list = options.doubles(name, pairs)!;
  const bad = list.findIndex((value) => value <= 0);
  if (bad >= 0) throw new OptionError(`${options.at(name)}[${bad}] must be greater than 0, got ${list[bad]}`);
  return list;
}
