import type { Habit, HeadPlace } from "../../../engine/modelProtocol.js";
import { card, element } from "../../../shell/element.js";
import { habitWords, headWords } from "./words.js";
import { t } from "../../../../texts/t.js";

/** The heads that do something with a name, the surest first. */
export class HabitList {
  readonly node: HTMLElement;
  readonly #list = element("ol", { class: "habit-list" });
  readonly #none = element("p", { class: "hint" }, t`No head reaches the threshold.`);
  readonly #onChoose: (place: HeadPlace) => void;

  constructor(onChoose: (place: HeadPlace) => void) {
    this.#onChoose = onChoose;
    const words = t`Scores are the mean weight on what the name says, over these tokens, from 0 to 1; with changes, → what it is now.`;
    this.node = card(t`What the heads do`, element("p", { class: "hint" }, words), this.#none, this.#list);
  }

  show(habits: readonly Habit[]): void {
    this.#none.hidden = habits.length > 0;
    this.#list.hidden = habits.length === 0;
    const items = habits.map((habit) => {
      const item = element("button", { type: "button" }, `${headWords(habit)}: ${habitWords(habit)}`);
      item.onclick = () => this.#onChoose(habit);
      return element("li", {}, item);
    });
    this.#list.replaceChildren(...items);
  }
}
