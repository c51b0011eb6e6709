import type { DecoderConfig } from "../../../generate/decoderFile.js";
import { element, folded } from "../../shell/element.js";
import { choiceWords, jobWords } from "./jobs.js";
import { t } from "../../../texts/t.js";

/** What the model of stories can do, and which heads do it. */
export class JobsCard {
  readonly node: HTMLElement;
  readonly #choices = element("p", { class: "hint" });
  readonly #jobs = element("ul", { class: "jobs" });
  #shown: DecoderConfig | undefined;

  constructor() {
    const words = t`The grammar knows the right word at many places. These are the shares of right choices among the words that could stand there, in stories that the model has not seen; and what is left of them when one head is off.`;
    this.node = folded(t`What the heads are for`, element("p", { class: "hint" }, words), this.#choices, this.#jobs);
  }

  /** Hides the card where nothing was measured. */
  show(config: DecoderConfig): void {
    if (config === this.#shown) return;
    this.#shown = config;
    const choices = choiceWords(config);
    this.node.hidden = choices.length === 0;
    this.#choices.textContent = `${choices.join(" · ")}.`;
    this.#jobs.replaceChildren(...jobWords(config).map((job) => element("li", {}, job)));
  }
}
