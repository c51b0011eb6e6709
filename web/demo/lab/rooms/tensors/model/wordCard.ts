import type { HeadPlace, WordStudy } from "../../../engine/modelProtocol.js";
import { card, element, howTo, scrollable, setText } from "../../../shell/element.js";
import { decimal } from "../../../shell/numbers.js";
import { EffectGrid } from "./effectGrid.js";
import { isDone, studyFinding, triedWords } from "./studyWords.js";
import { t } from "../../../../texts/t.js";

/** Which heads bring a word: what each head adds to its log-odds, while the study runs and after it. */
export class WordCard {
  readonly node: HTMLElement;
  readonly #title: HTMLElement;
  readonly #finding = element("p", { class: "finding", role: "status" });
  readonly #tried = element("p", { class: "hint" });
  readonly #progress = element("progress", { "aria-label": t`Heads that have been tried` });
  readonly #running = element("div", { class: "shelf" }, this.#progress, this.#tried);
  readonly #grid: EffectGrid;

  constructor(onSwitch: (place: HeadPlace, isOn: boolean) => void) {
    this.#grid = new EffectGrid(onSwitch);
    const double = decimal(Math.LN2, 1);
    const number = t`A head with + helps the word, a head with − hinders it. The number is what the head adds to the log-odds: +${double} doubles the odds, −${double} halves them.`;
    const alone = t`Each head is switched off alone. This does not show heads that act together, or heads that stand in for each other.`;
    this.node = card(
      "",
      this.#finding,
      this.#running,
      scrollable(t`What each head adds`, this.#grid.node),
      element("p", { class: "hint" }, number, " ", howTo(t`Click a number to switch its head off.`)),
      element("p", { class: "hint" }, alone),
    );
    this.#title = this.node.querySelector("h2")!;
    this.hide();
  }

  /** @param label - The word in writing. */
  show(study: WordStudy, label: string, isOff: (place: HeadPlace) => boolean): void {
    setText(this.#title, t`Which heads bring “${label}”?`);
    setText(this.#finding, isDone(study) ? studyFinding(study, label) : "");
    setText(this.#tried, triedWords(study));
    this.#progress.max = study.layers * study.heads;
    this.#progress.value = study.without.length;
    this.#running.hidden = isDone(study);
    this.#grid.show(study, isOff);
    this.node.hidden = false;
  }

  hide(): void {
    this.node.hidden = true;
  }
}
