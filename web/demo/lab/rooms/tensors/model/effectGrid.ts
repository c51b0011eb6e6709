import type { HeadPlace, WordStudy } from "../../../engine/modelProtocol.js";
import { element, setText } from "../../../shell/element.js";
import { placeName } from "../../../shell/headPlace.js";
import { changeWords, effectsOf, effectNumber } from "./studyWords.js";
import { headWords } from "./words.js";
import { t } from "../../../../texts/t.js";

/**
 * What each head adds to the log-odds of a word: a row for each layer. A click switches a head off, or on again. The grid is
 * one stop of Tab; arrow keys move from head to head.
 */
export class EffectGrid {
  readonly node = element("table", { class: "effect-grid" });
  readonly #onSwitch: (place: HeadPlace, isOn: boolean) => void;
  #rows: readonly (readonly HTMLButtonElement[])[] = [];

  constructor(onSwitch: (place: HeadPlace, isOn: boolean) => void) {
    this.#onSwitch = onSwitch;
    this.node.onkeydown = (event) => this.#move(event);
  }

  show(study: WordStudy, isOff: (place: HeadPlace) => boolean): void {
    this.#build(study);
    const effects = effectsOf(study);
    const largest = Math.max(1e-9, ...effects.map(({ effect }) => Math.abs(effect)));
    this.#rows.flat().forEach((cell, n) => {
      const place = { layer: Math.floor(n / study.heads) + 1, head: n % study.heads };
      const known = effects[n];
      const number = known ? effectNumber(known.effect) : "";
      setText(cell, number);
      cell.ariaPressed = String(isOff(place));
      cell.ariaLabel = known
        ? t`Switch ${headWords(place)} off; its number is ${number}`
        : t`Switch ${headWords(place)} off`;
      cell.title = known ? changeWords(known, study) : headWords(place);
      cell.classList.toggle("hinders", known !== undefined && known.effect < 0);
      cell.style.setProperty("--share", `${known ? ((100 * Math.abs(known.effect)) / largest).toFixed(0) : 0}%`);
    });
  }

  #build({ layers, heads }: WordStudy): void {
    if (this.#rows.length === layers && this.#rows[0]!.length === heads) return;
    this.#rows = Array.from({ length: layers }, (_, layer) =>
      Array.from({ length: heads }, (__, head) => this.#cell({ layer: layer + 1, head })),
    );
    this.#rows[0]![0]!.tabIndex = 0;
    const columns = Array.from({ length: heads }, (_, head) => element("th", { scope: "col" }, String(head + 1)));
    const lines = this.#rows.map((cells, layer) =>
      element(
        "tr",
        {},
        element("th", { scope: "row" }, t`Layer ${layer + 1}`),
        ...cells.map((cell) => element("td", {}, cell)),
      ),
    );
    this.node.style.setProperty("--heads", String(heads));
    this.node.replaceChildren(
      element("thead", {}, element("tr", {}, element("td", {}, t`Head`), ...columns)),
      element("tbody", {}, ...lines),
    );
  }

  #cell(place: HeadPlace): HTMLButtonElement {
    const cell = element("button", { type: "button", tabindex: "-1", "data-effect": placeName(place) });
    cell.onclick = () => this.#onSwitch(place, cell.ariaPressed === "true");
    return cell;
  }

  #move(event: KeyboardEvent): void {
    const from = event.target as HTMLButtonElement;
    const layer = this.#rows.findIndex((cells) => cells.includes(from));
    const [down, right] = [stepOf(event.key, "ArrowUp", "ArrowDown"), stepOf(event.key, "ArrowLeft", "ArrowRight")];
    const to = this.#rows[layer + down]?.[this.#rows[layer]!.indexOf(from) + right];
    if (!to || to === from) return;
    event.preventDefault();
    from.tabIndex = -1;
    to.tabIndex = 0;
    to.focus();
  }
}

/** 1 for the key that goes forward, −1 for the one that goes back. */
function stepOf(key: string, back: string, forward: string): number {
  return Number(key === forward) - Number(key === back);
}
