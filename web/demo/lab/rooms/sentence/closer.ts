import type { Encoding } from "../../../model/encoder.js";
import { choices } from "../../shell/controls.js";
import { element, folded } from "../../shell/element.js";
import { attentionHeads, attentionMap } from "../../shell/maps.js";
import type { State } from "../../shell/state.js";
import { t } from "../../../texts/t.js";
import { chips } from "./chips.js";
import type { Computed } from "./compute.js";
import { fillLinks, fillMap } from "./maps.js";
import type { fields, Settings } from "./settings.js";
import { compared } from "./words.js";

/** Other pictures of the same numbers: links, scores before the softmax, all layers together, two sentences. */
export class Closer {
  readonly node: HTMLElement;
  readonly #state: State<typeof fields>;
  readonly #map = attentionMap(t`All heads of the sentence`);
  readonly #otherMap = attentionMap(t`All heads of the other sentence`);
  readonly #links = attentionHeads(t`Links between the tokens`);
  readonly #maps = element("div", { class: "maps" });
  readonly #others = element("div", { class: "chips", role: "group", "aria-label": t`Compare with` });
  readonly #compared = element("p", { class: "hint" });

  constructor(state: State<typeof fields>) {
    this.#state = state;
    for (const map of [this.#map, this.#otherMap])
      map.addEventListener("headchange", ({ detail }) => state.set({ head: detail.head }));
    const names = {
      links: t`links`,
      weights: t`all heads`,
      scores: t`scores`,
      rollout: t`rollout of both layers`,
      compare: t`two sentences`,
    };
    this.node = folded(
      t`Look closer`,
      choices(state, "show", t`Show`, names),
      this.#others,
      this.#maps,
      this.#compared,
    );
  }

  show(seen: Computed, settings: Settings): void {
    const isComparing = settings.show === "compare";
    this.node.hidden = seen.shown.tokens.length === 0;
    this.#others.hidden = !isComparing;
    this.#compared.hidden = !isComparing;
    this.#maps.classList.toggle("two", isComparing);
    if (this.node.hidden) return;
    if (settings.show === "links") {
      fillLinks(this.#links, seen.shown);
      return this.#place(this.#links);
    }
    fillMap(this.#map, seen, seen.shown, settings);
    if (!isComparing) return this.#place(this.#map);
    this.#compare(seen, settings);
    this.#place(this.#map, this.#otherMap);
  }

  #compare(seen: Computed, settings: Settings): void {
    const { encodings, shown } = seen;
    const other = Math.min(settings.other, encodings.length - 1);
    const texts = encodings.map(({ text }: Encoding) => text);
    chips(this.#others, texts, other, (index) => this.#state.set({ other: index }));
    this.#compared.textContent = compared(shown, encodings[other]!);
    fillMap(this.#otherMap, seen, encodings[other]!, settings);
  }

  /** Shows these maps. A map that is already shown is not moved, because it may have the focus. */
  #place(...maps: HTMLElement[]): void {
    const shown = [...this.#maps.children];
    if (maps.length !== shown.length || maps.some((map, i) => map !== shown[i])) this.#maps.replaceChildren(...maps);
  }
}
