import { outputForm, type CheckedFloats, type FloatTensor, type OutputForm } from "./attentionProblem.js";
import type { CallArguments } from "./callArguments.js";
import { describe } from "./describe.js";
import { OptionError, ShapeError } from "./errors.js";
import { axisName, headsShape, LAYOUTS, type HeadsShape, type Layout } from "./layout.js";
import { isList, namesOf, readOptions, type NumberList, type OptionReader } from "./options.js";
import type { CheckedTensor, Tensor } from "./tensor.js";

/**
 * Stretches a rotary embedding to contexts longer than those of the training, as published and as in Hugging Face
 * transformers: `"linear"` (Chen et al. 2023) divides every angle by `factor`, `"ntk"` raises the base,
 * `"dynamic-ntk"` raises it as the sequence grows past originalLength, `"yarn"` (Peng et al. 2023) and `"llama3"`
 * (Llama 3.1) divide the angles of slow pairs, keep those of fast ones and blend between.
 */
export type RotaryScaling =
  | { readonly kind: "linear" | "ntk"; readonly factor: number }
  | {
      readonly kind: "dynamic-ntk";
      readonly factor: number;
      readonly originalLength: number;
      /** Current length. Default: the highest position + 1. */
      readonly sequenceLength?: number;
    }
  | {
      readonly kind: "yarn";
      readonly factor: number;
      readonly originalLength: number;
      /** Pairs that turn more often than this over originalLength keep their angle. Default 32. */
      readonly betaFast?: number;
      /** Pairs that turn less often are fully interpolated. Default 1. */
      readonly betaSlow?: number;
      /** The blend begins and ends at whole pairs. Default true (gpt-oss: false). */
      readonly truncate?: boolean;
      /** Multiplies cos and sin. Default 0.1·ln(factor) + 1, or what mscale and mscaleAllDim say. */
      readonly attentionFactor?: number;
      /** (0.1·mscale·ln(factor) + 1) / (0.1·mscaleAllDim·ln(factor) + 1), given both (DeepSeek). */
      readonly mscale?: number;
      readonly mscaleAllDim?: number;
    }
  | {
      readonly kind: "llama3";
      readonly factor: number;
      readonly originalLength: number;
      /** Pairs that turn less often than this over originalLength have their angle divided. Default 1. */
      readonly lowFreqFactor?: number;
      /** Pairs that turn more often keep it. Default 4. */
      readonly highFreqFactor?: number;
    };

/** Angles of a rotary embedding (Su et al. 2021): pair m turns by position · base^(−2m / rotaryDim). */
export interface RotaryAngles {
  /** Features that turn, even; those behind pass through. Default: all. */
  readonly rotaryDim?: number;
  /** Pairs are neighbours (GPT-J); default false: half of rotaryDim apart (GPT-NeoX, Llama). */
  readonly interleaved?: boolean;
  /** Default 10000. */
  readonly base?: number;
  readonly scaling?: RotaryScaling;
}

/** Options of `rotaryEmbedding`. */
export interface RotaryOptions extends RotaryAngles {
  /** Memory order of x. Default `"BHSD"`. */
  readonly layout?: Layout;
  /** Number of heads; needed for `"BSE"` and `"BES"` of rank 3. */
  readonly numHeads?: number;
  /**
   * Where the tokens stand: the position of the first, a list for the sequence, or a tensor `[S]` or `[B, S]`. With
   * tables their row numbers. Default 0, 1, 2, …
   */
  readonly positions?: number | NumberList;
  /** Given tables `[rows, rotaryDim/2]`, in place of base and scaling. */
  readonly cos?: Tensor<"float32">;
  readonly sin?: Tensor<"float32">;
  /** A tensor of x's shape to write the result to. */
  readonly into?: FloatTensor;
  /** Aborts the call while it waits in the queue. */
  readonly signal?: AbortSignal;
}

/** Angles, checked as far as can be without the width of a head; rotaryDim 0 means all of it. */
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

/** A call of rotaryEmbedding that passed every check. */
export interface RotaryProblem {
  readonly operation: string;
  readonly layout: Layout;
  readonly heads: HeadsShape;
  readonly x: CheckedFloats;
  readonly angles: CheckedAngles;
  /** `[B, S]`. */
  readonly positions: Float64Array;
  readonly tables: { readonly cos: Float32Array; readonly sin: Float32Array; readonly rows: number } | undefined;
  readonly output: OutputForm;
  readonly signal: AbortSignal | undefined;
}

/** Names of the options that `readAngles` reads. */
export const ANGLE_NAMES = namesOf<RotaryAngles>({ rotaryDim: true, interleaved: true, base: true, scaling: true });

/** Options of each scaling, beside `kind` and `factor`. */
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
const KINDS = Object.keys(SCALING_NAMES) as RotaryScaling["kind"][];

/** Reads the angles' options; `headDim` is the width of a head. */
export function readAngles(options: OptionReader, headDim: number): CheckedAngles {
  const rotaryDim = options.integer("rotaryDim", { min: 2 });
  if ((rotaryDim ?? headDim) % 2 !== 0 || (rotaryDim ?? headDim) > headDim)
    throw new OptionError(
      `${options.at("rotaryDim")} must be even and at most headDim, ` + `got ${rotaryDim ?? headDim} and ${headDim}`,
    );
  const base = options.number("base") ?? 10000;
  if (base <= 0) throw options.refuse("base", "be greater than 0");
  return {
    rotaryDim: rotaryDim ?? headDim,
    interleaved: options.flag("interleaved", false),
    base,
    scaling: readScaling(options),
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
    return value;
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

const OPTION_NAMES = [
  ...ANGLE_NAMES,
  ...namesOf<Omit<RotaryOptions, keyof RotaryAngles>>({
    layout: true,
    numHeads: true,
    positions: true,
    cos: true,
    sin: true,
    into: true,
    signal: true,
  }),
];

/** Reads and checks a whole call of rotaryEmbedding. */
export function rotaryProblem(call: CallArguments, given: unknown, givenOptions: unknown): RotaryProblem {
  const { operation } = call;
  const options = readOptions(call, givenOptions, OPTION_NAMES);
  const x = call.tensor("x", given, ["float32", "float16"]);
  const layout = options.oneOf("layout", LAYOUTS, "BHSD");
  const heads = headsShape(operation, "x", x.shape, layout, options.integer("numHeads", { min: 1 }), "numHeads");
  if (!options.has("rotaryDim") && heads.headDim % 2 !== 0)
    throw new ShapeError(
      `${operation}: ${axisName("x", layout, x.shape.length, "headDim")} (headDim) must be even, got ${heads.headDim}`,
      { hint: "Or say with rotaryDim how many features turn." },
    );
  const angles = readAngles(options, heads.headDim);
  const tables = readTables(options, angles.rotaryDim / 2);
  const positions = readPositions(options, heads);
  if (tables) checkRows(options, positions, tables.rows);
  return {
    operation,
    layout,
    heads,
    x,
    angles: withLength(angles, positions),
    positions,
    tables,
    output: outputForm(options, x.shape, x),
    signal: options.signal(),
  };
}

function readTables(options: OptionReader, half: number): RotaryProblem["tables"] {
  const { operation } = options;
  const cos = options.tensor("cos", ["float32"]);
  const sin = options.tensor("sin", ["float32"]);
  if (!cos && !sin) return undefined;
  if (!cos || !sin) throw new OptionError(`${operation}: cos and sin must be given together`);
  for (const name of ["base", "scaling"])
    if (options.has(name)) throw new OptionError(`${operation}: ${name} must be absent when cos and sin are given`);
  const check = (name: string, { shape }: CheckedTensor<"float32">) => {
    if (shape.length !== 2 || shape[1] !== half)
      throw new ShapeError(
        `${operation}: ${name}.shape must be [rows, rotaryDim/2] = [rows, ${half}], got ${describe(shape)}`,
        shape[1] === 2 * half ? { hint: "Where a table repeats itself over the pairs, its first half is enough." } : {},
      );
  };
  check("cos", cos);
  check("sin", sin);
  if (cos.shape[0] !== sin.shape[0])
    throw new ShapeError(`${operation}: cos and sin must have the same rows, got ${cos.shape[0]} and ${sin.shape[0]}`);
  return { cos: cos.data.slice(), sin: sin.data.slice(), rows: cos.shape[0]! };
}

/** One position for each token [B, S]. */
function readPositions(options: OptionReader, { batchSize, length }: HeadsShape): Float64Array {
  const positions = new Float64Array(batchSize * length);
  const value = options.value("positions");
  if (value === undefined || typeof value === "number") {
    const first = options.number("positions") ?? 0;
    return positions.map((_, token) => first + (token % length));
  }
  const list = positionList(options, value, batchSize, length);
  return positions.map((_, token) => list[token % list.length]!);
}

/** S or B·S numbers. */
function positionList(options: OptionReader, value: unknown, batchSize: number, length: number): number[] {
  const { operation, call } = options;
  const finite = (position: unknown, token: number): number => {
    if (typeof position === "number" && Number.isFinite(position)) return position;
    throw new OptionError(`${operation}: positions[${token}] must be a finite number, got ${describe(position)}`);
  };
  if (isList(value))
    return call.list("positions", value, (given) => checkPositionCount(operation, given, length), finite);
  const { data, shape } = call.tensor("positions", value, ["float32", "int32"]);
  const fits =
    (shape.length === 1 && shape[0] === length) ||
    (shape.length === 2 && shape[0] === batchSize && shape[1] === length);
  if (!fits)
    throw new ShapeError(
      `${operation}: positions.shape must be [${length}] or [${batchSize}, ${length}], got ${describe(shape)}`,
    );
  return Array.from(data, finite);
}

function checkPositionCount(operation: string, given: number, length: number): void {
  if (given === length) return;
  throw new ShapeError(`${operation}: positions must have a number per token (${length}), got ${given}`, {
    hint: "Positions that differ between batches go in a tensor [B, S].",
  });
}

function checkRows({ operation }: OptionReader, positions: Float64Array, rows: number): void {
  const outside = positions.find((position) => !Number.isInteger(position) || position < 0 || position >= rows);
  if (outside !== undefined)
    throw new OptionError(`${operation}: positions must be rows of cos and sin, 0 to ${rows - 1}, got ${outside}`);
}

function withLength(angles: CheckedAngles, positions: Float64Array): CheckedAngles {
  if (angles.scaling?.kind !== "dynamic-ntk" || angles.scaling.sequenceLength !== undefined) return angles;
  const sequenceLength = positions.reduce((longest, position) => Math.max(longest, position + 1), 1);
  return { ...angles, scaling: { ...angles.scaling, sequenceLength } };
}
