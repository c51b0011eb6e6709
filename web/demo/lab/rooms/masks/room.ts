import "./room.css";

import { button, choices, panel, slider, toggle } from "../../shell/controls.js";
import { card, element, folded, formula } from "../../shell/element.js";
import { headLabel } from "../../shell/headWords.js";
import { attentionMap } from "../../shell/maps.js";
import { decimal } from "../../shell/numbers.js";
import { room as makeRoom, type RoomView } from "../../shell/room.js";
import { tileLegend } from "../../shell/tilePicture.js";
import { t } from "../../../texts/t.js";
import { compile, keeping, type Compiled } from "./compile.js";
import { differences, drawing, headsAgree, type Drawn } from "./drawing.js";
import { FormulaPanel } from "./formulaPanel.js";
import { shownFormulas } from "./formulas.js";
import { kvHeadsOf } from "./options.js";
import { PRESETS, presetOf } from "./presets.js";
import { RECIPES } from "./recipes.js";
import scoreTex from "./score.tex";
import { fields, NO_SINK, UNBOUNDED, type Settings } from "./settings.js";
import { snippet } from "./snippet.js";
import { TileMap } from "./tileMap.js";
import {
  EMPTY_ROWS,
  emptyWords,
  finding,
  groupWords,
  hides,
  longWords,
  ofHead,
  spoiledWords,
  spreadWords,
  TILE,
  tilesOf,
  tileWords,
} from "./words.js";

const LEGEND = [
  ["whole", t`all: every pair is visible`],
  ["edge", t`mixed: some are, and each pair is asked`],
  ["skipped", t`none: no pair is visible, and nothing is computed`],
] as const;

/** What the kinds of causal rules are called. */
const CAUSAL = { off: t`off`, "lower-right": t`lower-right`, "upper-left": t`upper-left` };

export const room = makeRoom(fields, open, {
  random: t`Queries, keys and values are random numbers, the same at every visit.`,
});

function open(view: RoomView<typeof fields>): void {
  const { state, stage } = view;
  const picture = new Picture((sentence) => view.finding(sentence));
  const formulas = new FormulaPanel(state);
  /** Of each field the last formula that was right; and what is drawn. */
  let [right, shown]: [Compiled, Compiled] = [{}, {}];
  stage.append(presets(view), picture.map, controls(view), formulas.node, picture.words);
  view.onDraw(async (settings) => {
    const { compiled, faults } = rulesOf(settings);
    const wanted = keeping(compiled, faults, right);
    const { drawn, refused } = await drawing(view.engine, settings, [wanted, right, {}]);
    if (!refused) right = wanted;
    shown = drawn.formulas;
    picture.show(drawn, settings);
    formulas.show(faults, refused, shown);
  });
  view.onCode(snippet);
  view.onCheck(() => differences(view.engine, state.values, shown));
}

/** The formulas that are computed; none while the options are. */
function rulesOf(settings: Settings): ReturnType<typeof compile> {
  return settings.rules === "formulas" ? compile(settings) : { compiled: {}, faults: {} };
}

/** A button for each known model, and for each rule that only formulas can say. */
function presets({ state }: RoomView<typeof fields>): HTMLElement {
  const all = { ...PRESETS, ...RECIPES };
  const choose = ({ rules }: { readonly rules: Settings }) =>
    state.set(state.values.rules === "formulas" ? { ...rules, ...shownFormulas(rules), rules: "formulas" } : rules);
  const chips = new Map(Object.entries(all).map(([name, preset]) => [name, button(name, () => choose(preset))]));
  const story = element("p", { class: "hint", "aria-live": "polite" });
  const show = () => {
    const chosen = presetOf(state.values);
    for (const [name, chip] of chips) chip.ariaPressed = String(name === chosen);
    story.textContent = chosen === undefined ? t`These are rules of your own.` : all[chosen]!.story(all[chosen]!.rules);
  };
  show();
  state.onChange(show);
  const group = (label: string, names: readonly string[], ...before: HTMLElement[]) =>
    element("div", { class: "chips", role: "group", "aria-label": label }, ...before, ...names.map((name) => chips.get(name)!)); // oxfmt-ignore
  return element(
    "div",
    { class: "presets" },
    group(t`Rules of known models`, Object.keys(PRESETS)),
    group(
      t`Rules that need a formula`,
      Object.keys(RECIPES),
      element("p", { class: "hint" }, t`Rules that need a formula:`),
    ),
    story,
  );
}

function controls({ state }: RoomView<typeof fields>): HTMLElement {
  const window = (value: number) => (value >= UNBOUNDED ? t`unbounded` : String(value));
  const keyLength = (value: number) => (value >= state.values.keys ? t`all keys` : String(value));
  const saidByFormulas = (control: HTMLElement) => {
    const show = () => (control.hidden = state.values.rules === "formulas");
    show();
    state.onChange(show);
    return control;
  };
  return panel(
    slider(state, "queries", t`Queries`),
    slider(state, "keys", t`Keys`),
    saidByFormulas(choices(state, "causal", t`Causal`, CAUSAL)),
    saidByFormulas(slider(state, "left", t`Window left`, window)),
    saidByFormulas(slider(state, "right", t`Window right`, window)),
    saidByFormulas(slider(state, "keyLength", t`Key length`, keyLength)),
    slider(state, "heads", t`Query heads`),
    slider(state, "kvHeads", t`Key heads`, () => String(kvHeadsOf(state.values))),
    slider(state, "sharpness", t`Scale × √D`, (value) => decimal(value, 1)),
    saidByFormulas(slider(state, "softcap", t`Softcap`, (value) => (value === 0 ? t`off` : decimal(value, 1)))),
    slider(state, "sink", t`Sink logit`, (value) => (value <= NO_SINK ? t`off` : decimal(value, 1))),
    choices(state, "emptyRows", t`Rows that see nothing`, EMPTY_ROWS),
    saidByFormulas(toggle(state, "alibi", t`ALiBi slopes`)),
    saidByFormulas(toggle(state, "excludeSelf", t`No token sees itself`)),
  );
}

class Picture {
  readonly #map = attentionMap(t`Weights under these rules`);
  readonly #tiles = new TileMap();
  readonly #tileWords = element("p", { class: "finding" });
  readonly #longWords = element("p", { class: "finding" });
  readonly #groups = element("p", { class: "finding" });
  readonly #empty = element("p", { class: "finding" });
  readonly #spoiled = element("p", { class: "finding" });
  readonly #spread = element("p", { class: "finding" });
  readonly map = element(
    "div",
    { class: "halves" },
    card(t`Weights`, this.#map),
    card(
      t`What need not be computed`,
      element("p", { class: "hint" }, t`Attention is computed in tiles, here of at most ${TILE} × ${TILE} pairs.`),
      this.#tiles.node,
      tileLegend(...LEGEND),
      this.#tileWords,
      this.#longWords,
    ),
  );
  readonly words = element(
    "div",
    { class: "halves" },
    folded(t`The rules, in their order`, formula(scoreTex)),
    folded(t`What they do here`, this.#groups, this.#empty, this.#spoiled, this.#spread),
  );
  readonly #find: (sentence: string) => void;
  /** Shows the tiles and the words for the head of the map. */
  #showHead: () => void = () => {};

  constructor(find: (sentence: string) => void) {
    this.#find = find;
    this.#map.addEventListener("headchange", () => this.#showHead());
  }

  show({ probs, seen, computed }: Drawn, settings: Settings): void {
    const { heads, queries, keys } = settings;
    const size = heads / kvHeadsOf(settings);
    const hidden = seen.map((one) => hides(settings, one));
    this.#map.headNames = Array.from(
      { length: heads },
      (_, head) => t`${headLabel(head)} · keys ${Math.floor(head / size) + 1}`,
    );
    this.#map.isHidden = (query, key, head) => hidden[head]!(query, key);
    this.#map.probs = { data: probs, shape: [heads, queries, keys] };
    this.#groups.textContent = groupWords(settings);
    this.#spoiled.textContent = spoiledWords(probs, settings, seen);
    this.#spread.textContent = spreadWords(probs, settings, seen[0]!);
    this.#longWords.textContent = longWords(settings);
    this.#showHead = () => {
      const head = this.#map.head;
      const [named, namedTiles] = [seen, computed].map((of) => (headsAgree(of) ? undefined : head));
      const tiles = tilesOf(computed[head]!);
      this.#tiles.show(tiles, settings);
      this.#tileWords.textContent = ofHead(tileWords(tiles), namedTiles);
      this.#empty.textContent = ofHead(emptyWords(settings, seen[head]!), named);
      this.#find(ofHead(finding(settings, seen[head]!), named));
    };
    this.#showHead();
  }
}
