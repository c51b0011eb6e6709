import { movedByHead } from "../../../model/change.js";
import { headName, headsOf } from "../../../model/heads.js";
import { percent } from "../../../model/links.js";
import { button } from "../../shell/controls.js";
import { element, folded, howTo } from "../../shell/element.js";
import { decimal } from "../../shell/numbers.js";
import type { State } from "../../shell/state.js";
import { UNKNOWN_CLASS, unknownTitle } from "../../shell/unknownMark.js";
import { t } from "../../../texts/t.js";
import { namesOf, type Seen } from "./seen.js";
import { type fields, formatGains, formatHidden, gainsOf, hiddenOf } from "./settings.js";

/** Switches and sliders for the heads, and a choice of tokens to hide. */
export class Interventions {
  readonly node: HTMLElement;
  readonly #state: State<typeof fields>;
  readonly #body = element("tbody");
  readonly #tokens = element("div", { class: "chips", role: "group", "aria-label": t`Hide tokens` });
  #rows: readonly HeadRow[] = [];
  #names = "";

  constructor(state: State<typeof fields>) {
    this.#state = state;
    const reset = button(t`Undo all changes`, () => state.set({ gains: "", hidden: "" }));
    const head = element(
      "tr",
      {},
      element("th", { scope: "col" }, t`Head`),
      element("th", { scope: "col", "data-how-to": "" }, t`On`),
      ...[t`Strength of its output`, t`Attention moved`].map((title) => element("th", { scope: "col" }, title)),
    );
    this.node = folded(
      t`What if …`,
      element(
        "p",
        { class: "hint" },
        howTo(t`Switch a head off or scale it, or hide a token from all others. `),
        t`A head’s own map stays; the heads of the layer after it attend differently.`,
      ),
      element("table", { class: "heads", "aria-label": t`Heads` }, element("thead", {}, head), this.#body),
      element("h3", {}, t`Hide tokens`),
      this.#tokens,
      element("div", { class: "row" }, reset),
    );
    this.node.dataset["field"] = "gains hidden";
  }

  show(seen: Seen): void {
    const heads = headsOf(seen.shown);
    if (this.#rows.length === 0) {
      this.#rows = heads.map((head, index) => new HeadRow(headName(head), (gain) => this.#setGain(index, gain)));
      this.#body.replaceChildren(...this.#rows.map(({ node }) => node));
    }
    const gains = gainsOf(this.#state.values);
    const moved = movedByHead(seen.original, seen.shown);
    this.#rows.forEach((row, head) => row.show(gains[head]!, moved[head]!));
    this.#showTokens(namesOf(seen), seen.shown.unknown);
  }

  #setGain(head: number, gain: number): void {
    const gains = gainsOf(this.#state.values);
    this.#state.set({ gains: formatGains(gains.with(head, gain)) });
  }

  #showTokens(names: readonly string[], unknown: readonly number[]): void {
    const hidden = hiddenOf(this.#state.values, names.length);
    const text = names.join("\n");
    if (text !== this.#names)
      this.#tokens.replaceChildren(...names.map((name, token) => this.#token(name, token, unknown.includes(token))));
    this.#names = text;
    [...this.#tokens.children].forEach((chip, token) => (chip.ariaPressed = String(hidden.includes(token))));
  }

  #token(name: string, token: number, isUnknown: boolean): HTMLElement {
    const chip = button(name, () => this.#toggle(token));
    chip.translate = false;
    if (isUnknown) {
      chip.classList.add(UNKNOWN_CLASS);
      chip.title = unknownTitle(name);
    }
    return chip;
  }

  #toggle(token: number): void {
    const hidden = hiddenOf(this.#state.values, Infinity);
    const after = hidden.includes(token) ? hidden.filter((other) => other !== token) : [...hidden, token];
    this.#state.set({ hidden: formatHidden(after) });
  }
}

class HeadRow {
  readonly node: HTMLElement;
  readonly #on: HTMLInputElement;
  readonly #gain: HTMLInputElement;
  readonly #gainText = element("output");
  readonly #moved = element("span", { class: "bar" });
  readonly #movedText = element("span");

  constructor(name: string, onGain: (gain: number) => void) {
    const strength = { type: "range", min: "0", max: "2", step: "0.1", "aria-label": t`Strength of ${name}` };
    this.#on = element("input", { type: "checkbox", "aria-label": t`${name} is on` });
    this.#on.onchange = () => onGain(this.#on.checked ? 1 : 0);
    this.#gain = element("input", strength);
    this.#gain.oninput = () => onGain(this.#gain.valueAsNumber);
    this.node = element(
      "tr",
      {},
      element("th", { scope: "row" }, name),
      element("td", { "data-how-to": "" }, this.#on),
      element("td", {}, this.#gain, this.#gainText),
      element("td", {}, this.#moved, this.#movedText),
    );
  }

  show(gain: number, moved: number): void {
    this.#on.checked = gain !== 0;
    this.#gain.value = String(gain);
    this.#gainText.textContent = `×${decimal(gain, 1)}`;
    this.#moved.style.setProperty("--share", `${(100 * moved).toFixed(1)}%`);
    this.#movedText.textContent = percent(moved);
  }
}
