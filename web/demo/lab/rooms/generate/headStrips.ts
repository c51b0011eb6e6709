import type { DecoderConfig } from "../../../generate/decoderFile.js";
import type { Written } from "../../engine/generateProtocol.js";
import { element } from "../../shell/element.js";
import { headLabel } from "../../shell/headWords.js";
import { inkOf, inkPicture, type Ink } from "../../shell/inkPicture.js";
import { placeName, type HeadPlace } from "../../shell/headPlace.js";
import { headWords } from "./words.js";
import { t } from "../../../texts/t.js";

/** What each head of the newest token looks at, as strips along the text. */
export class HeadStrips {
  readonly node = element("div", { class: "strips", "data-field": "head off" });
  readonly #onChoose: (place: HeadPlace) => void;
  readonly #onSwitch: (place: HeadPlace) => void;
  #strips: readonly Strip[] = [];
  #built = "";

  constructor(onChoose: (place: HeadPlace) => void, onSwitch: (place: HeadPlace) => void) {
    this.#onChoose = onChoose;
    this.#onSwitch = onSwitch;
  }

  show(
    { layers, heads }: DecoderConfig,
    { weights, places, tokens }: Written,
    { off, chosen }: { off: readonly HeadPlace[]; chosen: HeadPlace },
  ): void {
    this.#build(layers, heads);
    const names = off.map(placeName);
    const ink = this.#strips[0]!.ink;
    for (const strip of this.#strips) {
      const { layer, head } = strip.place;
      const layerWeights = weights[layer - 1]!;
      const kept = layerWeights.length / heads;
      const line = new Float32Array(tokens.length);
      places.forEach((place, at) => (line[place] = layerWeights[head * kept + at]!));
      const name = placeName(strip.place);
      strip.show(line, { isOn: !names.includes(name), isChosen: name === placeName(chosen), ink });
    }
  }

  #build(layers: number, heads: number): void {
    if (this.#built === `${layers} ${heads}`) return;
    this.#built = `${layers} ${heads}`;
    const rows = Array.from({ length: layers }, (_, at) =>
      Array.from({ length: heads }, (__, head) => {
        const place = { layer: at + 1, head };
        return new Strip(
          place,
          () => this.#onChoose(place),
          () => this.#onSwitch(place),
        );
      }),
    );
    this.#strips = rows.flat();
    this.node.replaceChildren(
      ...rows.map((strips, at) =>
        element(
          "div",
          { class: "strip-row", role: "group", "aria-label": t`Layer ${at + 1}` },
          element("h3", {}, t`Layer ${at + 1}`),
          ...strips.map(({ node }) => node),
        ),
      ),
    );
  }
}

class Strip {
  readonly node: HTMLElement;
  readonly place: HeadPlace;
  readonly #canvas = element("canvas", { "aria-hidden": "true" });
  readonly #choose: HTMLButtonElement;
  readonly #on = element("input", { type: "checkbox" });

  constructor(place: HeadPlace, onChoose: () => void, onSwitch: () => void) {
    this.place = place;
    this.#choose = element("button", { type: "button", "data-head": placeName(place) });
    this.#choose.ariaLabel = headWords(place);
    this.#choose.onclick = onChoose;
    this.#on.onchange = onSwitch;
    this.#on.setAttribute("aria-label", t`${headWords(place)} is on`);
    this.node = element(
      "div",
      { class: "head-tile strip" },
      element("label", {}, this.#on, headLabel(place.head)),
      element("div", { class: "map" }, this.#canvas, this.#choose),
    );
  }

  get ink(): Ink {
    return inkOf(this.#canvas);
  }

  show(line: Float32Array, { isOn, isChosen, ink }: { isOn: boolean; isChosen: boolean; ink: Ink }): void {
    this.#on.checked = isOn;
    this.node.classList.toggle("off", !isOn);
    this.#choose.ariaPressed = String(isChosen);
    inkPicture(this.#canvas, line, 1, ink);
  }
}
