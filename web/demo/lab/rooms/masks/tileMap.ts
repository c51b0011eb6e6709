import { element, scrollable } from "../../shell/element.js";
import { tilePicture } from "../../shell/tilePicture.js";
import { t } from "../../../texts/t.js";
import type { Tiling } from "./tiles.js";
import { tileRow, tileSpan, tileWords } from "./words.js";

/** The tiles as a picture, and as a table that says the same in words. */
export class TileMap {
  readonly #picture = element("div", { class: "tile-box" });
  readonly #table = element("table", { class: "figures" });
  readonly node = element(
    "div",
    { class: "column" },
    this.#picture,
    element(
      "details",
      {},
      element("summary", {}, t`The tiles in words`),
      scrollable(t`The tiles in words`, this.#table),
    ),
  );

  show(tiles: Tiling, { queries, keys }: { readonly queries: number; readonly keys: number }): void {
    this.#picture.replaceChildren(tilePicture(tiles, tileWords(tiles)));
    const columns = Array.from({ length: tiles.columns }, (_, at) => tileSpan("key", at, keys));
    const head = element("tr", {}, element("td"), ...columns.map((words) => element("th", { scope: "col" }, words)));
    const rows = Array.from({ length: tiles.rows }, (_, at) =>
      element(
        "tr",
        {},
        element("th", { scope: "row" }, tileSpan("query", at, queries)),
        ...tileRow(tiles, at).map((state) => element("td", {}, state)),
      ),
    );
    this.#table.replaceChildren(element("thead", {}, head), element("tbody", {}, ...rows));
  }
}
