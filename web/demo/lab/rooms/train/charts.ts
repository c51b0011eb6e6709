import { element } from "../../shell/element.js";
import { CurveChart } from "./curveChart.js";
import type { History } from "./history.js";
import { VOCABULARY } from "./settings.js";
import { PERCENT } from "../../../texts/percent.js";
import { t } from "../../../texts/t.js";

/** The loss of a model that knows nothing: the logarithm of the number of tokens, in nats. */
const KNOWS_NOTHING = Math.log(VOCABULARY);

/** The curves of both models: what they copy, and their loss. */
export class Charts {
  readonly node: HTMLElement;
  readonly #copied: CurveChart;
  readonly #loss: CurveChart;
  readonly #one = element("span", {}, element("i", { class: "curve-key one" }), t`one layer`);

  constructor(onStep: (step: number) => void) {
    this.#copied = new CurveChart({
      label: t`The share of repeated tokens that is copied, step by step`,
      highest: 1,
      ticks: [0, 0.5, 1],
      shown: (value) => `${100 * value}${PERCENT}`,
      onStep,
    });
    this.#loss = new CurveChart({
      label: t`The loss in nats, step by step`,
      highest: Math.ceil(KNOWS_NOTHING + 0.3),
      ticks: [0, 2, 4],
      shown: String,
      onStep,
    });
    this.node = element(
      "div",
      { class: "curves" },
      element(
        "div",
        { class: "legend" },
        element("span", {}, element("i", { class: "curve-key two" }), t`two layers`),
        this.#one,
        element("span", {}, element("i", { class: "curve-key now" }), t`shown`),
      ),
      element(
        "figure",
        {},
        element("figcaption", {}, t`Repeated tokens that are copied, in sequences that are never learned from`),
        this.#copied.node,
      ),
      element("figure", {}, element("figcaption", {}, t`Loss in nats, in the sequences of each step`), this.#loss.node),
    );
  }

  show({ two, one, moments }: History, now: number): void {
    const marks = moments.list.map(({ step }) => step);
    const curves = (of: "copied" | "losses") => [
      { name: t`two layers`, kind: "two" as const, points: two[of] },
      { name: t`one layer`, kind: "one" as const, points: one[of] },
    ];
    this.#copied.show(curves("copied"), two.losses.length, marks, now);
    this.#loss.show(curves("losses"), two.losses.length, marks, now);
  }
}
