import type { ChangeKind, HeadPlace, Seen } from "../../../engine/modelProtocol.js";
import { element, setText } from "../../../shell/element.js";
import { placeName } from "../../../shell/headPlace.js";
import { headLabel } from "../../../shell/headWords.js";
import { inkOf, inkPicture, type Ink } from "../../../shell/inkPicture.js";
import { CHANGE_SIGNS, habitName, habitOf, headWords } from "./words.js";
import { t } from "../../../../texts/t.js";

export interface GridState {
  readonly threshold: number;
  readonly chosen: HeadPlace;
  readonly changeOf: (place: HeadPlace) => ChangeKind | undefined;
}

/** The small maps of all heads, a row for each layer. A click opens a head; its box switches it off. */
export class HeadGrid {
  readonly node = element("div", { class: "head-grid" });
  readonly #onChoose: (place: HeadPlace) => void;
  readonly #onSwitch: (place: HeadPlace, isOn: boolean) => void;
  #tiles: readonly Tile[] = [];
  #built = "";

  constructor(onChoose: (place: HeadPlace) => void, onSwitch: (place: HeadPlace, isOn: boolean) => void) {
    this.#onChoose = onChoose;
    this.#onSwitch = onSwitch;
  }

  show({ probs, tokens, habits }: Seen, { threshold, chosen, changeOf }: GridState): void {
    const size = tokens.length ** 2;
    this.#build(probs.length, probs[0]!.length / size);
    const ink = this.#tiles[0]!.ink;
    for (const tile of this.#tiles) {
      const { layer, head } = tile.place;
      const habit = habitOf(habits, tile.place, threshold);
      tile.show(probs[layer - 1]!.subarray(head * size, (head + 1) * size), {
        badge: habit && habitName(habit),
        change: changeOf(tile.place),
        isChosen: placeName(tile.place) === placeName(chosen),
        ink,
      });
    }
  }

  #build(layers: number, heads: number): void {
    const built = `${layers} ${heads}`;
    if (built === this.#built) return;
    this.#built = built;
    const rows = Array.from({ length: layers }, (_, index) =>
      Array.from({ length: heads }, (__, head) => {
        const place = { layer: index + 1, head };
        const tile: Tile = new Tile(
          place,
          () => this.#onChoose(place),
          (isOn) => this.#onSwitch(place, isOn),
        );
        return tile;
      }),
    );
    this.#tiles = rows.flat();
    this.node.replaceChildren(
      ...rows.map((tiles, index) =>
        element(
          "div",
          { class: "grid-row", role: "group", "aria-label": t`Layer ${index + 1}` },
          element("h3", {}, t`Layer ${index + 1}`),
          element("div", { class: "grid-tiles" }, ...tiles.map(({ node }) => node)),
        ),
      ),
    );
  }
}

interface TileState {
  readonly badge: string | undefined;
  readonly change: ChangeKind | undefined;
  readonly isChosen: boolean;
  readonly ink: Ink;
}

/** The small map of a head, with the name of what it does. */
class Tile {
  readonly node: HTMLElement;
  readonly #canvas = element("canvas", { "aria-hidden": "true" });
  readonly #choose: HTMLButtonElement;
  readonly #on = element("input", { type: "checkbox" });
  readonly #badge = element("span", { class: "badge" });

  constructor(
    readonly place: HeadPlace,
    onChoose: () => void,
    onSwitch: (isOn: boolean) => void,
  ) {
    this.#choose = element("button", { type: "button", "data-head": placeName(place) });
    this.#choose.onclick = onChoose;
    this.#on.setAttribute("aria-label", t`${headWords(place)} is on`);
    this.#on.onchange = () => onSwitch(this.#on.checked);
    this.node = element(
      "div",
      { class: "head-tile" },
      element("div", { class: "map" }, this.#canvas, this.#choose),
      element("label", {}, this.#on, headLabel(place.head)),
      this.#badge,
    );
  }

  /** What the style sheet paints the maps with. */
  get ink(): Ink {
    return inkOf(this.#canvas);
  }

  show(weights: Float32Array, { badge, change, isChosen, ink }: TileState): void {
    const words = change ? CHANGE_SIGNS[change] : (badge ?? "");
    setText(this.#badge, words);
    this.#badge.classList.toggle("change", change !== undefined);
    this.node.classList.toggle("off", change === "off");
    this.#on.checked = change !== "off";
    this.#choose.ariaPressed = String(isChosen);
    this.#choose.ariaLabel = `${headWords(this.place)}: ${words || t`no habit`}`;
    inkPicture(this.#canvas, weights, Math.round(Math.sqrt(weights.length)), ink);
  }
}
