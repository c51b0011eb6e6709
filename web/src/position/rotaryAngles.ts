import { namesOf, type OptionReader } from "../call/options.js";
import { OptionError } from "../errors/errors.js";

/**
 * Changes a rotary embedding for contexts that are longer than those of the training. The formulas are the published
 * ones, as in Hugging Face transformers.
 *
 * - `"linear"` (Chen et al. 2023) divides every angle by `factor`.
 * - `"ntk"` raises the base.
 * - `"dynamic-ntk"` raises the base as the sequence grows beyond originalLength.
 * - `"yarn"` (Peng et al. 2023) and `"llama3"` (Llama 3.1) divide the angles of slow pairs, keep the angles of fast
 *   pairs, and blend between.
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
    };

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
}

/** Checked angles. If the head width was not known, rotaryDim 0 means the whole head. */
export interface CheckedAngles {
  readonly rotaryDim: number;
  readonly interleaved: boolean;
  readonly base: number;
  readonly scaling: ({ readonly kind: RotaryScaling["kind"] } & ScalingNumbers) | undefined;
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
}

/** Names of the options that `readAngles` reads. */
export const ANGLE_NAMES = namesOf<RotaryAngles>({ rotaryDim: true, interleaved: true, base: true, scaling: true });

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
  const scaling = readScaling(options);
  if (scaling?.kind === "yarn" && base <= 1) throw options.refuse("base", 'be greater than 1 for "yarn"');
  return {
    rotaryDim: rotaryDim ?? headDim,
    interleaved: options.flag("interleaved", false),
    base,
    scaling,
  };
}

function readScaling(options: OptionReader): CheckedAngles["scaling"] {
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
  };
  if (kind === "dynamic-ntk" && numbers.factor < 1) throw scaling.refuse("factor", 'be at least 1 for "dynamic-ntk"');
  if ((numbers.betaFast ?? 32) < (numbers.betaSlow ?? 1)) throw scaling.refuse("betaFast", "be at least betaSlow");
  if ((numbers.highFreqFactor ?? 4) <= (numbers.lowFreqFactor ?? 1))
    throw scaling.refuse("highFreqFactor", "be greater than lowFreqFactor");
  return { kind, ...numbers };
}
