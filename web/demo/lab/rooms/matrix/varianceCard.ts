import { panel, slider } from "../../shell/controls.js";
import { element, folded, formula } from "../../shell/element.js";
import { histogram } from "../../shell/histogram.js";
import type { State } from "../../shell/state.js";
import { t } from "../../../texts/t.js";
import type { fields } from "./settings.js";
import { statisticsWords, type ScoreStatistics } from "./variance.js";
import varianceTex from "./variance.tex";

/** Why the scores are divided by √D: histograms of the scores of random vectors. */
export class VarianceCard {
  readonly node: HTMLElement;
  readonly #charts = element("div", { class: "row" });

  constructor(state: State<typeof fields>) {
    this.node = folded(
      t`Why 1/√D`,
      formula(varianceTex),
      element("p", { class: "hint" }, VARIANCE_WORDS),
      panel(slider(state, "dim", t`Features D`)),
      this.#charts,
    );
  }

  show(
    dim: number,
    { unscaled, scaled }: { readonly unscaled: ScoreStatistics; readonly scaled: ScoreStatistics },
  ): void {
    const limit = Math.ceil(3.5 * Math.sqrt(dim));
    const figures = [
      { name: "q·k", statistics: unscaled },
      { name: "q·k / √D", statistics: scaled },
    ].map(({ name, statistics }) => {
      const said = statisticsWords(name, statistics);
      return element(
        "figure",
        { class: "chart" },
        histogram(statistics.scores, limit, said),
        element("figcaption", {}, said),
      );
    });
    this.#charts.replaceChildren(...figures);
  }
}

const VARIANCE_WORDS = t`64 random queries and 64 random keys, of mean 0 and variance 1. The wider the scores spread, the more the softmax gives to a single key.`;
