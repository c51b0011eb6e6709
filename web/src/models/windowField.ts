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
  if (!Array.isArray(types)) return other();
  const isKnown = (type: unknown) => type === "full_attention" || type === "sliding_attention";
  if (types.length !== numLayers || !types.every(isKnown))
    throw refuse(json, "layer_types", `be ${numLayers} times "full_attention" or "sliding_attention"`);
  return types[layer] === "sliding_attention";
}
