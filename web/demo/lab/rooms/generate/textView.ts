import { textOf, unitOf, vocabularyOf, type DecoderConfig } from "../../../generate/decoderFile.js";
import type { Written } from "../../engine/generateProtocol.js";
import { card, element, setText } from "../../shell/element.js";
import type { HeadPlace } from "../../shell/headPlace.js";
import { storyVerdict } from "./verdict.js";
import { headWords, sumWords, twinWords } from "./words.js";
import { t } from "../../../texts/t.js";

/** The text, coloured by what one head of its newest token looks at; and the text of the twin. */
export class TextView {
  readonly node: HTMLElement;
  readonly #text = element("p", { class: "own-text", tabindex: "0", role: "group", translate: "no" });
  readonly #unread = element("p", { class: "finding", role: "status" });
  readonly #by = element("p", { class: "hint" });
  readonly #verdict = element("p", { class: "finding", role: "status" });
  readonly #twinSays = element("p", { class: "hint" });
  readonly #twin = element("p", { class: "own-text twin", tabindex: "0", role: "group", translate: "no" });
  #letters: HTMLElement[] = [];

  constructor() {
    this.#text.setAttribute("aria-label", t`The text`);
    this.#twin.setAttribute("aria-label", t`The text with all heads on`);
    this.node = card(t`The text`, this.#text, this.#unread, this.#by, this.#verdict, this.#twinSays, this.#twin);
  }

  show(config: DecoderConfig, written: Written, place: HeadPlace, off: readonly HeadPlace[]): void {
    const { tokens, begun, weights, places, twin } = written;
    this.#letter(vocabularyOf(config).pieces(tokens), begun);
    this.#colour(weights[place.layer - 1]!, place.head, config.heads, places);
    this.#by.textContent =
      unitOf(config) === "word"
        ? t`Darker where ${headWords(place)} of the newest word looks; what the cache has dropped is pale.`
        : t`Darker where ${headWords(place)} of the newest character looks; what the cache has dropped is pale.`;
    this.#verdict.textContent =
      config.kind === "sums" ? sumWords(textOf(tokens, config), config.reversed) : storyVerdict(config, written);
    this.#twinSays.textContent = twinWords(config, written, off);
    const from = twin ? tokens.findIndex((token, at) => token !== twin[at]) : -1;
    this.#twin.hidden = from < 0;
    if (!twin || from < 0) return;
    const other = vocabularyOf(config).pieces(twin);
    this.#twin.replaceChildren(other.slice(0, from).join(""), element("mark", {}, other.slice(from).join("")));
  }

  /** Says what of the beginning the model cannot read. */
  tell(unread: string): void {
    setText(this.#unread, unread);
  }

  #letter(letters: readonly string[], begun: number): void {
    const isSame = letters.length >= this.#letters.length && this.#letters.every((node, at) => node.textContent === letters[at]); // oxfmt-ignore
    if (!isSame) {
      this.#letters = [];
      this.#text.replaceChildren();
    }
    const fresh = letters.slice(this.#letters.length).map((letter) => element("span", {}, letter));
    this.#text.append(...fresh);
    this.#letters.push(...fresh);
    this.#letters.forEach((node, at) => node.classList.toggle("begun", at < begun));
    if (fresh.length > 0) this.#text.scrollTop = this.#text.scrollHeight;
  }

  #colour(weights: Float32Array, head: number, heads: number, places: readonly number[]): void {
    const kept = weights.length / heads;
    const looks = Array<string>(this.#letters.length).fill("dropped");
    places.forEach((place, at) => {
      looks[place] = `${(100 * Math.sqrt(weights[head * kept + at]!)).toFixed(0)}%`;
    });
    this.#letters.forEach((node, at) => {
      const look = looks[at]!;
      if (node.dataset["look"] === look) return;
      node.dataset["look"] = look;
      node.classList.toggle("dropped", look === "dropped");
      node.style.setProperty("--look", look === "dropped" ? "0%" : look);
    });
  }
}
