import { attentionDifferences } from "../../engine/difference.js";
import { button, choices, panel, slider, toggle } from "../../shell/controls.js";
import { card, element, formula } from "../../shell/element.js";
import { attentionMap } from "../../shell/maps.js";
import { decimal, many } from "../../shell/numbers.js";
import { room as makeRoom, type RoomView } from "../../shell/room.js";
import { tileLegend, tilePicture } from "../../shell/tilePicture.js";
import { kvHeadsOf, optionsOf, tensorsOf } from "./options.js";
import { PRESETS } from "./presets.js";
import scoreTex from "./score.tex";
import { fields, NO_SINK, UNBOUNDED, type Settings } from "./settings.js";
import { snippet } from "./snippet.js";
import { count, tiling, visibility, visibleIn, type Visibility } from "./tiles.js";

const LEGEND = [
  ["whole", "all visible"],
  ["edge", "edge: each pair is asked"],
  ["skipped", "skipped"],
] as const;

/** Small tiles, so that small examples have several. */
const TILE = 4;
/** The engine's tile for long sequences: 64 query rows by 192 keys. */
const ENGINE_TILE = { queries: 64, keys: 192 };
const LONG = 8192;
const ROWS_NAMED = 8;

export const room = makeRoom(fields, open);

function open(view: RoomView<typeof fields>): void {
  const { state, stage } = view;
  const picture = new Picture();
  stage.append(presets(view), controls(view), picture.node);
  view.onDraw(async (settings) => {
    const { query, key, value } = tensorsOf(settings);
    const result = await view.engine.scaledDotProductAttention(query, key, value, {
      ...optionsOf(settings),
      returns: { output: false, probs: true, entropy: true },
    });
    picture.show(result.probs, result.entropy.data, settings);
  });
  view.onCode(snippet);
  view.onCheck(async () => {
    const call = { ...tensorsOf(state.values), options: optionsOf(state.values) };
    const { output, probs } = await view.engine.scaledDotProductAttention(call.query, call.key, call.value, {
      ...call.options,
      returns: { output: true, probs: true },
    });
    return attentionDifferences(call, { output: { data: output.data as Float32Array, shape: output.shape }, probs });
  });
}

function presets({ state }: RoomView<typeof fields>): HTMLElement {
  const first = Object.fromEntries(Object.entries(fields).map(([name, { initial }]) => [name, initial])) as Settings;
  const buttons = Object.entries(PRESETS).map(([name, rules]) => button(name, () => state.set({ ...first, ...rules })));
  return element("div", { class: "chips", role: "group", "aria-label": "Rules of known models" }, ...buttons);
}

function controls({ state }: RoomView<typeof fields>): HTMLElement {
  const window = (value: number) => (value >= UNBOUNDED ? "unbounded" : String(value));
  return panel(
    slider(state, "queries", "Queries"),
    slider(state, "keys", "Keys"),
    choices(state, "causal", "Causal"),
    slider(state, "left", "Window left", window),
    slider(state, "right", "Window right", window),
    slider(state, "keyLength", "Key length", (value) => (value >= state.values.keys ? "all" : String(value))),
    slider(state, "heads", "Query heads"),
    slider(state, "kvHeads", "Key heads", () => String(kvHeadsOf(state.values))),
    slider(state, "sharpness", "Scale × √D", (value) => decimal(value, 1)),
    slider(state, "softcap", "Softcap", (value) => (value === 0 ? "off" : decimal(value, 1))),
    slider(state, "sink", "Sink logit", (value) => (value <= NO_SINK ? "off" : decimal(value, 1))),
    choices(state, "emptyRows", "Rows that see nothing"),
    toggle(state, "alibi", "ALiBi slopes"),
    toggle(state, "excludeSelf", "No token sees itself"),
  );
}

class Picture {
  readonly #map = attentionMap("Weights under these rules");
  readonly #groups = element("p", { class: "hint" });
  readonly #pairs = element("p", { class: "finding" });
  readonly #empty = element("p", { class: "finding" });
  readonly #sink = element("p", { class: "finding" });
  readonly #tiles = element("div", { class: "tile-box" });
  readonly #tileWords = element("p", { class: "finding" });
  readonly #longWords = element("p", { class: "finding" });
  readonly node = element(
    "div",
    { class: "halves" },
    card("Weights", formula(scoreTex), this.#map, this.#groups),
    element(
      "div",
      { class: "column" },
      card("What is left", this.#pairs, this.#empty, this.#sink),
      card(
        "What need not be computed",
        element(
          "p",
          { class: "hint" },
          `The engine works in tiles. Here they are ${TILE} × ${TILE}, so that there are some to see.`,
        ),
        this.#tiles,
        tileLegend(...LEGEND),
        this.#tileWords,
        this.#longWords,
      ),
    ),
  );

  show(probs: { data: Float32Array; shape: readonly number[] }, entropy: Float32Array, settings: Settings): void {
    const { heads, queries, keys } = settings;
    const seen = visibility(rulesOf(settings));
    const groups = kvHeadsOf(settings);
    this.#map.headNames = Array.from(
      { length: heads },
      (_, head) => `head ${head + 1} · keys ${Math.floor(head / (heads / groups)) + 1}`,
    );
    this.#map.isHidden = (query, key) => visibleIn(seen, query, key, key + 1) === 0;
    this.#map.probs = { data: probs.data, shape: [heads, queries, keys] };
    this.#groups.textContent =
      groups === heads
        ? "Every query head has keys and values of its own."
        : `${heads / groups} query heads share a key head: the cache is ${heads / groups} times smaller.`;
    this.#pairs.textContent = pairWords(seen);
    this.#empty.textContent = emptyWords(seen, settings.emptyRows);
    this.#sink.textContent = sinkWords(probs.data, entropy, settings, seen);
    this.#showTiles(seen, settings);
  }

  #showTiles(seen: Visibility, settings: Settings): void {
    const small = tiling(seen, TILE, TILE);
    const said = `${count(small.states, "whole")} tiles are computed without asking, ${count(small.states, "edge")} lie on an edge, ${count(small.states, "skipped")} are never touched.`;
    this.#tiles.replaceChildren(tilePicture(small, said));
    this.#tileWords.textContent = said;
    const long = visibility({ ...rulesOf(settings), queries: LONG, keys: LONG, keyLength: LONG });
    const { states } = tiling(long, ENGINE_TILE.queries, ENGINE_TILE.keys);
    const share = (100 * (states.length - count(states, "skipped"))) / states.length;
    this.#longWords.textContent =
      `With these rules on ${LONG.toLocaleString("en")} tokens, in the engine’s own tiles of ${ENGINE_TILE.queries} × ${ENGINE_TILE.keys}, ` +
      `${share.toFixed(share < 10 ? 1 : 0)} % of ${states.length.toLocaleString("en")} tiles are computed.`;
  }
}

function rulesOf(settings: Settings) {
  const end = (side: number) => (side >= UNBOUNDED ? Infinity : side);
  return { ...settings, left: end(settings.left), right: end(settings.right) };
}

function pairWords(seen: Visibility): string {
  let visible = 0;
  for (let query = 0; query < seen.queries; query++) visible += visibleIn(seen, query);
  const all = seen.queries * seen.keys;
  return `${many(visible)} of ${many(all)} pairs are visible: ${((100 * visible) / all).toFixed(0)} %.`;
}

function emptyWords(seen: Visibility, policy: string): string {
  const rows = Array.from({ length: seen.queries }, (_, query) => query).filter(
    (query) => visibleIn(seen, query) === 0,
  );
  if (rows.length === 0) return "Every query sees at least one key.";
  const named = rows.slice(0, ROWS_NAMED).join(", ") + (rows.length > ROWS_NAMED ? " …" : "");
  const outcome: Readonly<Record<string, string>> = {
    zero: "are zero",
    nan: "are NaN",
    uniform: "are the mean of all keys",
  };
  return `${rows.length} ${rows.length === 1 ? "row sees" : "rows see"} nothing (${named}); by the rule “${policy}” their outputs ${outcome[policy]}.`;
}

function sinkWords(
  probs: Float32Array,
  entropy: Float32Array,
  { queries, keys, sink }: Settings,
  seen: Visibility,
): string {
  const rows = Array.from({ length: queries }, (_, query) => query).filter((query) => visibleIn(seen, query) > 0);
  if (rows.length === 0) return "";
  const mean = (of: (query: number) => number) => rows.reduce((sum, query) => sum + of(query), 0) / rows.length;
  const kept = mean((query) => probs.subarray(query * keys, (query + 1) * keys).reduce((sum, p) => sum + p, 0));
  const spread = Math.exp(mean((query) => entropy[query]!));
  const taken = sink > NO_SINK ? `The sink takes ${(100 * (1 - kept)).toFixed(0)} % of a row on average. ` : "";
  return `${taken}Head 1 spreads a row over about ${decimal(spread, 1)} keys (the exponential of its entropy).`;
}
