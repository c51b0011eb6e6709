import { HABITS, habitsOf, headWithMost, mainHabit } from "../../../model/habits.js";
import { headName, headsOf } from "../../../model/heads.js";
import { percent } from "../../../model/links.js";
import { button } from "../../shell/controls.js";
import { element, folded, howTo, scrollable } from "../../shell/element.js";
import { t } from "../../../texts/t.js";
import { isBlind, type Seen } from "./seen.js";
import { HABIT_WORDS, habitWords } from "./words.js";

/** All heads with their habits. The visitor chooses the head of the picture here. */
export class HabitsCard {
  readonly node: HTMLElement;
  readonly #onHead: (head: number) => void;
  readonly #jumps = element("div", { class: "chips", role: "group", "aria-label": t`Most of a habit` });
  readonly #body = element("tbody");

  constructor(onHead: (head: number) => void) {
    this.#onHead = onHead;
    const titles = [t`Head`, ...HABITS.map((habit) => HABIT_WORDS[habit])];
    const head = element("tr", {}, ...titles.map((title) => element("th", { scope: "col" }, title)));
    this.node = folded(
      t`Eight heads, three habits`,
      element(
        "p",
        { class: "hint" },
        t`How much of its attention a head gives, on average, to the token before, to the first token, and to the token itself.`,
        howTo(t` Choose a head, or jump to the one that does most of it.`),
      ),
      this.#jumps,
      scrollable(
        t`Habits of the heads`,
        element("table", { class: "habits", "aria-label": t`Habits` }, element("thead", {}, head), this.#body),
      ),
    );
  }

  /** Heads that attend to nothing have no habits: the card is for others. */
  show(seen: Seen): void {
    const encoding = seen.shown;
    const heads = headsOf(encoding);
    this.node.hidden = encoding.tokens.length === 0 || isBlind(seen);
    this.#jumps.replaceChildren(
      ...HABITS.map((habit) => button(habitWords(encoding, habit), () => this.#onHead(headWithMost(habit, heads)))),
    );
    const focused = [...this.#body.querySelectorAll("button")].indexOf(document.activeElement as HTMLButtonElement);
    this.#body.replaceChildren(
      ...heads.map((head, index) => {
        const choose = button(headName(head), () => this.#onHead(index));
        choose.ariaPressed = String(index === seen.head);
        const habits = habitsOf(head);
        const main = mainHabit(habits);
        const cells = HABITS.map((habit) =>
          element("td", habit === main ? { class: "main" } : {}, percent(habits[habit])),
        );
        return element("tr", {}, element("th", { scope: "row" }, choose), ...cells);
      }),
    );
    this.#body.querySelectorAll("button")[focused]?.focus();
  }
}
