import { type AttentionHeads, type AttentionMap, defineElements } from "headwise/viz";

/** The package's map, with everything a visitor may set. */
export function attentionMap(label: string, { controls = true } = {}): AttentionMap {
  defineElements();
  const map = document.createElement("attention-map") as AttentionMap;
  map.label = label;
  map.controls = controls;
  return map;
}

/** The package's links between tokens. */
export function attentionHeads(label: string): AttentionHeads {
  defineElements();
  const heads = document.createElement("attention-heads") as AttentionHeads;
  heads.label = label;
  heads.controls = true;
  return heads;
}
