import "./room.css";

import { attentionDifferences } from "../../engine/difference.js";
import { panel, slider, toggle } from "../../shell/controls.js";
import { card, element, folded, formula, scrollable } from "../../shell/element.js";
import { headMatrix, type Matrix } from "../../shell/matrix.js";
import { NumberGrid } from "../../shell/numberGrid.js";
import { bytes, decimal, grouped, many } from "../../shell/numbers.js";
import { room as makeRoom, type RoomView } from "../../shell/room.js";
import { tileLegend, tilePicture } from "../../shell/tilePicture.js";
import { t } from "../../../texts/t.js";
import { HEAD_DIM, squareCost, TILE, tiledCost, type Cost } from "./cost.js";
import { momentOf, tensorsOf, type Moment } from "./moment.js";
import onlineTex from "./online.tex";
import { Player } from "./player.js";
import { DIM, fields } from "./settings.js";
import { snippet } from "./snippet.js";
import { costWords, finding, keysName, resultWords, tileWords, timesWords } from "./words.js";

const LEGEND = [
  ["now", t`now`],
  ["whole", t`done`],
  ["edge", t`to come`],
  ["skipped", t`skipped`],
] as const;

export const room = makeRoom(fields, open, {
  random: t`Queries, keys and values are random numbers, the same at every visit.`,
});

function open(view: RoomView<typeof fields>): void {
  const { state, stage } = view;
  const player = new Player((step) => state.set({ step }));
  const picture = new Picture(view, player);
  stage.append(
    panel(
      slider(state, "length", t`Tokens`),
      slider(state, "tileQueries", t`Tile: queries`),
      slider(state, "tileKeys", t`Tile: keys`),
      toggle(state, "causal", t`Causal`),
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
    const moment = momentOf(headMatrix(scores), headMatrix(value), settings);
    view.finding(finding(moment));
    picture.show(moment, headMatrix(scores), headMatrix(floats));
    picture.showCosts(2 ** settings.long, settings.causal);
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
  readonly #what = element("p", { class: "finding" });
  readonly #scores = new NumberGrid({ name: t`scores of this tile`, onCell: () => {} });
  readonly #rows = element("div", { class: "chips", role: "group", "aria-label": t`Row to follow` });
  readonly #table = element("table", { class: "ledger stacks", "aria-label": t`What the row remembers` });
  readonly #result = element("p", { class: "finding" });
  readonly #saving = element("p", { class: "finding" });
  readonly #costs = element("table", { class: "costs stacks", "aria-label": t`Cost of both ways` });

  constructor(view: RoomView<typeof fields>, player: Player) {
    this.#view = view;
    this.#player = player;
    const long = slider(view.state, "long", t`Tokens of one head`, (power) => grouped(2 ** power));
    this.node = element(
      "div",
      { class: "halves" },
      card(t`The score matrix, tile by tile`, player.node, this.#tiles, tileLegend(...LEGEND), this.#what),
      element(
        "div",
        { class: "column" },
        card(t`The tile`, this.#rows, element("div", { class: "row" }, this.#scores.node)),
        card(t`What a row remembers`, formula(onlineTex), scrollable(t`Steps of the row`, this.#table), this.#result),
      ),
      folded(
        t`What it costs, at length`,
        panel(long),
        this.#saving,
        element(
          "p",
          { class: "hint" },
          t`One head of ${HEAD_DIM} features in float32, in tiles of ${TILE} × ${TILE}. Counted, not measured; headwise chooses its tiles by the shape.`,
        ),
        scrollable(t`Costs`, this.#costs),
      ),
    );
    this.node.lastElementChild!.classList.add("across");
  }

  show(moment: Moment, scores: Matrix, output: Matrix): void {
    this.#player.show(moment.step, moment.steps.length - 1);
    this.#showTiles(moment, scores);
    this.#showTile(moment, scores);
    this.#showLedger(moment);
    this.#result.textContent = resultWords(moment, output);
  }

  showCosts(length: number, causal: boolean): void {
    this.#saving.textContent = costWords(length, causal);
    this.#costs.replaceChildren(...costRows(length, causal));
  }

  #showTiles(moment: Moment, scores: Matrix): void {
    const { tile, steps, step } = moment;
    const [rows, columns] = [Math.ceil(scores.rows / tile.queries), Math.ceil(scores.columns / tile.keys)];
    const states = Array<string>(rows * columns).fill("skipped");
    steps.forEach(({ rowTile, keyTile }, index) => {
      states[rowTile * columns + keyTile] = index < step ? "whole" : index === step ? "now" : "edge";
    });
    this.#tiles.replaceChildren(tilePicture({ rows, columns, states }, tileWords(moment)));
    this.#what.textContent = tileWords(moment);
  }

  #showTile({ now, rows, row, tile }: Moment, scores: Matrix): void {
    const first = now.keyTile * tile.keys;
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
      chip.textContent = t`row ${rows[index]!}`;
      chip.ariaPressed = String(rows[index] === row);
    });
  }

  #showLedger({ history, met, tile }: Moment): void {
    const head = [t`tile`, t`largest`, "m", "α", "ℓ", ...Array.from({ length: DIM }, (_, d) => `o${d}`)];
    const rows = history.map(({ scores, correction, after }, index) => [
      keysName(met[index]!.keyTile * tile.keys, scores.length),
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
          element(
            "tr",
            {},
            element("th", { scope: "row" }, name!),
            ...cells.map((text, n) => element("td", { "data-label": head[n + 1]! }, text)),
          ),
        ),
      ),
    );
  }
}

function costRows(length: number, causal: boolean): HTMLElement[] {
  const head = ["", t`S × S arrays`, t`tiles`, t`times less`, ...(causal ? [t`tiles that the mask leaves`, t`the mask saves`] : [])]; // oxfmt-ignore
  const [square, tiled, masked] = [squareCost(length), tiledCost(length, false), tiledCost(length, true)];
  const row = (name: string, of: (cost: Cost) => number, unit: (value: number) => string) => {
    const bar = (cost: Cost, label: string) => {
      const node = element("span", { class: "bar" });
      node.style.setProperty("--share", `${(100 * of(cost)) / of(square)}%`);
      return element("td", { "data-label": label }, node, element("span", {}, unit(of(cost))));
    };
    const times = (before: Cost, after: Cost, label: string) =>
      element("td", { "data-label": label }, timesWords(of(before) / of(after)));
    return element(
      "tr",
      {},
      element("th", { scope: "row" }, name),
      bar(square, head[1]!),
      bar(tiled, head[2]!),
      times(square, tiled, head[3]!),
      ...(causal ? [bar(masked, head[4]!), times(tiled, masked, head[5]!)] : []),
    );
  };
  return [
    element(
      "thead",
      {},
      element("tr", {}, element("td"), ...head.slice(1).map((name) => element("th", { scope: "col" }, name))),
    ),
    element(
      "tbody",
      {},
      row(t`Extra memory`, ({ memory }) => memory, bytes),
      row(t`Bytes moved`, ({ traffic }) => traffic, bytes),
      row(t`Operations`, ({ flops }) => flops, many),
    ),
  ];
}
