import { count, flag, refuse, type Json } from "./configField.js";
import type { LayerPlace } from "./family.js";

/** `sliding_window`: absent, it is 4096; `null` means none. */
export function windowOf(json: Json): number | undefined {
  return json.isNull("sliding_window") ? undefined : count("sliding_window", 4096)(json);
}

/** Which layers have the window: as `layer_types` says, otherwise those from `max_window_layers` on. */
export function laterLayersOnly(json: Json, place: LayerPlace): number | undefined {
  const isUsed = flag("use_sliding_window", false)(json);
  json.value("layer_types");
  const first = json.value("max_window_layers");
  json.value("sliding_window"); // read, also if no layer has a window
  if (!isUsed) return undefined;
  const isLater = () => first === 0 || place.layer >= count("max_window_layers", 28)(json);
  return isSliding(json, place, isLater) ? windowOf(json) : undefined;
}

/** Whether a layer has a window: as `layer_types` says, otherwise as `other` says. */
export function isSliding(json: Json, { layer, numLayers }: LayerPlace, other: () => boolean): boolean {
  const types = json.value("layer_types");
  if (types === undefined) return other();
  const isKnown = (type: unknown) => type === "full_attention" || type === "sliding_attention";
  if (!Array.isArray(types) || types.length !== numLayers || !types.every(isKnown))
    throw refuse(json, "layer_types", `be ${numLayers} times "full_attention" or "sliding_attention"`);
  return types[layer] === "sliding_attention";
}

/** Whether a layer of GPT-Neo is local: `attention_layers`, otherwise `attention_types`, as `[[["global", "local"], 12]]`. */
export function attentionTypes(json: Json, { layer, numLayers }: LayerPlace): "global" | "local" {
  const types = json.value("attention_types") ?? [[["global", "local"], numLayers / 2]];
  const given = json.value("attention_layers") ?? repeated(types, numLayers);
  const isKnown = (kind: unknown): kind is "global" | "local" => kind === "global" || kind === "local";
  if (Array.isArray(given) && given.length === numLayers && given.every(isKnown)) return given[layer]!;
  const name = json.value("attention_layers") === undefined ? "attention_types" : "attention_layers";
  throw refuse(json, name, `give ${numLayers} times "global" or "local"`);
}

/** The kinds of `attention_types`, at most one more than there are layers. */
function repeated(types: unknown, numLayers: number): readonly unknown[] {
  const all: unknown[] = [];
  for (const pair of Array.isArray(types) ? (types as unknown[]) : []) {
    const [kinds, times] = Array.isArray(pair) ? (pair as unknown[]) : [];
    if (!Array.isArray(kinds) || kinds.length === 0 || !Number.isSafeInteger(times)) return [];
    for (let n = 0; n < (times as number) && all.length <= numLayers; n++)
      all.push(...(kinds as unknown[]).slice(0, numLayers + 1));
  }
  return all;
}
