import { button } from "../../shell/controls.js";
import { element } from "../../shell/element.js";
import { t } from "../../../texts/t.js";

const STEP_MS = 700;

/** Buttons that go through the steps, and a slider to any of them. `onStep` is called with the step to show. */
export class Player {
  readonly node: HTMLElement;
  readonly #onStep: (step: number) => void;
  readonly #slider = element("input", { type: "range", min: "0", "aria-label": t`Step` });
  readonly #place = element("output");
  readonly #play: HTMLButtonElement;
  #step = 0;
  #last = 0;
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(onStep: (step: number) => void) {
    this.#onStep = onStep;
    this.#slider.oninput = () => this.#go(this.#slider.valueAsNumber);
    this.#play = button(t`Play`, () => (this.#timer === undefined ? this.#start() : this.stop()), "primary");
    this.node = element(
      "div",
      { class: "player", role: "group", "aria-label": t`Steps` },
      button(t`First`, () => this.#go(0)),
      button(t`Back`, () => this.#go(this.#step - 1)),
      this.#play,
      button(t`Next`, () => this.#go(this.#step + 1)),
      button(t`Last`, () => this.#go(this.#last)),
      this.#slider,
      this.#place,
    );
  }

  show(step: number, last: number): void {
    this.#step = step;
    this.#last = last;
    this.#slider.max = String(last);
    this.#slider.value = String(step);
    this.#place.textContent = t`tile ${step + 1} of ${last + 1}`;
    if (step >= last) this.stop();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#play.textContent = t`Play`;
  }

  /** Shows step after step. If the visitor prefers reduced motion, it shows the last step at once. */
  #start(): void {
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return this.#onStep(this.#last);
    if (this.#step >= this.#last) this.#onStep(0);
    this.#play.textContent = t`Pause`;
    this.#timer = setInterval(() => this.#onStep(Math.min(this.#step + 1, this.#last)), STEP_MS);
  }

  #go(step: number): void {
    this.stop();
    this.#onStep(Math.min(Math.max(step, 0), this.#last));
  }
}
