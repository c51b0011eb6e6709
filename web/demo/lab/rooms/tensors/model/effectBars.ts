import type { ModelFacts, Seen } from "../../../engine/modelProtocol.js";
import { card, element, setText } from "../../../shell/element.js";
import { decimal } from "../../../shell/numbers.js";
import { share } from "./share.js";
import { effectWords, sharesWords } from "./words.js";
import { t } from "../../../../texts/t.js";

interface Bar {
  /** Of a token that may be clicked: its number. */
  readonly word?: number;
  readonly label: string;
  /** From 0 to 1. */
  readonly before: number;
  readonly now: number;
  readonly words: string;
}

/**
 * Bars of the likeliest tokens, with the changes and without; or of how far the last hidden states have turned. A click on a
 * token asks which heads bring it.
 */
export class EffectBars {
  readonly node: HTMLElement;
  readonly #title: HTMLElement;
  readonly #words = element("p", { class: "hint" });
  readonly #hint = element("p", { class: "hint", "data-how-to": "" }, t`Click a bar to see which heads bring it.`);
  readonly #list = element("ol", { class: "effect-bars", tabindex: "0", "aria-label": t`Before and after` });
  readonly #onAsk: (word: number | undefined) => void;

  /** @param onAsk - Gets the token that is clicked; undefined: the one that is chosen already. */
  constructor(onAsk: (word: number | undefined) => void) {
    this.#onAsk = onAsk;
    this.node = card(t`What comes next`, this.#words, this.#hint, this.#list);
    this.#title = this.node.querySelector("h2")!;
  }

  show(facts: ModelFacts, seen: Seen, hasChanges: boolean, asked: number | undefined): void {
    const { effect } = seen;
    setText(
      this.#title,
      effect.kind === "states" ? t`What turns` : facts.isCausal ? t`What comes next` : t`What is hidden`,
    );
    setText(this.#words, effectWords(facts, seen, hasChanges));
    const bars: Bar[] =
      effect.kind === "states"
        ? effect.cosines.map((now, n) => ({ label: seen.labels[n]!, before: 1, now, words: decimal(now, 3) }))
        : effect.candidates.map(({ token, label, before, now }) => ({
            ...{ word: token, label, before, now },
            words: hasChanges ? sharesWords(before, now) : share(now),
          }));
    this.#hint.hidden = effect.kind === "states";
    const focused = this.#list.querySelector<HTMLElement>("button:focus")?.dataset["word"];
    this.#list.replaceChildren(...bars.map((bar) => element("li", {}, this.#row(bar, asked))));
    if (focused) this.#list.querySelector<HTMLElement>(`[data-word="${focused}"]`)?.focus();
  }

  #row({ word, label, before, now, words }: Bar, asked: number | undefined): HTMLElement {
    const bar = element("i");
    bar.style.setProperty("--now", `${(100 * Math.max(0, now)).toFixed(1)}%`);
    bar.style.setProperty("--before", `${(100 * before).toFixed(1)}%`);
    const parts = [element("b", {}, label), bar, element("output", {}, words)];
    if (word === undefined) return element("div", {}, ...parts);
    const isAsked = word === asked;
    const row = element(
      "button",
      { type: "button", "data-word": String(word), "aria-pressed": String(isAsked) },
      ...parts,
    );
    row.onclick = () => this.#onAsk(isAsked ? undefined : word);
    return row;
  }
}
