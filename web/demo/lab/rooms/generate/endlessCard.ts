import { unitOf, type DecoderConfig } from "../../../generate/decoderFile.js";
import type { Endless } from "../../engine/generateProtocol.js";
import { button, setIdle } from "../../shell/controls.js";
import { element, folded } from "../../shell/element.js";
import { endlessChart } from "./endlessChart.js";
import { endlessWords } from "./words.js";
import { t } from "../../../texts/t.js";

/** A long text with all tokens, with a ring that keeps the first ones, and with one that does not. */
export class EndlessCard {
  readonly node: HTMLElement;
  readonly #read: HTMLButtonElement;
  readonly #picture = element("div", { class: "endless" });
  readonly #words = element("p", { class: "finding", role: "status" });

  constructor(onRead: () => void) {
    this.#read = button(t`Read a text that it has not learned from`, () => {
      setIdle(this.#read, true);
      onRead();
    });
    const words = t`A ring keeps the last tokens and drops the others, so its memory does not grow. Many heads rest on the first tokens (“sinks”). Does a ring need them? Three caches read the same text, and the model’s surprise is measured.`;
    this.node = folded(t`Endless text`, element("p", { class: "hint" }, words), this.#read, this.#picture, this.#words);
  }

  /** Hides the card where there is no text to read. */
  offer({ sample }: DecoderConfig): void {
    this.node.hidden = !sample;
  }

  show(config: DecoderConfig, endless: Endless, kept: number, isDone: boolean): void {
    setIdle(this.#read, !isDone);
    this.#picture.replaceChildren(endlessChart(endless, kept, unitOf(config)));
    this.#words.textContent = endlessWords(config, endless, kept);
  }

  clear(): void {
    setIdle(this.#read, false);
    this.#picture.replaceChildren();
    this.#words.textContent = "";
  }
}
