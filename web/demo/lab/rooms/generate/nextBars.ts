import { vocabularyOf, type DecoderConfig } from "../../../generate/decoderFile.js";
import type { Candidate } from "../../../generate/sampling.js";
import { percent } from "../../shell/amounts.js";
import { element, howTo } from "../../shell/element.js";
import { sign } from "./words.js";
import { t } from "../../../texts/t.js";

const SHOWN = 12;

/** Bars of the likeliest next tokens. The bar is the chance to be taken, the line what the model says. */
export class NextBars {
  readonly node: HTMLElement;
  readonly #list = element("ol", { class: "next-tokens" });
  readonly #onChoose: (token: number) => void;
  #candidates: readonly Candidate[] = [];

  constructor(onChoose: (token: number) => void) {
    this.#onChoose = onChoose;
    const words = t`The bar is the chance to be taken, by temperature and top k. The line is the probability that the model gives.`;
    this.node = element(
      "div",
      { class: "column" },
      this.#list,
      element("p", { class: "hint" }, words, howTo(t` Click one to write it.`)),
    );
  }

  show(config: DecoderConfig, all: readonly Candidate[]): void {
    const names = vocabularyOf(config).tokens;
    this.#candidates = all.slice(0, SHOWN);
    const rows = this.#list.children;
    if (rows.length !== this.#candidates.length) this.#build();
    this.#candidates.forEach(({ token, probability, chance }, at) => {
      const row = rows[at]!.firstElementChild as HTMLElement;
      const name = sign(names[token]!);
      row.style.setProperty("--chance", `${(100 * chance).toFixed(1)}%`);
      row.style.setProperty("--probability", `${(100 * probability).toFixed(1)}%`);
      row.querySelector("b")!.textContent = name;
      row.querySelector("output")!.textContent = percent(chance, 1);
      row.title = t`Write “${name}”: ${percent(chance, 1)} to be taken, ${percent(probability, 1)} by the model`;
    });
  }

  #build(): void {
    const rows = this.#candidates.map((_, at) => {
      const row = element(
        "button",
        { type: "button" },
        element("b", { translate: "no" }),
        element("i"),
        element("output"),
      );
      row.onclick = () => this.#onChoose(this.#candidates[at]!.token);
      return element("li", {}, row);
    });
    this.#list.replaceChildren(...rows);
  }
}
