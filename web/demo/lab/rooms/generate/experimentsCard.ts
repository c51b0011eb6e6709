import type { DecoderConfig } from "../../../generate/decoderFile.js";
import type { ExperimentOrder, ExperimentResult } from "../../engine/experimentProtocol.js";
import { button } from "../../shell/controls.js";
import { element, folded, setText } from "../../shell/element.js";
import { EXPERIMENTS } from "./experiments.js";
import { experimentWords } from "./experimentWords.js";
import { t } from "../../../texts/t.js";

const NAMES: Readonly<Record<ExperimentOrder["kind"], string>> = {
  swap: t`Swap one word`,
  copying: t`Switch off the heads that copy`,
  weight: t`Two heads look at the answer`,
};

/** Experiments with one click each: what is seen, and beside it the control. */
export class ExperimentsCard {
  readonly node: HTMLElement;
  readonly #buttons: readonly HTMLButtonElement[];
  readonly #seen = element("p", { class: "finding", role: "status" });
  readonly #control = element("p", { class: "finding", role: "status" });

  constructor(onTry: (order: ExperimentOrder) => void) {
    this.#buttons = Object.values(EXPERIMENTS).map((order) =>
      button(NAMES[order.kind], () => {
        this.#say(t`Reading …`, "");
        for (const each of this.#buttons) each.disabled = true;
        onTry(order);
      }),
    );
    const words = t`Each button changes one thing, and sets the room so that it can be seen above: the text, its heads, temperature 1 and top k 40. The control is the same with another word, or with other heads.`;
    this.node = folded(
      t`Experiments`,
      element("p", { class: "hint" }, words),
      element("div", { class: "row experiments" }, ...this.#buttons),
      element("div", { class: "halves" }, this.#seen, this.#control),
    );
  }

  /** Hides the card where no story can be read. */
  show({ words }: DecoderConfig): void {
    this.node.hidden = !words;
  }

  answer({ heads }: DecoderConfig, result: ExperimentResult): void {
    const { seen, control } = experimentWords(result, heads);
    this.clear();
    this.#say(seen, control);
  }

  clear(): void {
    for (const each of this.#buttons) each.disabled = false;
    this.#say("", "");
  }

  #say(seen: string, control: string): void {
    setText(this.#seen, seen);
    setText(this.#control, control);
  }
}
