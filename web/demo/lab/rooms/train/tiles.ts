import type { Picture } from "../../engine/trainProtocol.js";
import { element } from "../../shell/element.js";
import type { HeadPlace } from "../../shell/headPlace.js";
import { HeadTile } from "./headTile.js";
import type { HeadScores } from "./scores.js";
import { placeName } from "./settings.js";
import { t } from "../../../texts/t.js";

const TITLES = [t`One layer`, t`Layer ${1}`, t`Layer ${2}`];

/** The small maps of all heads, in rows: both layers, then the control. */
export class Tiles {
  readonly node = element("div", { class: "tile-rows" });
  readonly #onChoose: (place: HeadPlace) => void;
  readonly #onSwitch: (place: HeadPlace) => void;
  #tiles: readonly HeadTile[] = [];
  #built = "";

  constructor(onChoose: (place: HeadPlace) => void, onSwitch: (place: HeadPlace) => void) {
    this.#onChoose = onChoose;
    this.#onSwitch = onSwitch;
  }

  show(
    { control, layers, heads }: Picture,
    scores: readonly (readonly HeadScores[])[],
    { off, chosen }: { off: readonly HeadPlace[]; chosen: HeadPlace },
  ): void {
    this.#build(heads, control !== undefined);
    const names = off.map(placeName);
    const inks = new Map(this.#firsts.map((tile) => [tile.place.layer, tile.ink]));
    for (const tile of this.#tiles) {
      const { layer, head } = tile.place;
      const probs = layer === 0 ? control! : layers[layer - 1]!;
      const size = probs.length / heads;
      tile.show(probs.subarray(head * size, (head + 1) * size), scores[layer]![head]!, {
        isOn: !names.includes(placeName(tile.place)),
        isChosen: placeName(tile.place) === placeName(chosen),
        ink: inks.get(layer)!,
      });
    }
  }

  /** The first tile of each row. */
  get #firsts(): readonly HeadTile[] {
    return this.#tiles.filter(({ place }) => place.head === 0);
  }

  #build(heads: number, hasControl: boolean): void {
    const built = `${heads} ${hasControl}`;
    if (built === this.#built) return;
    this.#built = built;
    const rows = [1, 2, ...(hasControl ? [0] : [])].map((layer) => {
      const tiles = Array.from({ length: heads }, (_, head) => {
        const place = { layer, head };
        const onSwitch = layer === 0 ? undefined : () => this.#onSwitch(place);
        return new HeadTile(place, () => this.#onChoose(place), onSwitch);
      });
      return { layer, tiles };
    });
    this.#tiles = rows.flatMap(({ tiles }) => tiles);
    this.node.replaceChildren(
      ...rows.map(({ layer, tiles }) =>
        element(
          "div",
          { class: `tile-row layer-${layer}`, role: "group", "aria-label": TITLES[layer]! },
          element("h3", {}, TITLES[layer]!, ...(layer === 0 ? [element("small", {}, t`the control`)] : [])),
          element("div", { class: "head-tiles" }, ...tiles.map(({ node }) => node)),
        ),
      ),
    );
  }
}
