import { percent } from "../../shell/amounts.js";
import { element, setText } from "../../shell/element.js";
import type { HeadPlace } from "../../shell/headPlace.js";
import { headLabel } from "../../shell/headWords.js";
import { inkOf, inkPicture, type Ink } from "../../shell/inkPicture.js";
import type { HeadScores } from "./scores.js";
import { placeName } from "./settings.js";
import { HABIT_NAMES, habitOf, headWords } from "./words.js";
import { t } from "../../../texts/t.js";

export interface TileState {
  readonly isOn: boolean;
  readonly isChosen: boolean;
  readonly ink: Ink;
}

/** The small map of a head, with its habit. A click chooses the head; the box switches it on and off. */
export class HeadTile {
  readonly node: HTMLElement;
  readonly place: HeadPlace;
  readonly #canvas = element("canvas", { "aria-hidden": "true" });
  readonly #choose: HTMLButtonElement;
  readonly #habit = element("span", { class: "habit" });
  readonly #on = element("input", { type: "checkbox" });

  constructor(place: HeadPlace, onChoose: () => void, onSwitch: (() => void) | undefined) {
    this.place = place;
    const name = headWords(place);
    this.#choose = element("button", { type: "button", "data-head": placeName(place) });
    this.#choose.onclick = onChoose;
    const label = element("label", {}, headLabel(place.head));
    if (onSwitch) {
      this.#on.onchange = onSwitch;
      this.#on.setAttribute("aria-label", t`${name} is on`);
      label.prepend(this.#on);
    }
    this.node = element(
      "div",
      { class: "head-tile" },
      element("div", { class: "map" }, this.#canvas, this.#choose),
      label,
      this.#habit,
    );
  }

  /** What the style sheet paints this map with. */
  get ink(): Ink {
    return inkOf(this.#canvas);
  }

  show(weights: Float32Array, scores: HeadScores, { isOn, isChosen, ink }: TileState): void {
    const habit = habitOf(scores);
    const words = habit ? `${percent(scores[habit], 1)} ${HABIT_NAMES[habit]}` : t`no habit`;
    const shown = isOn ? words : t`off`;
    setText(this.#habit, shown);
    this.#habit.classList.toggle("has", habit !== undefined && isOn);
    this.node.classList.toggle("off", !isOn);
    this.#on.checked = isOn;
    this.#choose.ariaPressed = String(isChosen);
    this.#choose.ariaLabel = `${headWords(this.place)}: ${shown}`;
    inkPicture(this.#canvas, weights, Math.round(Math.sqrt(weights.length)), ink);
  }
}
