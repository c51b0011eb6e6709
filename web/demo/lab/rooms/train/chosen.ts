import type { Picture } from "../../engine/trainProtocol.js";
import { element, folded, setText } from "../../shell/element.js";
import type { HeadPlace } from "../../shell/headPlace.js";
import { attentionMap } from "../../shell/maps.js";
import type { HeadScores } from "./scores.js";
import { cellWords, headWords, scoreWords, tokenNames } from "./words.js";
import { grouped } from "../../shell/numbers.js";
import { t } from "../../../texts/t.js";

/** The large map of one head, and what the two layers expect after each repeated token. */
export class Chosen {
  readonly node: HTMLElement;
  readonly #title: HTMLElement;
  readonly #scores = element("p", { class: "finding" });
  readonly #map = attentionMap(t`Weights of the head`);
  readonly #guesses = element("ol", { class: "guesses", "aria-label": t`Repeated tokens and what was expected` });
  #names = "";

  constructor() {
    const formula = t`Shares of the head’s attention, as means over the tokens that have such a key. With n tokens before the repetition, token i looks at i − 1 (the token before), at i − n + 1 (what followed it last time), at i − n (the same token).`;
    const beside = element(
      "div",
      { class: "column" },
      element("h3", {}, t`What the two layers expect`),
      element(
        "p",
        { class: "hint" },
        t`The repeated tokens. Those that the model expected are filled, the others crossed out.`,
      ),
      this.#guesses,
      element("h3", {}, t`How a head is scored`),
      element("p", { class: "hint" }, formula),
    );
    this.node = folded(t`The head`, this.#scores, element("div", { class: "run-columns" }, this.#map, beside));
    this.node.dataset["field"] = "head";
    this.#title = this.node.querySelector("h2")!;
  }

  show(picture: Picture, place: HeadPlace, scores: HeadScores): void {
    const { tokens, half, layers, control } = picture;
    const words = headWords(place);
    setText(this.#title, words[0]!.toUpperCase() + words.slice(1));
    const shares = t`At step ${grouped(picture.step)}: ${scoreWords(scores)}.`;
    setText(this.#scores, shares);
    const probs = place.layer === 0 ? control! : layers[place.layer - 1]!;
    const size = tokens.length ** 2;
    const names = tokenNames(tokens, half);
    if (this.#names !== names.join()) {
      this.#names = names.join();
      this.#map.causal = true;
      this.#map.tokens = names;
      this.#map.describe = ({ query, key, value, hidden }) =>
        hidden
          ? t`“${names[key]!}” comes after “${names[query]!}”: hidden.`
          : cellWords(names, half, query, key, value ?? 0);
    }
    this.#map.probs = {
      data: probs.slice(place.head * size, (place.head + 1) * size),
      shape: [1, tokens.length, tokens.length],
    };
    this.#map.headNames = [words];
    this.#showGuesses(picture, names);
  }

  #showGuesses({ tokens, half, predictions }: Picture, names: readonly string[]): void {
    if (this.#guesses.childElementCount !== half - 1)
      this.#guesses.replaceChildren(...Array.from({ length: half - 1 }, () => element("li")));
    [...this.#guesses.children].forEach((item, n) => {
      const at = half + n;
      const isRight = predictions[at] === tokens[at + 1];
      const kind = isRight ? "right" : "wrong";
      if (item.className !== kind) item.className = kind;
      setText(item, names[at + 1]!);
      const expected = tokenNames([predictions[at]!], 1)[0]!.slice(0, -1);
      item.setAttribute("title", t`after “${names[at]!}” it expects “${expected}”`);
    });
  }
}
