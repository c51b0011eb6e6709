import { type AttentionHeads, type AttentionMap, defineElements } from "headwise/viz";

import { translateMaps } from "./mapWords.js";

/** An `<attention-map>` of the package, with all its controls. */
export function attentionMap(label: string): AttentionMap {
  defineElements();
  translateMaps();
  const map = document.createElement("attention-map");
  map.label = label;
  map.controls = true;
  return map;
}

/** An `<attention-heads>` of the package. */
export function attentionHeads(label: string): AttentionHeads {
  defineElements();
  translateMaps();
  const heads = document.createElement("attention-heads");
  heads.label = label;
  heads.controls = true;
  return heads;
}
