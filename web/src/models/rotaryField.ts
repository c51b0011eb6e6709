import type { LayerPosition } from "../layer/layerPosition.js";
import type { RotaryScaling } from "../position/rotaryAngles.js";
import { count, flag, only, optional, positive, readFields, word, type Field, type Json } from "./configField.js";

/** The kinds of scaling, by their names in config.json. `"dynamic"` is missing: its old keys in a cache would change. */
const KINDS = ["default", "linear", "yarn", "llama3"] as const;

const LLAMA3 = {
  lowFreqFactor: optional("low_freq_factor", positive("low_freq_factor")),
  highFreqFactor: optional("high_freq_factor", positive("high_freq_factor")),
};

const YARN = {
  betaFast: optional("beta_fast", positive("beta_fast")),
  betaSlow: optional("beta_slow", positive("beta_slow")),
  attentionFactor: optional("attention_factor", positive("attention_factor")),
  mscale: optional("mscale", positive("mscale")),
  mscaleAllDim: optional("mscale_all_dim", positive("mscale_all_dim")),
  truncate: optional("truncate", flag("truncate", true)),
};

/** Fields that some kinds of scaling use. The others ignore them, as transformers does. */
const OF_SOME_KINDS = [
  "factor",
  "original_max_position_embeddings",
  "low_freq_factor",
  "high_freq_factor",
  "beta_fast",
  "beta_slow",
  "attention_factor",
  "mscale",
  "mscale_all_dim",
  "truncate",
];

/** All features of a head turn. */
const wholeHead = only("partial_rotary_factor", 1);

/**
 * How positions turn queries and keys: `rope_theta` and `rope_scaling`, or both of them in `rope_parameters`, as newer
 * files have it. Where both places have `rope_theta`, `rope_parameters` decides.
 *
 * @param maxLength - The number of tokens of the training, if the scaling does not say it.
 */
export function rotaryPosition(json: Json, maxLength: number): LayerPosition {
  const parameters = json.part("rope_parameters");
  const scaling = parameters ?? json.part("rope_scaling");
  const outer = positive("rope_theta", 10000)(json);
  const base = parameters ? positive("rope_theta", outer)(parameters) : outer;
  wholeHead(json);
  if (scaling) wholeHead(scaling);
  const scaled = scaling && readScaling(scaling, maxLength);
  return { kind: "rotary", base, ...(scaled && { scaling: scaled }) };
}

function readScaling(json: Json, maxLength: number): RotaryScaling | undefined {
  const kind = kindOf(json);
  OF_SOME_KINDS.forEach((name) => json.value(name));
  if (kind === "default") return undefined;
  const factor = positive("factor")(json);
  if (kind === "linear") return { kind, factor };
  const originalLength = count("original_max_position_embeddings", maxLength)(json);
  return { kind, factor, originalLength, ...given(json, kind === "yarn" ? YARN : LLAMA3) };
}

/** `rope_type`; older files call it `type`, and some have both. */
function kindOf(json: Json): (typeof KINDS)[number] {
  const older = word("type", KINDS, "default")(json);
  return word("rope_type", KINDS, older)(json);
}

/** The fields that are present. */
function given(json: Json, fields: Readonly<Record<string, Field<unknown>>>): object {
  return Object.fromEntries(Object.entries(readFields(json, fields)).filter(([, value]) => value !== undefined));
}
