import { panel, slider } from "../../shell/controls.js";
import { element, folded } from "../../shell/element.js";
import { plain } from "../../shell/numbers.js";
import type { State } from "../../shell/state.js";
import { t } from "../../../texts/t.js";
import { answerWords, clock, HOURS, type Answer } from "./dictionary.js";
import type { fields } from "./settings.js";
import { percent } from "./percent.js";

/** A dictionary that softens into attention, by a slider. */
export class DictionaryCard {
  readonly node: HTMLElement;
  readonly #rows = element("tbody");
  readonly #words = element("p", { class: "hint" });

  constructor(state: State<typeof fields>) {
    const sharpness = (index: number) => `× ${plain(HOURS.sharpness[index]!)}`;
    const head = [t`key`, t`weight`, t`value`].map((name) => element("th", { scope: "col" }, name));
    this.node = folded(
      t`A dictionary that softens into attention`,
      element("p", { class: "hint" }, DICTIONARY_WORDS),
      panel(slider(state, "hour", t`Query`, clock), slider(state, "sharpness", t`Sharpness`, sharpness)),
      element("table", { class: "figures dictionary" }, element("thead", {}, element("tr", {}, ...head)), this.#rows),
      this.#words,
    );
  }

  show(hour: number, sharpness: number, answer: Answer): void {
    const rows = HOURS.keys.map((key, at) => {
      const share = answer.weights[at]!;
      const line = element("span", { class: "bar", "aria-hidden": "true" });
      line.style.setProperty("--share", `${(100 * share).toFixed(1)}%`);
      return element(
        "tr",
        {},
        element("th", { scope: "row" }, clock(key)),
        element("td", {}, line, percent(share)),
        element("td", {}, `${HOURS.values[at]!} °C`),
      );
    });
    this.#rows.replaceChildren(...rows);
    this.#words.textContent = answerWords(hour, sharpness, answer);
  }
}

const DICTIONARY_WORDS = t`A dictionary finds the one key that is equal to the query, and gives its value. Attention compares the query with every key and mixes the values by how near the keys are: sharp, it is a lookup of the nearest; blunt, the mean of all. Here the keys are hours on a clock.`;
