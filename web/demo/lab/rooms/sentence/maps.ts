import type { Encoding } from "../../../model/encoder.js";
import { headName, headsOf } from "../../../model/heads.js";
import { tokenNames } from "../../../model/names.js";
import { rollout } from "../../../model/rollout.js";
import { type attentionHeads, type attentionMap } from "../../shell/maps.js";
import { t } from "../../../texts/t.js";
import type { Computed } from "./compute.js";
import type { Settings } from "./settings.js";
import { cellWords, rolloutWords } from "./words.js";

type Map = ReturnType<typeof attentionMap>;
type Links = ReturnType<typeof attentionHeads>;

/** All heads as one tensor. */
export function headsTensor(encoding: Encoding, what: "probs" | "scores") {
  const heads = headsOf(encoding);
  const tokens = encoding.tokens.length;
  const data = new Float32Array(heads.length * tokens ** 2);
  heads.forEach((head, index) => data.set(head[what], index * tokens ** 2));
  return { data, shape: [heads.length, tokens, tokens] };
}

export function fillLinks(links: Links, encoding: Encoding): void {
  links.tokens = tokenNames(encoding.tokens);
  links.headNames = headsOf(encoding).map(headName);
  links.probs = headsTensor(encoding, "probs");
}

/** Fills a map with an encoding of the room, in the way that the visitor has chosen. */
export function fillMap(map: Map, seen: Computed, shown: Encoding, { show, head }: Settings): void {
  const names = tokenNames(shown.tokens);
  map.tokens = names;
  map.kind = show === "scores" ? "scores" : "probs";
  if (show === "rollout") {
    map.headNames = [t`rollout`];
    map.head = 0;
    map.probs = { data: rollout(shown), shape: [1, names.length, names.length] };
    map.describe = ({ query, key, value }) => rolloutWords(names, query, key, value ?? 0);
    return;
  }
  map.headNames = headsOf(shown).map(headName);
  map.probs = headsTensor(shown, show === "scores" ? "scores" : "probs");
  map.head = head;
  map.describe = ({ query, key, head: described }) => cellWords({ ...seen, shown, head: described }, query, key);
}
