import { panel, slider } from "../../shell/controls.js";
import { element, folded } from "../../shell/element.js";
import { grouped } from "../../shell/numbers.js";
import type { State } from "../../shell/state.js";
import { t } from "../../../texts/t.js";
import { GROWING, growthOf, growthWords, STATIONS, stationWords, toy, type Growth, type Station } from "./growth.js";
import type { fields } from "./settings.js";
import type { Sizes } from "./sizes.js";

/** A slider from this room's sizes to GPT-3's, and what grows on the way. */
export class GrowthCard {
  readonly node: HTMLElement;
  readonly #station = element("p", { class: "hint" });
  readonly #table = element("tbody");
  readonly #words = element("p", { class: "hint" });

  constructor(state: State<typeof fields>) {
    const nameOf = (index: number) => STATIONS[index - 1]?.name ?? t`this toy`;
    const head = [t`One layer`, t`this toy`, t`now`].map((name) => element("th", { scope: "col" }, name));
    this.node = folded(
      t`From this toy to GPT-3`,
      panel(slider(state, "station", t`Model`, nameOf)),
      this.#station,
      element("table", { class: "figures growth" }, element("thead", {}, element("tr", {}, ...head)), this.#table),
      this.#words,
      element("p", { class: "hint" }, t`On the bars ten times as much is always the same step. The mark is this toy.`),
    );
  }

  show(sizes: Sizes, index: number): void {
    const first = toy(sizes);
    const station = STATIONS[index - 1] ?? first;
    const [before, now] = [growthOf(first.sizes), growthOf(station.sizes)];
    this.#station.textContent = stationWords(station);
    this.#words.textContent = growthWords(station, sizes);
    this.#table.replaceChildren(
      ...(Object.keys(GROWING) as (keyof Growth)[]).flatMap((what) => [
        element("tr", {}, head(GROWING[what]), number(before[what]), number(now[what])),
        bar(what, before[what], now[what]),
      ]),
    );
  }
}

const GPT3: Station = STATIONS.at(-1)!;

/** A bar of the number's digits: each tenth power is as long as the one before. */
function bar(what: keyof Growth, before: number, now: number): HTMLElement {
  const share = (amount: number) => `${((100 * Math.log(amount)) / Math.log(growthOf(GPT3.sizes)[what])).toFixed(1)}%`;
  const line = element("div", { class: "growth-bar", "aria-hidden": "true" });
  line.style.setProperty("--now", share(now));
  line.style.setProperty("--toy", share(before));
  return element("tr", {}, element("td", { colspan: "3" }, line));
}

function head(words: string): HTMLElement {
  return element("th", { scope: "row" }, words);
}

function number(amount: number): HTMLElement {
  return element("td", {}, grouped(amount));
}
