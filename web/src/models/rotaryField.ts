import type { LayerPosition } from "../layer/layerPosition.js";
import type { RotaryScaling } from "../position/rotaryAngles.js";
import { count, flag, optional, part, positive, readFields, word, type Field, type Json } from "./configField.js";

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

/**
 * How positions turn queries and keys: `rope_theta` and `rope_scaling`, or both of them in `rope_parameters`, as newer
 * files have it.
 *
 * @param maxLength - The number of tokens of the training, if the scaling does not say it.
 */
export function rotaryPosition(json: Json, maxLength: number): LayerPosition {
  const parameters = part(json, "rope_parameters");
  const scaling = parameters ?? part(json, "rope_scaling");
  const base = positive("rope_theta", 10000)(parameters ?? json);
  const scaled = scaling && readScaling(scaling, maxLength);
  return { kind: "rotary", base, ...(scaled && { scaling: scaled }) };
}

function readScaling(json: Json, maxLength: number): RotaryScaling | undefined {
  const kind = kindOf(json);
  if (kind === "default") return undefined;
  const factor = positive("factor")(json);
  if (kind === "linear") return { kind, factor };
  const originalLength = count("original_max_position_embeddings", maxLength)(json);
  return { kind, factor, originalLength, ...given(json, kind === "yarn" ? YARN : LLAMA3) };
}

/** `rope_type`; older files call it `type`. */
const kindOf: Field<(typeof KINDS)[number]> = (json) =>
  "type" in json.values && !("rope_type" in json.values)
    ? word("type", KINDS)(json)
    : word("rope_type", KINDS, "default")(json);

/** The fields that are present. */
function given(json: Json, fields: Readonly<Record<string, Field<unknown>>>): object {
  return Object.fromEntries(Object.entries(readFields(json, fields)).filter(([, value]) => value !== undefined));
}
