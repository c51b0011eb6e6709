import { button, setIdle } from "../../shell/controls.js";
import { element } from "../../shell/element.js";
import { grouped } from "../../shell/numbers.js";
import { t } from "../../../texts/t.js";

/** A slider through the checkpoints. `onStep` is called with a step; undefined: the latest, and every later one. */
export class Scrubber {
  readonly node: HTMLElement;
  readonly #onStep: (step: number | undefined) => void;
  readonly #slider = element("input", { type: "range", min: "0", "aria-label": t`Checkpoint` });
  readonly #place = element("output");
  readonly #latest = button(t`Latest`, () => this.#onStep(undefined));
  #steps: readonly number[] = [];

  constructor(onStep: (step: number | undefined) => void) {
    this.#onStep = onStep;
    this.#slider.oninput = () => {
      const at = this.#slider.valueAsNumber;
      this.#onStep(at >= this.#steps.length - 1 ? undefined : this.#steps[at]);
    };
    const name = element("span", {}, t`Checkpoints`);
    this.node = element("div", { class: "player scrubber" }, name, this.#slider, this.#place, this.#latest);
  }

  show(steps: readonly number[], shown: number): void {
    this.#steps = steps;
    const at = steps.findLastIndex((step) => step <= shown);
    const last = Math.max(steps.length - 1, 0);
    this.#slider.max = String(last);
    this.#slider.value = String(at);
    const words = t`step ${grouped(shown)}`;
    this.#place.textContent = words;
    this.#slider.setAttribute("aria-valuetext", words);
    this.#slider.disabled = last === 0;
    setIdle(this.#latest, at >= last);
  }
}
