import "./room.css";

import { attentionDifferences } from "../../engine/difference.js";
import { panel, slider, toggle } from "../../shell/controls.js";
import { card, element, formula, scrollable } from "../../shell/element.js";
import { flag, number, type Values } from "../../shell/field.js";
import { headMatrix, type Matrix } from "../../shell/matrix.js";
import { NumberGrid } from "../../shell/numberGrid.js";
import { bytes, decimal, many } from "../../shell/numbers.js";
import { randomNormal } from "../../shell/random.js";
import { room as makeRoom, type RoomView } from "../../shell/room.js";
import { tileLegend, tilePicture } from "../../shell/tilePicture.js";
import { squareCost, tiledCost, type Cost } from "./cost.js";
import { finished, rowHistory, rowsOf, visibleTiles, type RowStep, type TileStep } from "./online.js";
import onlineTex from "./online.tex";
import { Player } from "./player.js";
import { snippet } from "./snippet.js";

const LEGEND = [
  ["now", "now"],
  ["whole", "done"],
  ["edge", "to come"],
  ["skipped", "skipped"],
] as const;

const DIM = 4;

const fields = {
  length: number(16, { min: 4, max: 48 }),
  tileQueries: number(4, { min: 1, max: 16 }),
  tileKeys: number(4, { min: 1, max: 16 }),
  causal: flag(true),
  step: number(0, { min: 0, max: 48 * 48 }),
  /** The row of the tile whose numbers are shown. */
  row: number(0, { min: 0, max: 15 }),
  /** The length, as a power of two. */
  long: number(13, { min: 7, max: 17 }),
};
type Settings = Values<typeof fields>;

export const room = makeRoom(fields, open);

interface Seen {
  readonly scores: Matrix;
  readonly values: Matrix;
  readonly output: Matrix;
}

function tensorsOf({ length }: Settings) {
  const tensor = (seed: number) => ({ data: randomNormal(seed, length * DIM), shape: [1, 1, length, DIM] });
  return { query: tensor(11), key: tensor(12), value: tensor(13) };
}

function open(view: RoomView<typeof fields>): void {
  const { state, stage } = view;
  const player = new Player((step) => state.set({ step }));
  const picture = new Picture(view, player);
  stage.append(
    panel(
      slider(state, "length", "Tokens"),
      slider(state, "tileQueries", "Tile: queries"),
      slider(state, "tileKeys", "Tile: keys"),
      toggle(state, "causal", "Causal"),
    ),
    picture.node,
  );
  view.onDraw(async (settings) => {
    const { query, key, value } = tensorsOf(settings);
    const { output, scores } = await view.engine.scaledDotProductAttention(query, key, value, {
      causal: settings.causal,
      returns: { output: true, scores: "biased" },
    });
    const floats = { data: output.data as Float32Array, shape: output.shape };
    picture.show({ scores: headMatrix(scores), values: headMatrix(value), output: headMatrix(floats) }, settings);
  });
  view.onClose(() => player.stop());
  view.onCode(({ long, causal }) => snippet(2 ** long, causal));
  view.onCheck(async ({ causal }) => {
    const call = { ...tensorsOf(state.values), options: { causal } };
    const { output, probs } = await view.engine.scaledDotProductAttention(call.query, call.key, call.value, {
      causal,
      returns: { output: true, probs: true },
    });
    return attentionDifferences(call, { output: { data: output.data as Float32Array, shape: output.shape }, probs });
  });
}

class Picture {
  readonly node: HTMLElement;
  readonly #view: RoomView<typeof fields>;
  readonly #player: Player;
  readonly #tiles = element("div", { class: "tile-box" });
  readonly #what = element("p", { class: "finding", "aria-live": "polite" });
  readonly #scores = new NumberGrid({ name: "scores of this tile", onCell: () => {} });
  readonly #rows = element("div", { class: "chips", role: "group", "aria-label": "Row to follow" });
  readonly #table = element("table", { class: "ledger", "aria-label": "What the row remembers" });
  readonly #agreement = element("p", { class: "finding" });
  readonly #costs = element("table", { class: "costs", "aria-label": "Cost of both ways" });

  constructor(view: RoomView<typeof fields>, player: Player) {
    this.#view = view;
    this.#player = player;
    const long = slider(view.state, "long", "Tokens of one head", (power) => (2 ** power).toLocaleString("en"));
    this.node = element(
      "div",
      { class: "halves" },
      card("The score matrix, tile by tile", player.node, this.#tiles, tileLegend(...LEGEND), this.#what),
      element(
        "div",
        { class: "column" },
        card("The tile", this.#rows, element("div", { class: "row" }, this.#scores.node)),
        card("What a row remembers", formula(onlineTex), scrollable("Steps of the row", this.#table), this.#agreement),
      ),
      card(
        "What it costs, at length",
        panel(long),
        element(
          "p",
          { class: "hint" },
          "One head of 64 features in float32, with the engine’s tiles of 64 × 192. Counted, not measured.",
        ),
        scrollable("Costs", this.#costs),
      ),
    );
    this.node.lastElementChild!.classList.add("across");
  }

  show({ scores, values, output }: Seen, settings: Settings): void {
    const tile = { queries: settings.tileQueries, keys: settings.tileKeys };
    const steps = visibleTiles(scores, tile);
    const step = Math.min(settings.step, steps.length - 1);
    const now = steps[step]!;
    const rows = rowsOf(now.rowTile, tile, scores);
    const row = rows[Math.min(settings.row, rows.length - 1)]!;
    const sofar = steps.slice(0, step + 1).filter(({ rowTile }) => rowTile === now.rowTile);
    const history = rowHistory(scores, values, row, sofar, tile);

    this.#player.show(step, steps.length - 1);
    this.#showTiles(scores, steps, step, tile);
    this.#showTile(scores, now, rows, row, tile);
    this.#showLedger(history, sofar);
    const isLast = steps[step + 1]?.rowTile !== now.rowTile;
    this.#agreement.textContent = isLast
      ? agreement(finished(history.at(-1)!.after), output, row)
      : "The row is not finished: later tiles may raise the maximum and shrink what is there.";
    this.#costs.replaceChildren(...costRows(2 ** settings.long, settings.causal));
  }

  #showTiles(scores: Matrix, steps: readonly TileStep[], step: number, tile: { queries: number; keys: number }): void {
    const [rows, columns] = [Math.ceil(scores.rows / tile.queries), Math.ceil(scores.columns / tile.keys)];
    const states = Array<string>(rows * columns).fill("skipped");
    steps.forEach(({ rowTile, keyTile }, index) => {
      states[rowTile * columns + keyTile] = index < step ? "whole" : index === step ? "now" : "edge";
    });
    const skipped = rows * columns - steps.length;
    const said = `${steps.length} tiles are computed, ${skipped} are skipped because nothing in them is visible.`;
    this.#tiles.replaceChildren(tilePicture({ rows, columns, states }, said));
    this.#what.textContent = said;
  }

  #showTile(scores: Matrix, { keyTile }: TileStep, rows: readonly number[], row: number, tile: { keys: number }): void {
    const first = keyTile * tile.keys;
    const columns = Math.min(tile.keys, scores.columns - first);
    const data = rows.flatMap((r) =>
      scores.data.slice(r * scores.columns + first, r * scores.columns + first + columns),
    );
    const keys = Array.from({ length: columns }, (_, key) => `k${first + key}`);
    this.#scores.show({ rows: rows.length, columns, data }, { rows: rows.map((r) => `q${r}`), columns: keys });
    this.#scores.mark({ row: rows.indexOf(row) });
    if (this.#rows.childElementCount !== rows.length)
      this.#rows.replaceChildren(
        ...rows.map((_, index) => {
          const chip = element("button", { type: "button" });
          chip.onclick = () => this.#view.state.set({ row: index });
          return chip;
        }),
      );
    [...this.#rows.children].forEach((chip, index) => {
      chip.textContent = `follow q${rows[index]}`;
      chip.ariaPressed = String(rows[index] === row);
    });
  }

  #showLedger(history: readonly RowStep[], steps: readonly TileStep[]): void {
    const head = [
      "tile",
      "largest here",
      "maximum m",
      "correction α",
      "sum ℓ",
      ...Array.from({ length: DIM }, (_, d) => `o${d}`),
    ];
    const rows = history.map(({ scores, correction, after }, index) => [
      `keys ${steps[index]!.keyTile}`,
      decimal(Math.max(...scores)),
      decimal(after.maximum),
      decimal(correction, 3),
      decimal(after.sum, 3),
      ...after.output.map((value) => decimal(value)),
    ]);
    this.#table.replaceChildren(
      element("thead", {}, element("tr", {}, ...head.map((name) => element("th", { scope: "col" }, name)))),
      element(
        "tbody",
        {},
        ...rows.map(([name, ...cells]) =>
          element("tr", {}, element("th", { scope: "row" }, name!), ...cells.map((text) => element("td", {}, text))),
        ),
      ),
    );
  }
}

/** Compares the page's own sum with the engine's output. */
function agreement(mine: readonly number[], output: Matrix, row: number): string {
  const theirs = output.data.slice(row * output.columns, (row + 1) * output.columns);
  const apart = Math.max(...mine.map((value, d) => Math.abs(value - theirs[d]!)));
  const numbers = mine.map((value) => decimal(value, 3)).join(", ");
  return `Finished: o/ℓ = (${numbers}). headwise’s output for this row is the same to ${apart === 0 ? "the last bit" : apart.toExponential(0)}.`;
}

function costRows(length: number, causal: boolean): HTMLElement[] {
  const [square, tiled] = [squareCost(length), tiledCost(length, causal)];
  const row = (name: string, of: (cost: Cost) => number, unit: (value: number) => string) => {
    const bar = (cost: Cost) => {
      const node = element("span", { class: "bar" });
      node.style.setProperty("--share", `${(100 * of(cost)) / of(square)}%`);
      return element("td", {}, node, element("span", {}, unit(of(cost))));
    };
    const times = of(square) / of(tiled);
    return element(
      "tr",
      {},
      element("th", { scope: "row" }, name),
      bar(square),
      bar(tiled),
      element("td", {}, `${times < 10 ? decimal(times, 1) : many(times)} ×`),
    );
  };
  const head = ["", "S × S arrays", "tiles", "less"].map((name) =>
    name ? element("th", { scope: "col" }, name) : element("td"),
  );
  return [
    element("thead", {}, element("tr", {}, ...head)),
    element(
      "tbody",
      {},
      row("Extra memory", ({ memory }) => memory, bytes),
      row("Bytes moved", ({ traffic }) => traffic, bytes),
      row("Operations", ({ flops }) => flops, many),
    ),
  ];
}
