import { rowOf } from "../../../model/heads.js";
import { percent } from "../../../model/links.js";
import { PHONE } from "../../../model/story.js";
import { button } from "../../shell/controls.js";
import { element, folded } from "../../shell/element.js";
import { decimal } from "../../shell/numbers.js";
import type { State } from "../../shell/state.js";
import { t } from "../../../texts/t.js";
import { namesOf, shownHead, type Seen } from "./seen.js";
import { type fields, type Settings, textsOf } from "./settings.js";
import { directionWords, mostAsymmetricPair } from "./words.js";

/** The scores of a pair of tokens in both directions, side by side. */
export class Directions {
  readonly node: HTMLElement;
  readonly #state: State<typeof fields>;
  readonly #from = element("select", { "aria-label": t`One token` });
  readonly #to = element("select", { "aria-label": t`The other token` });
  readonly #there = element("div", { class: "direction" });
  readonly #back = element("div", { class: "direction" });
  readonly #words = element("p", { class: "hint" });
  readonly #example = button(t`phone and RAM`, () => this.#showExample());

  constructor(state: State<typeof fields>) {
    this.#state = state;
    const set = () => state.set({ from: Number(this.#from.value), to: Number(this.#to.value) });
    this.#from.onchange = set;
    this.#to.onchange = set;
    this.node = folded(
      t`Each direction has its own score`,
      element("div", { class: "row pair" }, this.#from, this.#to, this.#example),
      element("div", { class: "directions" }, this.#there, this.#back),
      this.#words,
    );
  }

  show(seen: Seen, settings: Settings): void {
    const names = namesOf(seen);
    this.node.hidden = names.length < 2;
    this.#example.hidden = exampleOf(settings) < 0;
    if (names.length < 2) return;
    const [from, to] = pairOf(seen, settings);
    fill(this.#from, names, from);
    fill(this.#to, names, to);
    const { scores, probs } = shownHead(seen);
    const number = (i: number, j: number) => [
      element("span", { translate: "no" }, `${names[i]} → ${names[j]}`),
      element("b", {}, decimal(rowOf(scores, i)[j]!)),
      element("span", {}, t`score, ${percent(rowOf(probs, i)[j]!)} of the attention`),
    ];
    this.#there.replaceChildren(...number(from, to));
    this.#back.replaceChildren(...number(to, from));
    this.#words.textContent = directionWords(seen, from, to);
  }

  /** “phone” and “RAM” of the second default sentence. */
  #showExample(): void {
    const [from, to] = EXAMPLE;
    this.#state.set({ sentence: exampleOf(this.#state.values), hidden: "", from, to });
  }
}

/** The indices of “phone” and “RAM” in the second default sentence. */
export const EXAMPLE = [1, 4] as const;

function exampleOf(settings: Settings): number {
  return textsOf(settings).indexOf(PHONE);
}

/** The pair that the visitor has chosen, if the sentence has these tokens. */
export function pairOf(seen: Seen, { from, to }: Pick<Settings, "from" | "to">): readonly [number, number] {
  const tokens = seen.shown.tokens.length;
  const isChosen = from >= 0 && to >= 0 && from < tokens && to < tokens;
  return isChosen ? [from, to] : mostAsymmetricPair(seen);
}

function fill(select: HTMLSelectElement, names: readonly string[], chosen: number): void {
  const shown = [...select.options].map(({ textContent }) => textContent).join("\n");
  if (shown !== names.join("\n"))
    select.replaceChildren(
      ...names.map((name, token) => element("option", { value: String(token), translate: "no" }, name)),
    );
  select.value = String(chosen);
}
