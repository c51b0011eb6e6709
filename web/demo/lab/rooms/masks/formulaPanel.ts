import { element, foldedPanel } from "../../shell/element.js";
import type { State } from "../../shell/state.js";
import { t } from "../../../texts/t.js";
import type { Compiled, Fault, Faults } from "./compile.js";
import { shownFormulas, type Formulas } from "./formulas.js";
import { LONGEST_FORMULA, type fields, type Settings } from "./settings.js";
import { LANGUAGE, modeWords, staleWords } from "./words.js";

const LABELS: Readonly<Record<keyof Formulas, readonly [label: string, placeholder: string]>> = {
  visible: [t`visible: which pairs a query sees`, "true"],
  score: [t`score: what becomes of the score s`, "s"],
  parameters: [t`Parameters, one on each line`, "window = 7"],
};

/** The fields for formulas. They show the formulas of what is computed; who types in them computes by formulas. */
export class FormulaPanel {
  readonly #state: State<typeof fields>;
  readonly #faults: ReadonlyMap<keyof Formulas, FaultLine>;
  readonly #call = new FaultLine("formula-call");
  readonly #stale = element("p", { class: "hint", "aria-live": "polite" });
  readonly node: HTMLElement;

  constructor(state: State<typeof fields>) {
    this.#state = state;
    const names = Object.keys(LABELS) as (keyof Formulas)[];
    this.#faults = new Map(names.map((name) => [name, new FaultLine(`formula-${name}-fault`)]));
    this.node = foldedPanel(
      t`Formulas`,
      this.#switch(),
      element("div", { class: "formula-fields" }, ...names.map((name) => this.#field(name))),
      element("div", { class: "formula-notes" }, this.#call.node, this.#stale, language()),
    );
    this.node.classList.add("formulas");
  }

  /** Shows what is wrong with the texts, or with the call that was made with them; and what is drawn then. */
  show(faults: Faults, call: Fault | undefined, drawn: Compiled): void {
    for (const [name, line] of this.#faults) line.show(faults[name]);
    this.#call.show(call);
    const isWrong = call !== undefined || Object.keys(faults).length > 0;
    const words = staleWords({ isWrong, isPlain: Object.keys(drawn).length === 0 });
    if (this.#stale.textContent !== words) this.#stale.textContent = words;
  }

  #switch(): HTMLElement {
    const input = element("input", { type: "checkbox", "data-field": "rules" });
    input.onchange = () => this.#set(input.checked ? {} : { rules: "options" });
    const words = element("p", { class: "hint" });
    this.#follow((values) => {
      input.checked = values.rules === "formulas";
      words.textContent = modeWords(values);
    });
    const label = element("label", { class: "control toggle" }, input, t`Compute by formulas`);
    return element("div", { class: "formula-switch" }, label, words);
  }

  #field(name: keyof Formulas): HTMLElement {
    const [label, placeholder] = LABELS[name];
    const id = `formula-${name}`;
    const fault = this.#faults.get(name)!;
    const attributes = {
      id,
      placeholder,
      rows: "1",
      spellcheck: "false",
      autocomplete: "off",
      autocapitalize: "off",
      translate: "no",
    };
    const area = element("textarea", {
      ...attributes,
      "data-field": name,
      "aria-describedby": fault.id,
      maxlength: String(LONGEST_FORMULA),
    });
    area.oninput = () => this.#set({ [name]: area.value });
    fault.onChange = (isWrong) => (area.ariaInvalid = String(isWrong));
    this.#follow((values) => {
      const text = shownFormulas(values)[name];
      if (area.value !== text) area.value = text;
    });
    return element("div", { class: "control lines" }, element("label", { for: id }, label), area, fault.node);
  }

  /** Computes by the formulas that are shown, with these changes. */
  #set(changes: Partial<Settings>): void {
    this.#state.set({ ...shownFormulas(this.#state.values), rules: "formulas", ...changes });
  }

  #follow(show: (values: Settings) => void): void {
    show(this.#state.values);
    this.#state.onChange(() => show(this.#state.values));
  }
}

const NO_FAULT: Fault = { words: "", english: "", excerpt: "" };

/** A line for a fault, and the place in the formula. The line is read aloud, so it is there also while it is empty. */
class FaultLine {
  readonly #words = element("p", { "aria-live": "polite" });
  readonly #excerpt = element("pre", {
    class: "scroll",
    role: "region",
    tabindex: "0",
    "aria-label": t`The place`,
    translate: "no",
    hidden: "",
  });
  readonly node: HTMLElement;
  onChange: (isWrong: boolean) => void = () => {};

  constructor(readonly id: string) {
    this.#words.id = id;
    this.node = element("div", { class: "fault" }, this.#words, this.#excerpt);
  }

  show(fault: Fault | undefined): void {
    const { words, english, excerpt } = fault ?? NO_FAULT;
    if (this.#words.textContent !== words) {
      const own = words.slice(0, words.length - english.length);
      this.#words.replaceChildren(own, ...(english ? [element("span", { lang: "en" }, english)] : []));
    }
    this.#excerpt.textContent = excerpt;
    this.#excerpt.hidden = excerpt === "";
    this.onChange(fault !== undefined);
  }
}

/** What a formula may say. */
function language(): HTMLElement {
  const entries = LANGUAGE.flatMap(([term, words]) => [
    element("dt", {}, element("code", { translate: "no" }, term)),
    element("dd", {}, words),
  ]);
  return element("details", {}, element("summary", {}, t`What a formula may say`), element("dl", {}, ...entries));
}
