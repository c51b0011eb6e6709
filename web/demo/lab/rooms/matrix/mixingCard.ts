import { panel, toggle } from "../../shell/controls.js";
import { element, folded, withIndices } from "../../shell/element.js";
import type { State } from "../../shell/state.js";
import { t } from "../../../texts/t.js";
import { concatenationWords, localWords, queryWords } from "./mixing.js";
import type { Scene } from "./parts.js";
import type { fields } from "./settings.js";

/** What mixes tokens, what would be without queries, and why values are not put side by side. */
export class MixingCard {
  readonly node: HTMLElement;
  readonly #said = element("ul", { class: "said" });

  constructor(state: State<typeof fields>) {
    this.node = folded(
      t`Who mixes, and why by queries`,
      panel(toggle(state, "oneQuery", t`One query for all`)),
      this.#said,
    );
  }

  show(scene: Scene, oneQuery: boolean): void {
    const said = [localWords(scene), queryWords(scene, oneQuery), concatenationWords(scene)];
    this.#said.replaceChildren(...said.map((words) => element("li", {}, ...withIndices(words))));
  }
}
