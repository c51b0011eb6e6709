import { panel, slider } from "../../shell/controls.js";
import { element, folded } from "../../shell/element.js";
import { grouped } from "../../shell/numbers.js";
import type { State } from "../../shell/state.js";
import { t } from "../../../texts/t.js";
import { loopsWords, ofLoop, ofProducts, ofRecurrence, WIDTH, type Operations } from "./loops.js";
import type { fields } from "./settings.js";

const COUNTED: Readonly<Record<keyof Operations, string>> = {
  multiplications: t`Multiplications`,
  waiting: t`Steps, one after the other`,
  path: t`Steps from the first position to the last`,
};

/** One product instead of loops and recurrence: the operations of both, counted. */
export class LoopsCard {
  readonly node: HTMLElement;
  readonly #rows = element("tbody");
  readonly #words = element("p", { class: "hint" });

  constructor(state: State<typeof fields>) {
    const head = ["", t`two products`, t`a loop over queries`, t`a recurrence`].map((name) =>
      element(name ? "th" : "td", name ? { scope: "col" } : {}, name),
    );
    this.node = folded(
      t`One product instead of loops`,
      element("p", { class: "hint" }, LOOPS_WORDS),
      panel(slider(state, "length", t`Positions S`, (exponent) => grouped(2 ** exponent))),
      element("table", { class: "figures" }, element("thead", {}, element("tr", {}, ...head)), this.#rows),
      this.#words,
    );
  }

  show(exponent: number): void {
    const positions = 2 ** exponent;
    const columns = [ofProducts, ofLoop, ofRecurrence].map((count) => count(positions));
    const rows = (Object.keys(COUNTED) as (keyof Operations)[]).map((what) =>
      element(
        "tr",
        {},
        element("th", { scope: "row" }, COUNTED[what]),
        ...columns.map((operations) => element("td", {}, grouped(operations[what]))),
      ),
    );
    this.#rows.replaceChildren(...rows);
    this.#words.textContent = loopsWords(positions);
  }
}

const LOOPS_WORDS = t`A recurrence reads one position after the other and keeps what it knows in a state of width ${WIDTH}. Attention compares all positions in one product, Q·Kᵀ, and mixes their values in another, P·V. A loop over the queries gives the same rows, one by one.`;
