import { AttentionHeads as HeadsElement, AttentionMap as MapElement } from "headwise/viz";

import type { AttentionHeadsEvents } from "../viz/attentionHeads.js";
import type { AttentionMapEvents } from "../viz/attentionMap.js";
import type { HeadsProperties, MapProperties } from "../viz/elementProps.js";
import { elementComponent, type ComponentProps, type ElementComponent } from "./elementComponent.js";

type Flags<Properties> = Readonly<Record<keyof Properties, true>>;

/** The properties of both elements, in the order in which they are set. */
const SHARED: Pick<Flags<MapProperties>, keyof MapProperties & keyof HeadsProperties> = {
  ...{ probs: true, source: true, batch: true, tokens: true, queryTokens: true, keyTokens: true, headNames: true },
  ...{ causal: true, mask: true, isHidden: true, label: true, controls: true, theme: true },
};

const MAP: Flags<MapProperties> = {
  ...SHARED,
  ...{ kind: true, head: true, range: true, palette: true, values: true, cell: true, locked: true, view: true },
  describe: true,
};

const HEADS: Flags<HeadsProperties> = { ...SHARED, threshold: true, enabled: true, selection: true };

/** The name of each event in lower case, as the element has it. */
type Types<Events> = Readonly<Record<string, keyof Events & string>>;

const MAP_EVENTS = {
  onCellChange: "cellchange",
  onCellLock: "celllock",
  onHeadChange: "headchange",
  onViewChange: "viewchange",
  onSlices: "slices",
  onSourceError: "sourceerror",
} as const satisfies Types<AttentionMapEvents>;

const HEADS_EVENTS = {
  onHeadsChange: "headschange",
  onTokenSelect: "tokenselect",
  onThresholdChange: "thresholdchange",
  onSourceError: "sourceerror",
} as const satisfies Types<AttentionHeadsEvents>;

/** A property of the component for each event: it gets the event, whose `detail` tells what happened. */
type Handlers<Names extends Types<Events>, Events> = {
  readonly [Name in keyof Names]?: ((event: Events[Names[Name]]) => void) | undefined;
};

type OwnOfMap = MapProperties & Handlers<typeof MAP_EVENTS, AttentionMapEvents>;
type OwnOfHeads = HeadsProperties & Handlers<typeof HEADS_EVENTS, AttentionHeadsEvents>;

// Interfaces, because TypeScript writes their names into the types of a library that exports a component again.
// oxlint-disable typescript/no-empty-object-type -- they only name what they extend

/** Properties of the component `AttentionMap`. */
export interface AttentionMapProps extends ComponentProps<MapElement, OwnOfMap> {}

/** Properties of the component `AttentionHeads`. */
export interface AttentionHeadsProps extends ComponentProps<HeadsElement, OwnOfHeads> {}

// oxlint-enable typescript/no-empty-object-type

/** `<attention-map>` of `headwise/viz` as a component: a heatmap. `ref` gives the element, with its methods. */
export const AttentionMap: ElementComponent<MapElement, AttentionMapProps> = /* @__PURE__ */ elementComponent({
  name: "AttentionMap",
  tag: "attention-map",
  define: () => MapElement.define(),
  properties: MAP,
  events: MAP_EVENTS,
});

/** `<attention-heads>` of `headwise/viz` as a component: links between tokens. `ref` gives the element. */
export const AttentionHeads: ElementComponent<HeadsElement, AttentionHeadsProps> = /* @__PURE__ */ elementComponent({
  name: "AttentionHeads",
  tag: "attention-heads",
  define: () => HeadsElement.define(),
  properties: HEADS,
  events: HEADS_EVENTS,
});
