import type { ModelFacts, Seen } from "../../../engine/modelProtocol.js";
import { card, element, setText } from "../../../shell/element.js";
import { decimal } from "../../../shell/numbers.js";
import { share } from "./share.js";
import { effectWords, sharesWords } from "./words.js";
import { t } from "../../../../texts/t.js";

interface Bar {
  readonly label: string;
  /** From 0 to 1. */
  readonly before: number;
  readonly now: number;
  readonly words: string;
}

/** Bars of the likeliest tokens, with the changes and without; or of how far the last hidden states have turned. */
export class EffectBars {
  readonly node: HTMLElement;
  readonly #title: HTMLElement;
  readonly #words = element("p", { class: "hint" });
  readonly #list = element("ol", { class: "effect-bars", tabindex: "0", "aria-label": t`Before and after` });

  constructor() {
    this.node = card(t`What comes next`, this.#words, this.#list);
    this.#title = this.node.querySelector("h2")!;
  }

  show(facts: ModelFacts, seen: Seen, hasChanges: boolean): void {
    const { effect } = seen;
    setText(
      this.#title,
      effect.kind === "states" ? t`What turns` : facts.isCausal ? t`What comes next` : t`What is hidden`,
    );
    setText(this.#words, effectWords(facts, seen, hasChanges));
    const bars: Bar[] =
      effect.kind === "states"
        ? effect.cosines.map((now, n) => ({ label: seen.labels[n]!, before: 1, now, words: decimal(now, 3) }))
        : effect.candidates.map(({ label, before, now }) => ({
            ...{ label, before, now },
            words: hasChanges ? sharesWords(before, now) : share(now),
          }));
    this.#list.replaceChildren(
      ...bars.map(({ label, before, now, words }) => {
        const bar = element("i");
        bar.style.setProperty("--now", `${(100 * Math.max(0, now)).toFixed(1)}%`);
        bar.style.setProperty("--before", `${(100 * before).toFixed(1)}%`);
        return element("li", {}, element("b", {}, label), bar, element("output", {}, words));
      }),
    );
  }
}
