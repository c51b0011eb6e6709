import type { Engine } from "../engine/engine.js";
import { button } from "../shell/controls.js";
import { element, setHidden } from "../shell/element.js";
import { inWords } from "../shell/failure.js";
import { number } from "../shell/field.js";
import { unfold } from "../shell/folds.js";
import type { State } from "../shell/state.js";
import { t } from "../../texts/t.js";
import type { Step } from "./step.js";
import { STEPS, stepAddress } from "./steps.js";

/** The visitor's place in the tour. It is part of every room's address, so no room has settings of these names. */
export const tourFields = {
  /** The step, from 1; 0 means that no tour is on. */
  tour: number(0, { min: 0, max: STEPS.length }),
  /** The visitor's prediction, from 1; 0 means that there is none yet. */
  guess: number(0, { min: 0, max: 9 }),
};

export interface TourEvents {
  readonly engine: () => Engine;
  /** Shows these settings in the open room. */
  show(query: URLSearchParams): void;
}

/** The panel of the tour: a question, the visitor's prediction, what is true, and the way on. */
export class Tour {
  readonly #node: HTMLElement;
  readonly #state: State<typeof tourFields>;
  readonly #events: TourEvents;
  readonly #question = element("p", { class: "tour-question", tabindex: "-1" });
  readonly #answers = element("div", { class: "chips", role: "group", "aria-label": t`Your prediction` });
  readonly #truth = element("p", { class: "tour-truth", role: "status" });
  readonly #place = element("b");
  readonly #on = element("div", { class: "row" });
  /** The step that has had the focus. */
  #shown = 0;
  #room = "";

  constructor(node: HTMLElement, state: State<typeof tourFields>, events: TourEvents) {
    this.#node = node;
    this.#state = state;
    this.#events = events;
    const leave = button(t`Leave the tour`, () => state.set({ tour: 0, guess: 0 }));
    node.append(
      element("div", { class: "tour-head" }, this.#place, leave),
      this.#question,
      this.#answers,
      this.#truth,
      this.#on,
    );
    state.onChange(() => this.#draw());
  }

  /** Shows the step for the room that the visitor has entered. A new step gets the focus. */
  enter(room: string): void {
    this.#room = room;
    const { tour: place } = this.#state.values;
    const isNew = place !== this.#shown;
    this.#draw();
    this.#shown = place;
    if (isNew && place > 0) this.#question.focus({ preventScroll: true });
  }

  #draw(): void {
    const { tour: place, guess } = this.#state.values;
    setHidden(this.#node, place === 0);
    document.documentElement.toggleAttribute("data-tour", place > 0);
    if (place === 0) {
      this.#shown = 0;
      return;
    }
    const step = STEPS[place - 1]!;
    const isHere = this.#room === step.room;
    this.#place.textContent = t`Tour, step ${place} of ${STEPS.length}`;
    this.#question.textContent = step.question;
    this.#truth.textContent = "";
    this.#answers.hidden = !isHere;
    this.#answers.replaceChildren(...step.answers.map((answer, index) => this.#answer(step, answer, index)));
    this.#on.replaceChildren(...(isHere ? [] : [element("a", { href: stepAddress(place) }, t`Back to this step`)]));
    if (isHere && guess > 0) void this.#reveal(step, place, guess - 1);
  }

  #answer(step: Step, answer: string, index: number): HTMLElement {
    const { guess } = this.#state.values;
    const chip = button(answer, () => this.#predict(step, index));
    chip.ariaPressed = String(index === guess - 1);
    if (guess > 0) chip.ariaDisabled = "true";
    return chip;
  }

  #predict(step: Step, index: number): void {
    if (this.#state.values.guess > 0) return;
    this.#state.set({ guess: index + 1 });
    this.#events.show(new URLSearchParams(step.after));
    (this.#answers.children[index] as HTMLElement).focus();
    const figure = document.querySelector(`main ${step.look}`);
    if (figure) unfold(figure);
    figure?.scrollIntoView();
  }

  /** Computes the truth and says it, unless the visitor has gone on. */
  async #reveal(step: Step, place: number, guess: number): Promise<void> {
    this.#truth.textContent = t`headwise computes it …`;
    const isLate = () => this.#state.values.tour !== place || this.#room !== step.room;
    try {
      const { right, said } = await step.reveal(this.#events.engine());
      if (isLate()) return;
      const verdict = guess === right ? t`You were right. ` : t`You said “${step.answers[guess] ?? "?"}”. `;
      this.#truth.replaceChildren(element("b", {}, verdict), said);
      [...this.#answers.children].forEach((chip, index) => chip.classList.toggle("right", index === right));
      this.#on.replaceChildren(this.#next(place));
    } catch (error) {
      if (isLate()) return;
      this.#truth.textContent = t`This did not work: ${inWords(error)}`;
      this.#on.replaceChildren(
        button(t`Try again`, () => {
          this.#question.focus({ preventScroll: true }); // the button is gone
          this.#draw();
        }),
        this.#next(place),
      );
    }
  }

  #next(place: number): HTMLElement {
    if (place < STEPS.length) return element("a", { class: "on", href: stepAddress(place + 1) }, t`Next step`);
    return button(t`End the tour`, () => this.#state.set({ tour: 0, guess: 0 }), "primary");
  }
}
