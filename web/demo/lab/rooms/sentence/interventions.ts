import { headName, type Head } from "../../../model/heads.js";
import { percent } from "../../../model/links.js";
import { button } from "../../shell/controls.js";
import { card, element } from "../../shell/element.js";
import { decimal } from "../../shell/numbers.js";
import type { State } from "../../shell/state.js";
import { type fields, formatGains, gainsOf, HEADS, hiddenOf } from "./settings.js";

/** Switches and sliders for the heads, and a choice of tokens to hide. */
export class Interventions {
  readonly node: HTMLElement;
  readonly #state: State<typeof fields>;
  readonly #rows: readonly HeadRow[];
  readonly #tokens = element("div", { class: "chips", role: "group", "aria-label": "Hide tokens" });
  #names = "";

  constructor(state: State<typeof fields>) {
    this.#state = state;
    this.#rows = Array.from({ length: HEADS }, (_, head) => new HeadRow(head, (gain) => this.#setGain(head, gain)));
    const reset = button("Undo all changes", () => state.set({ gains: "", hidden: "" }));
    const head = element(
      "tr",
      {},
      ...["Head", "On", "Strength of its output", "Attention moved"].map((title) =>
        element("th", { scope: "col" }, title),
      ),
    );
    this.node = card(
      "What if …",
      element(
        "p",
        { class: "hint" },
        "Switch a head off or scale it, or hide a token from all others. Heads behind the change attend differently; the last column says how much.",
      ),
      element(
        "table",
        { class: "heads", "aria-label": "Heads" },
        element("thead", {}, head),
        element("tbody", {}, ...this.#rows.map(({ node }) => node)),
      ),
      element("h3", {}, "Hide tokens"),
      this.#tokens,
      element("div", { class: "row" }, reset),
    );
  }

  show(heads: readonly Head[], names: readonly string[], moved: readonly number[]): void {
    const gains = gainsOf(this.#state.values);
    this.#rows.forEach((row, head) => row.show(headName(heads[head]!), gains[head]!, moved[head]!));
    this.#showTokens(names);
  }

  #setGain(head: number, gain: number): void {
    const gains = gainsOf(this.#state.values);
    this.#state.set({ gains: formatGains(gains.with(head, gain)) });
  }

  #showTokens(names: readonly string[]): void {
    const hidden = hiddenOf(this.#state.values, names.length);
    const text = names.join("\n");
    if (text !== this.#names)
      this.#tokens.replaceChildren(...names.map((name, token) => button(name, () => this.#toggle(token))));
    this.#names = text;
    [...this.#tokens.children].forEach((chip, token) => (chip.ariaPressed = String(hidden.includes(token))));
  }

  #toggle(token: number): void {
    const hidden = hiddenOf(this.#state.values, Infinity);
    const after = hidden.includes(token) ? hidden.filter((other) => other !== token) : [...hidden, token];
    this.#state.set({ hidden: after.join(",") });
  }
}

class HeadRow {
  readonly node = element("tr");
  readonly #name = element("th", { scope: "row" });
  readonly #on = element("input", { type: "checkbox" });
  readonly #gain = element("input", { type: "range", min: "0", max: "2", step: "0.1" });
  readonly #gainText = element("output");
  readonly #moved = element("span", { class: "bar" });
  readonly #movedText = element("span");

  constructor(head: number, onGain: (gain: number) => void) {
    this.#on.dataset["head"] = String(head);
    this.#on.onchange = () => onGain(this.#on.checked ? 1 : 0);
    this.#gain.oninput = () => onGain(this.#gain.valueAsNumber);
    this.node.append(
      this.#name,
      element("td", {}, this.#on),
      element("td", {}, this.#gain, this.#gainText),
      element("td", {}, this.#moved, this.#movedText),
    );
  }

  show(name: string, gain: number, moved: number): void {
    this.#name.textContent = name;
    this.#on.ariaLabel = `${name} is on`;
    this.#on.checked = gain !== 0;
    this.#gain.ariaLabel = `Strength of ${name}`;
    this.#gain.value = String(gain);
    this.#gainText.textContent = `×${decimal(gain, 1)}`;
    this.#moved.style.setProperty("--share", `${(100 * moved).toFixed(1)}%`);
    this.#movedText.textContent = percent(moved);
  }
}
