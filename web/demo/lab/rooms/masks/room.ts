import "./room.css";

import { attentionDifferences } from "../../engine/difference.js";
import { button, choices, panel, slider, toggle } from "../../shell/controls.js";
import { card, element, formula } from "../../shell/element.js";
import { attentionMap } from "../../shell/maps.js";
import { decimal } from "../../shell/numbers.js";
import { room as makeRoom, type RoomView } from "../../shell/room.js";
import { tileLegend, tilePicture } from "../../shell/tilePicture.js";
import { kvHeadsOf, optionsOf, tensorsOf } from "./options.js";
import { PRESETS, presetOf } from "./presets.js";
import scoreTex from "./score.tex";
import { fields, NO_SINK, UNBOUNDED, type Settings } from "./settings.js";
import { snippet } from "./snippet.js";
import { emptyWords, finding, groupWords, hides, longWords, spreadWords, TILE, tilesOf, tileWords } from "./words.js";

const LEGEND = [
  ["whole", "whole: all pairs are visible"],
  ["edge", "edge: each pair is asked"],
  ["skipped", "skipped: no pair is visible"],
] as const;

export const room = makeRoom(fields, open, {
  random: "Queries, keys and values are random numbers, the same at every visit.",
});

function open(view: RoomView<typeof fields>): void {
  const { state, stage } = view;
  const picture = new Picture();
  stage.append(presets(view), picture.map, controls(view), picture.words);
  view.onDraw(async (settings) => {
    const { query, key, value } = tensorsOf(settings);
    const { probs } = await view.engine.scaledDotProductAttention(query, key, value, {
      ...optionsOf(settings),
      returns: { output: false, probs: true },
    });
    view.finding(finding(settings));
    picture.show(probs.data, settings);
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

/** A button for each known model. It is pressed while the settings are the model's rules. */
function presets({ state }: RoomView<typeof fields>): HTMLElement {
  const buttons = Object.entries(PRESETS).map(
    ([name, { rules }]) => [name, button(name, () => state.set(rules))] as const,
  );
  const story = element("p", { class: "hint", "aria-live": "polite" });
  const show = () => {
    const chosen = presetOf(state.values);
    for (const [name, chip] of buttons) chip.ariaPressed = String(name === chosen);
    story.textContent =
      chosen === undefined ? "These are rules of your own." : PRESETS[chosen]!.story(PRESETS[chosen]!.rules);
  };
  show();
  state.onChange(show);
  const chips = buttons.map(([, chip]) => chip);
  const group = element("div", { class: "chips", role: "group", "aria-label": "Rules of known models" }, ...chips);
  return element("div", { class: "presets" }, group, story);
}

function controls({ state }: RoomView<typeof fields>): HTMLElement {
  const window = (value: number) => (value >= UNBOUNDED ? "unbounded" : String(value));
  return panel(
    slider(state, "queries", "Queries"),
    slider(state, "keys", "Keys"),
    choices(state, "causal", "Causal"),
    slider(state, "left", "Window left", window),
    slider(state, "right", "Window right", window),
    slider(state, "keyLength", "Key length", (value) => (value >= state.values.keys ? "all keys" : String(value))),
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
  readonly #tiles = element("div", { class: "tile-box" });
  readonly #tileWords = element("p", { class: "finding" });
  readonly #longWords = element("p", { class: "finding" });
  readonly #groups = element("p", { class: "finding" });
  readonly #empty = element("p", { class: "finding" });
  readonly #spread = element("p", { class: "finding" });
  readonly map = element(
    "div",
    { class: "halves" },
    card("Weights", this.#map),
    card(
      "What need not be computed",
      element("p", { class: "hint" }, `Attention is computed in tiles, here of at most ${TILE} × ${TILE} pairs.`),
      this.#tiles,
      tileLegend(...LEGEND),
      this.#tileWords,
      this.#longWords,
    ),
  );
  readonly words = element(
    "div",
    { class: "halves" },
    card("The rules, in their order", formula(scoreTex)),
    card("What they do here", this.#groups, this.#empty, this.#spread),
  );

  show(probs: Float32Array, settings: Settings): void {
    const { heads, queries, keys } = settings;
    const size = heads / kvHeadsOf(settings);
    this.#map.headNames = Array.from({ length: heads }, (_, head) => `head ${head} · keys ${Math.floor(head / size)}`);
    this.#map.isHidden = hides(settings);
    this.#map.probs = { data: probs, shape: [heads, queries, keys] };
    this.#groups.textContent = groupWords(settings);
    this.#empty.textContent = emptyWords(settings);
    this.#spread.textContent = spreadWords(probs, settings);
    this.#tiles.replaceChildren(tilePicture(tilesOf(settings), tileWords(settings)));
    this.#tileWords.textContent = tileWords(settings);
    this.#longWords.textContent = longWords(settings);
  }
}
