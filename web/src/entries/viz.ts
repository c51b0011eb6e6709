/** `headwise/viz`: web components that draw attention. The import registers nothing; call `defineElements()`. */

import { AttentionHeads } from "../viz/attentionHeads.js";
import { AttentionMap } from "../viz/attentionMap.js";

export { AttentionHeads, type AttentionHeadsEvents } from "../viz/attentionHeads.js";
export type { Listen } from "../viz/attentionElement.js";
export { AttentionMap, type AttentionMapEvents } from "../viz/attentionMap.js";
export { type Kind, type Palette } from "../viz/colours.js";
export { type Cell } from "../viz/cursor.js";
export { type ElementProps } from "../viz/elementProps.js";
export { type TokenSelection } from "../viz/links.js";
export { type MapView, type Range } from "../viz/mapProperties.js";
export { type AttentionSource } from "../viz/source.js";
export { setTexts, type VizTexts } from "../viz/texts.js";
export { type HiddenRule } from "../viz/visibility.js";
export { type CellReading } from "../viz/words.js";

/** Registers `<attention-map>` and `<attention-heads>`. It does nothing for a name that is already registered. */
export function defineElements(registry: CustomElementRegistry = customElements): void {
  AttentionMap.define(undefined, registry);
  AttentionHeads.define(undefined, registry);
}
