import type { AttentionHeads, AttentionHeadsEvents } from "./attentionHeads.js";
import type { AttentionMap, AttentionMapEvents } from "./attentionMap.js";

/** `onNAME` for each event, as React, Preact and Svelte have them. */
type Handlers<Events> = { readonly [Type in keyof Events & string as `on${Type}`]?: (event: Events[Type]) => void };

type Both =
  | "probs"
  | "source"
  | "batch"
  | "tokens"
  | "queryTokens"
  | "keyTokens"
  | "headNames"
  | "causal"
  | "mask"
  | "isHidden"
  | "label"
  | "controls"
  | "theme";
type OfMap = Both | "kind" | "head" | "range" | "palette" | "values" | "cell" | "locked" | "view" | "describe";
type OfHeads = Both | "threshold" | "enabled" | "selection";

/** What a framework may set on each element, and the events it may listen to. `headwise/viz/react` tells React's JSX. */
export interface ElementProps {
  "attention-map": Partial<Pick<AttentionMap, OfMap>> & Handlers<AttentionMapEvents>;
  "attention-heads": Partial<Pick<AttentionHeads, OfHeads>> & Handlers<AttentionHeadsEvents>;
}
