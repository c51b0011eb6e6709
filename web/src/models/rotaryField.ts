import { UnsupportedError } from "../base/errors.js";
import type { LayerPosition } from "../layer/layerPosition.js";
import type { RotaryScaling } from "../position/rotaryAngles.js";
import {
  count,
  flag,
  notNegative,
  only,
  optional,
  positive,
  positives,
  readFields,
  refuse,
  word,
  type Field,
  type FieldName,
  type Json,
} from "./configField.js";

/** The kinds of scaling, by their names in config.json. `"dynamic"` is missing: its old keys in a cache would change. */
const KINDS = ["default", "linear", "yarn", "llama3", "longrope"] as const;

const LLAMA3 = {
  lowFreqFactor: optional("low_freq_factor", positive("low_freq_factor")),
  highFreqFactor: optional("high_freq_factor", positive("high_freq_factor")),
};

const YARN = {
  betaFast: optional("beta_fast", positive("beta_fast")),
  betaSlow: optional("beta_slow", positive("beta_slow")),
  attentionFactor: optional("attention_factor", positive("attention_factor")),
  mscale: optional("mscale", notNegative("mscale")),
  mscaleAllDim: optional("mscale_all_dim", notNegative("mscale_all_dim")),
  truncate: flag("truncate", true),
};

/** The length of the training, which may stand where nothing is scaled. */
const LENGTH = "original_max_position_embeddings";

/** Fields that some kinds of scaling use. The others ignore them, as transformers does. */
const OF_SOME_KINDS = [
  "factor",
  LENGTH,
  "low_freq_factor",
  "high_freq_factor",
  "beta_fast",
  "beta_slow",
  "attention_factor",
  "mscale",
  "mscale_all_dim",
  "truncate",
  "short_factor",
  "long_factor",
];

/** All features of a head turn. */
const wholeHead = only("partial_rotary_factor", 1);

/** What the positions of a model depend on, beside its fields. */
export interface RotaryForm {
  /** The longest text that the model was made for, in tokens. */
  readonly maxLength: number;
  readonly headDim: number;
  /** The field that says which part of each head turns. Default: all of it turns. */
  readonly part?: FieldName | undefined;
  /** The field of the base. Default: `rope_theta`, 10000. */
  readonly base?: FieldName | undefined;
  /** The kind of layer, in families whose kinds turn by bases of their own. `rope_scaling` then concerns full attention only. */
  readonly kind?: LayerKind | undefined;
  /** In a family whose only scaling is longrope: other names of it, and the length of the training if no field says it. */
  readonly longrope?: { readonly names: readonly string[]; readonly originalLength: number } | undefined;
}

/** Kinds of layers, as `layer_types` calls them. */
export type LayerKind = "full_attention" | "sliding_attention";

/**
 * How positions turn queries and keys: `rope_theta` and `rope_scaling`, or both of them in `rope_parameters`, as newer
 * files have it. Where both places have `rope_theta`, `rope_parameters` decides.
 *
 * With longrope the short factors are used: those of texts up to the length of the training. `longestOf` is that length.
 */
export function rotaryPosition(json: Json, form: RotaryForm): LayerPosition {
  const isNear = form.kind === "sliding_attention";
  const parameters = parametersOf(json, form.kind);
  const scaling = parameters ?? (isNear ? undefined : json.part("rope_scaling"));
  const { name, absent } = form.base ?? { name: "rope_theta", absent: 10000 };
  const outer = positive(name, absent)(json);
  const base = parameters ? positive("rope_theta", outer)(parameters) : outer;
  const rotaryDim = form.part && partialWidth(json, scaling, form.headDim, form.part);
  if (!form.part) wholeHead(json);
  if (!form.part && scaling) wholeHead(scaling);
  const width = rotaryDim ?? form.headDim;
  refuseOddWidth(json, width, form.headDim);
  const scaled = scaling && readScaling(scaling, json, form, Math.floor(width / 2));
  if (scaled?.kind === "yarn" && base <= 1)
    throw new UnsupportedError(`${json.at}${name} must be greater than 1 with yarn, got ${base}`);
  return { kind: "rotary", base, ...(rotaryDim && { rotaryDim }), ...(scaled && { scaling: scaled }) };
}

/** Features turn in pairs. Where the width of a head is no integer, another rule is broken before this one. */
function refuseOddWidth({ at }: Json, width: number, headDim: number): void {
  if (!Number.isInteger(headDim) || (width % 2 === 0 && width > 0 && width <= headDim)) return;
  throw new UnsupportedError(
    `${at}rotary positions must turn an even number of each head's ${headDim} features, got ${width}`,
  );
}

/** `rope_parameters`, which may have a part for each kind of layer. */
function parametersOf(json: Json, kind: LayerKind | undefined): Json | undefined {
  const all = json.part("rope_parameters");
  return (kind && all?.part(kind)) ?? (kind === "sliding_attention" ? undefined : all);
}

/** The positions of a layer, in families whose layers with a window turn by a base of their own. */
export function rotaryByKind(
  json: Json,
  form: RotaryForm,
  isNear: boolean,
  bases: { readonly whole: FieldName; readonly near: FieldName },
): LayerPosition {
  const whole = rotaryPosition(json, { ...form, kind: "full_attention", base: bases.whole });
  const near = rotaryPosition(json, { ...form, kind: "sliding_attention", base: bases.near }); // its fields are read in any case
  return isNear ? near : whole;
}

/** How many tokens a text may have; undefined: there is no limit. */
export function longestOf(position: LayerPosition): number | undefined {
  const scaling = position.kind === "rotary" ? position.scaling : undefined;
  return scaling?.kind === "longrope" ? scaling.originalLength : undefined;
}

/** The number of features of a head that turn. Inside of `rope_scaling` the part is called `partial_rotary_factor`. */
function partialWidth(json: Json, scaling: Json | undefined, headDim: number, { name, absent }: FieldName): number {
  const outer = positive(name, absent)(json);
  return Math.floor(headDim * (scaling ? positive("partial_rotary_factor", outer)(scaling) : outer));
}

function readScaling(json: Json, outer: Json, form: RotaryForm, pairs: number): RotaryScaling | undefined {
  const kind = kindOf(json, form);
  OF_SOME_KINDS.forEach((name) => json.value(name));
  if (kind === "default") return undefined;
  if (kind === "longrope") return longrope(json, outer, form, pairs);
  const factor = positive("factor")(json);
  if (kind === "linear") return { kind, factor };
  const originalLength = count(LENGTH, form.maxLength)(json);
  checkOrder(json, kind);
  return { kind, factor, originalLength, ...given(json, kind === "yarn" ? YARN : LLAMA3) };
}

/** The order of two fields of a kind. Layers ask for it too, but they are made after weights were read. */
function checkOrder(json: Json, kind: "yarn" | "llama3"): void {
  if (kind === "yarn") {
    const [fast, slow] = [positive("beta_fast", 32)(json), positive("beta_slow", 1)(json)];
    if (fast >= slow) return;
    throw new UnsupportedError(`${json.at}beta_fast must be at least beta_slow, got ${fast} and ${slow}`);
  }
  const [high, low] = [positive("high_freq_factor", 4)(json), positive("low_freq_factor", 1)(json)];
  if (high > low) return;
  throw new UnsupportedError(`${json.at}high_freq_factor must be greater than low_freq_factor, got ${high} and ${low}`);
}

/** The length of the training may stand outside of `rope_scaling`; the factor then follows from it. */
function longrope(json: Json, outer: Json, form: RotaryForm, pairs: number): RotaryScaling {
  const inner = optional(LENGTH, count(LENGTH))(json);
  const outerLength = optional(LENGTH, count(LENGTH))(outer) ?? (inner ? undefined : form.longrope?.originalLength);
  const originalLength = outerLength ?? inner ?? form.maxLength;
  if (originalLength === 1)
    throw new UnsupportedError(
      `${(outerLength ? outer : json).at}${LENGTH} must be greater than 1 with longrope, got 1`,
    );
  const follows = form.maxLength / originalLength;
  return {
    kind: "longrope",
    factor: outerLength ? follows : positive("factor", follows)(json),
    originalLength,
    sequenceLength: originalLength,
    shortFactor: positives("short_factor", pairs)(json),
    longFactor: positives("long_factor", pairs)(json),
    ...given(json, { attentionFactor: YARN.attentionFactor }),
  };
}

/** `rope_type`; older files call it `type`, and some have both. */
function kindOf(json: Json, { longrope }: RotaryForm): (typeof KINDS)[number] {
  const kinds = longrope ? (["default", "longrope", ...longrope.names] as const) : KINDS;
  const older = word<string>("type", kinds, "default")(json);
  const kind = word<string>("rope_type", kinds, older)(json);
  const isNamed = ["type", "rope_type"].some((name) => json.value(name) !== undefined);
  const scales = OF_SOME_KINDS.find((name) => name !== LENGTH && json.value(name) !== undefined);
  if (!isNamed && scales !== undefined) throw refuse(json, "rope_type", `be given, because ${scales} is`);
  return longrope?.names.includes(kind) ? "longrope" : (kind as (typeof KINDS)[number]);
}

/** The fields that are present. */
function given(json: Json, fields: Readonly<Record<string, Field<unknown>>>): object {
  return Object.fromEntries(Object.entries(readFields(json, fields)).filter(([, value]) => value !== undefined));
}
