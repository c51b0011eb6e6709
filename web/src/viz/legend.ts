import type { Ramp } from "./colours.js";
import { make } from "./make.js";
import { texts } from "./texts.js";

/** What the legend of a map says. */
export interface LegendTexts {
  /** The numbers of the palette's ends. */
  readonly low: string;
  readonly high: string;
  readonly hasHidden: boolean;
  /** The unit of the numbers in the cells; undefined if no numbers are shown, or if they have no unit. */
  readonly unit: string | undefined;
}

/** The line below a map: its palette, what is hidden, what rows and columns are, and which rows are still computed. */
export class Legend {
  readonly #low = make("span");
  readonly #high = make("span");
  readonly #bar = make("span", { class: "bar" });
  readonly #hiddenText = make("span");
  readonly #hidden = make("span", {}, make("span", { class: "swatch" }), this.#hiddenText);
  readonly #axes = make("span");
  readonly #unit = make("span");
  readonly #progress = make("span", { hidden: true });
  readonly element = make(
    "div",
    { class: "legend", part: "legend" },
    make("span", { dir: "ltr" }, this.#low, this.#bar, this.#high), // as the colours of the bar
    this.#unit,
    this.#hidden,
    this.#axes,
    this.#progress,
  );

  /** Says its fixed words. */
  speak(): void {
    this.#hiddenText.textContent = texts().hidden;
    this.#axes.textContent = texts().axes;
  }

  show(ramp: Ramp, { low, high, hasHidden, unit }: LegendTexts): void {
    const stops = Array.from({ length: 17 }, (_, i) => ramp(i / 16));
    this.#bar.style.background = `linear-gradient(to right, ${stops.join(", ")})`;
    this.#low.textContent = low;
    this.#high.textContent = high;
    this.#hidden.hidden = !hasHidden;
    this.#unit.textContent = unit === undefined ? "" : texts().unit(unit);
  }

  get isComputing(): boolean {
    return !this.#progress.hidden;
  }

  progress(done: number, total: number): void {
    this.#progress.hidden = done === total;
    this.#progress.textContent = texts().computed(done, total);
  }
}
