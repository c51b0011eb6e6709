import type { Optional } from "../read/withDefaults.js";
import type { AttentionHeads, AttentionHeadsEvents } from "./attentionHeads.js";
import type { AttentionMap, AttentionMapEvents } from "./attentionMap.js";

/** An `onNAME` property for each event, as React, Preact and Svelte use them. */
type Handlers<Events> = {
  readonly [Type in keyof Events & string as `on${Type}`]?: ((event: Events[Type]) => void) | undefined;
};

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

/** The properties of `<attention-map>` that a program sets. */
export type MapProperties = Optional<Pick<AttentionMap, OfMap>>;

/** The properties of `<attention-heads>` that a program sets. */
export type HeadsProperties = Optional<Pick<AttentionHeads, OfHeads>>;

/**
 * The properties that a framework may set on each element, and the handlers of their events. `headwise/viz/react`
 * declares them for the JSX of React.
 */
export interface ElementProps {
  "attention-map": MapProperties & Handlers<AttentionMapEvents>;
  "attention-heads": HeadsProperties & Handlers<AttentionHeadsEvents>;
}
