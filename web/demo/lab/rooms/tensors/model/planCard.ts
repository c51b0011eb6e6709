import type { ModelPlan, Precision } from "headwise/models";

import { button } from "../../../shell/controls.js";
import { card, element, setText } from "../../../shell/element.js";
import { loadWords, notesOf, planWords, PRECISIONS, precisionWords, refusalWords } from "./planWords.js";
import { t } from "../../../../texts/t.js";

/** What would be loaded, in which precision, and the button that loads it. */
export class PlanCard {
  readonly node: HTMLElement;
  readonly #about = element("p");
  readonly #choices = element("div");
  readonly #notes = element("ul", { class: "hint plan-notes" });
  readonly #load: HTMLButtonElement;
  #precision: Precision = "as-stored";
  #shown: ModelPlan | undefined;

  /** @param load - Called with the precision that the visitor has chosen. */
  constructor(load: (precision: Precision) => void) {
    this.#load = button("", () => load(this.#precision));
    const precisions = element(
      "fieldset",
      { class: "control choices" },
      element("legend", {}, t`Keep the matrices`),
      this.#choices,
    );
    this.node = card(t`What would be loaded`, this.#about, precisions, this.#notes, this.#load);
    this.node.hidden = true;
  }

  /**
   * Shows a plan. If it is shown already, the visitor's choice stays.
   *
   * @param host - The server from which the weights would be fetched; undefined: they are files of the visitor.
   */
  show(plan: ModelPlan, host?: string): void {
    this.node.hidden = false;
    if (plan === this.#shown) return;
    this.#shown = plan;
    const [first] = plan.fits;
    this.#precision = first ?? "as-stored";
    setText(this.#about, planWords(plan));
    this.#choices.replaceChildren(...PRECISIONS.map((precision) => this.#choice(plan, precision)));
    this.#notes.replaceChildren(...notesOf(plan, host).map((words) => element("li", {}, words)));
    setText(this.#load, loadWords(plan, host));
    this.#load.disabled = refusalWords(plan) !== undefined;
  }

  hide(): void {
    this.node.hidden = true;
  }

  #choice(plan: ModelPlan, precision: Precision): HTMLElement {
    const input = element("input", { type: "radio", name: "plan-precision", value: precision });
    input.checked = precision === this.#precision;
    input.disabled = !plan.fits.includes(precision);
    input.onchange = () => (this.#precision = precision);
    return element("label", {}, input, precisionWords(plan, precision));
  }
}
