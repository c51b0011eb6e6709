import { type AttentionHeads, type AttentionMap, defineElements } from "headwise/viz";

/** The package's map, with everything a visitor may set. */
export function attentionMap(label: string): AttentionMap {
  defineElements();
  const map = document.createElement("attention-map");
  map.label = label;
  map.controls = true;
  return map;
}

/** The package's links between tokens. */
export function attentionHeads(label: string): AttentionHeads {
  defineElements();
  const heads = document.createElement("attention-heads");
  heads.label = label;
  heads.controls = true;
  return heads;
}
