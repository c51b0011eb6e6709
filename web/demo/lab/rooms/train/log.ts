import { button } from "../../shell/controls.js";
import { card, element } from "../../shell/element.js";
import type { HeadPlace } from "../../shell/headPlace.js";
import type { Moment } from "./moments.js";
import { momentWords } from "./words.js";
import { t } from "../../../texts/t.js";

const NOTHING_YET = t`Nothing yet. When a head takes up a habit, it stands here with its step.`;

/** What happened, and when. Each entry leads to its checkpoint. */
export class Log {
  readonly node: HTMLElement;
  readonly #empty = element("p", { class: "hint" }, NOTHING_YET);
  readonly #list = element("ol", { class: "moments", "aria-live": "polite" });
  readonly #onMoment: (step: number, place: HeadPlace | undefined) => void;

  constructor(onMoment: (step: number, place: HeadPlace | undefined) => void) {
    this.#onMoment = onMoment;
    this.node = card(t`What happened, and when`, this.#empty, this.#list);
  }

  show(moments: readonly Moment[]): void {
    this.#empty.hidden = moments.length > 0;
    if (moments.length < this.#list.childElementCount) this.#list.replaceChildren();
    for (const moment of moments.slice(this.#list.childElementCount)) {
      const place = "place" in moment ? moment.place : undefined;
      const words = momentWords(moment);
      const entry = button(words, () => this.#onMoment(moment.step, place), moment.kind);
      this.#list.append(element("li", {}, entry));
    }
  }
}
