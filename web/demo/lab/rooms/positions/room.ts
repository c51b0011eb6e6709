import "./room.css";

import { attentionDifferences } from "../../engine/difference.js";
import type { Floats } from "../../engine/floats.js";
import { choices, lines, panel, slider } from "../../shell/controls.js";
import { card, cardOf, element, folded, formula, withIndices } from "../../shell/element.js";
import { lineChart } from "../../shell/lineChart.js";
import { attentionMap } from "../../shell/maps.js";
import { matrix, transposed } from "../../shell/matrix.js";
import { significant } from "../../shell/numbers.js";
import { room as makeRoom, type RoomView } from "../../shell/room.js";
import { t } from "../../../texts/t.js";
import addedTex from "./added.tex";
import { calculate, REACH, type Calculation } from "./calculation.js";
import { HANDS, handmadeCall, type Hand } from "./handmade.js";
import handsTex from "./hands.tex";
import { heatGrid } from "./heatGrid.js";
import noneTex from "./none.tex";
import { FIRST, placed, type PlacedKind } from "./placing.js";
import { plane } from "./plane.js";
import rotaryTex from "./rotary.tex";
import { fields, placingOf, settled, type Settings } from "./settings.js";
import { snippet } from "./snippet.js";
import turnedTex from "./turned.tex";
import { DIM, embeddings, wordsOf } from "./vocabulary.js";
import wavesTex from "./waves.tex";
import {
  addedWords,
  beginning,
  curvesWords,
  filterWords,
  finding,
  handWords,
  kindsWords,
  planeWords,
  splitting,
  waveWords,
  WITH_POSITIONS,
} from "./words.js";

/** The places of the sinusoidal table that are drawn: all at which a word may stand, and a few more. */
const SHOWN = 80;

const HAND_NAMES: Readonly<Record<Hand, string>> = { back: t`one back`, first: t`the first word`, itself: t`itself` };
const KIND_NAMES: Readonly<Record<PlacedKind, string>> = {
  learned: t`learned`,
  sinusoidal: t`sinusoidal`,
  rotary: t`rotary`,
};

export const room = makeRoom(fields, open, {
  random: t`Random numbers stand for what a model would have learned: the vectors of the words, the matrices that make queries and keys, and the table of learned positions. They are the same on every visit. Sines, rotations and the hand-made heads are not random.`,
});

type View = RoomView<typeof fields>;

function open(view: View): void {
  const { state, stage } = view;
  const picture = new Picture(view);
  stage.append(...picture.cards);
  view.onDraw(async (given) => {
    const settings = settled(given);
    picture.show(await calculate(view.engine, settings), settings);
    state.set(settled(state.values)); // a link and the sliders say what is drawn
  });
  view.onCode((given) => {
    const settings = settled(given);
    return snippet(placingOf(settings), wordsOf(settings.words).length, FIRST + settings.offset);
  });
  view.onCheck((given) => check(view, settled(given)));
}

/** Compares all maps of the room with double precision. */
async function check({ engine }: View, settings: Settings) {
  const words = wordsOf(settings.words);
  const placing = placingOf(settings);
  const x = embeddings(words);
  const whole = ({ data, shape }: Floats): Floats => ({ data, shape: shape.length === 4 ? shape : [1, 1, ...shape] });
  const calls = {
    [t`without positions`]: await placed(engine, x, FIRST, { ...placing, kind: "none" }),
    [KIND_NAMES[settings.kind]]: await placed(engine, x, FIRST, placing),
    [t`hand-made`]: handmadeCall(words.length, settings.sharpness),
  };
  const differences = [];
  for (const [name, call] of Object.entries(calls)) {
    const [query, key] = [whole(call.query), whole(call.key)];
    const result = await engine.scaledDotProductAttention(query, key, key, { returns: { output: true, probs: true } });
    const output = { data: result.output.data as Float32Array, shape: [] };
    const found = attentionDifferences({ query, key, value: key, options: {} }, { output, probs: result.probs });
    differences.push(...found.map((difference) => ({ ...difference, what: `${difference.what} (${name})` })));
  }
  return differences;
}

function capital(text: string): string {
  return text[0]!.toUpperCase() + text.slice(1);
}

/** What the room draws. */
class Picture {
  readonly #view: View;
  readonly #plain = attentionMap(t`Weights without positions`);
  readonly #placed = attentionMap(t`Weights with positions`);
  readonly #hands = attentionMap(t`Weights of heads made by hand`);
  readonly #placedTitle = element("h2", {}, t`With positions`);
  readonly #formula = element("div");
  readonly #splitting = element("p", { class: "hint", "aria-live": "polite" });
  readonly #beginning = element("p", { class: "finding" });
  readonly #kindsWords = element("p", { class: "hint" });
  readonly #curves = element("figure", { class: "wide-chart" });
  readonly #added = element("div", { class: "sums" });
  readonly #addedWords = element("p", { class: "finding" });
  readonly #table = element("figure", { class: "wide-chart" });
  readonly #waves = element("figure", { class: "wide-chart" });
  readonly #waveWords = element("p", { class: "finding" });
  readonly #plane = element("div");
  readonly #planeWords = element("p", { class: "finding" });
  readonly #handWords = element("p", { class: "finding" });
  readonly #filterWords = element("p", { class: "hint" });
  readonly #wordSliders: readonly HTMLElement[];
  readonly #base: HTMLElement;
  readonly cards: readonly HTMLElement[];

  constructor(view: View) {
    this.#view = view;
    const { state } = view;
    const power = (value: number) => significant(10 ** value);
    const nameOf = (index: number) => this.#names[index] ?? "";
    const base = () => slider(state, "base", t`Base b`, power);
    const pair = () => slider(state, "pair", t`Pair m`, (value) => String(value + 1));
    const word = (name: "word" | "other" | "query" | "key", label: string) => slider(state, name, label, nameOf);
    const [first, other, query, key] = [
      word("word", t`Word in its place`),
      word("other", t`Another word, put there`),
      word("query", t`Query of`),
      word("key", t`Key of`),
    ];
    this.#wordSliders = [first, other, query, key];
    this.#base = base();
    for (const map of [this.#plain, this.#placed, this.#hands]) map.values = true;
    for (const map of [this.#plain, this.#placed]) map.controls = false;
    this.#hands.addEventListener("headchange", ({ detail }) => state.set({ hand: HANDS[detail.head]! }));
    this.cards = [
      panel(
        lines(state, "words", t`Words, some of them twice`, 1),
        choices(state, "kind", t`Positions`, KIND_NAMES),
        this.#base,
        this.#splitting,
      ),
      element(
        "div",
        { class: "halves" },
        card(t`Without positions`, this.#plain, formula(noneTex)),
        cardOf(this.#placedTitle, this.#placed, this.#formula),
      ),
      element(
        "div",
        { class: "halves" },
        folded(
          t`Does it matter where the text begins?`,
          panel(slider(state, "offset", t`Move the text by (places)`)),
          this.#beginning,
          this.#kindsWords,
          this.#curves,
        ),
        folded(t`Added: every place has its row`, panel(first, other), this.#added, this.#addedWords),
      ),
      element(
        "div",
        { class: "halves" },
        folded(
          t`Sinusoids: a clock for each pair of features`,
          formula(wavesTex),
          panel(pair(), base()),
          this.#table,
          this.#waves,
          this.#waveWords,
        ),
        folded(
          t`Rotary: a pair of features turns in its plane`,
          formula(rotaryTex),
          panel(pair(), base(), query, key),
          element(
            "p",
            { class: "hint" },
            t`Pale: the pair before its rotation. Strong: after it. Move the text: both turn on, and keep their angle.`,
          ),
          panel(slider(state, "offset", t`Move the text by (places)`)),
          this.#plane,
          this.#planeWords,
        ),
      ),
      folded(
        t`Heads made by hand: they know places, not words`,
        formula(handsTex),
        element(
          "p",
          { class: "hint" },
          ...withIndices(
            t`Queries and keys are made of the sinusoidal rows p alone. One back: W_Q turns each pair back by one place. The first word: every query is the row of place 1. Itself: W_Q changes nothing. s is the sharpness.`,
          ),
        ),
        panel(choices(state, "hand", t`The head looks at`, HAND_NAMES), slider(state, "sharpness", t`Sharpness s`)),
        this.#handWords,
        this.#filterWords,
        this.#hands,
      ),
    ];
  }

  get #names(): readonly string[] {
    return this.#plain.tokens;
  }

  show(found: Calculation, settings: Settings): void {
    const { names } = found;
    for (const map of [this.#plain, this.#placed, this.#hands]) map.tokens = names;
    for (const map of [this.#plain, this.#placed]) map.headNames = [t`one head`];
    const { kind } = settings;
    this.#base.hidden = kind !== "sinusoidal" && kind !== "rotary";
    this.#view.finding(finding(found, settings));
    this.#splitting.textContent = splitting(settings);
    this.#showMaps(found, settings);
    this.#beginning.textContent = beginning(found, settings);
    this.#kindsWords.textContent = kindsWords(found, settings);
    this.#showCurves(found, settings);
    this.#showAdded(found, settings);
    this.#showWaves(found, settings);
    this.#planeWords.textContent = planeWords(found, settings);
    this.#showPlane(found, settings);
    this.#handWords.textContent = handWords(found, settings);
    this.#filterWords.textContent = filterWords(found, settings);
    this.#limitWords(names.length);
  }

  #showMaps({ names, plain, placed, hands }: Calculation, { kind, hand }: Settings): void {
    const shape = [1, names.length, names.length];
    this.#placedTitle.textContent = capital(WITH_POSITIONS[kind]);
    this.#formula.replaceChildren(formula(kind === "rotary" ? turnedTex : addedTex));
    this.#plain.probs = { data: plain, shape };
    this.#placed.probs = { data: placed, shape };
    this.#hands.probs = { data: hands, shape: [HANDS.length, names.length, names.length] };
    this.#hands.headNames = HANDS.map((name) => HAND_NAMES[name]);
    this.#hands.head = HANDS.indexOf(hand);
  }

  #showCurves(found: Calculation, settings: Settings): void {
    const [here, there] = found.curves;
    const said = curvesWords(found, settings);
    const drawn = [
      { name: t`begins at place ${FIRST}`, values: here },
      { name: t`begins at place ${FIRST + settings.offset}`, values: there },
    ];
    const chart = lineChart(drawn, [`−${REACH}`, t`distance ${0}`, `+${REACH}`], t`Scores by distance. ${said}`);
    this.#curves.replaceChildren(chart, element("figcaption", {}, said));
  }

  #showAdded(found: Calculation, settings: Settings): void {
    const { words, row, sums, place } = found.added;
    const names = [found.names[settings.word]!, found.names[settings.other]!] as const;
    const largest = Math.max(...[...words, row, ...sums].flatMap(({ data }) => data.map(Math.abs)));
    const parts = [
      { title: t`“${names[0]}” and “${names[1]}”: the words`, rows: words },
      { title: t`+ the row of place ${place}, twice`, rows: [row, row] },
      { title: t`= what the projections get`, rows: sums },
    ];
    this.#added.replaceChildren(
      ...parts.map(({ title, rows }) => {
        const both = matrix(2, DIM, (i, column) => rows[i]!.data[column]!);
        const name = (i: number, column: number) => t`${names[i]!}, feature ${column + 1}`;
        const cell = { width: 20, height: 20 };
        const grid = heatGrid(both, { label: title, cell, largest, name });
        return element("figure", {}, element("figcaption", {}, title), grid);
      }),
    );
    this.#addedWords.textContent = addedWords(found, settings);
  }

  #showWaves(found: Calculation, settings: Settings): void {
    const { pair } = settings;
    const said = waveWords(settings);
    const table = transposed(matrix(SHOWN, DIM, (place, feature) => found.table.data[place * DIM + feature]!));
    const start = FIRST + settings.offset;
    const grid = heatGrid(table, {
      label: t`The sinusoidal table, places 0 to ${SHOWN - 1}. ${said}`,
      cell: { width: 6, height: 10 },
      largest: 1,
      name: (feature, place) => t`place ${place}, feature ${feature + 1}`,
      frames: [
        { rows: [2 * pair, 2 * pair + 2], columns: [0, SHOWN] },
        { rows: [0, DIM], columns: [start, start + found.names.length] },
      ],
    });
    const about = t`Features 1 to ${DIM} from top to bottom, places 0 to ${SHOWN - 1} from left to right. Frames: this pair, and the places of the text.`;
    this.#table.replaceChildren(grid, element("figcaption", {}, about));
    const line = (feature: number, name: string) => ({
      name,
      values: Array.from({ length: SHOWN }, (_, place) => table.data[feature * SHOWN + place]!),
    });
    this.#waves.replaceChildren(
      lineChart(
        [line(2 * pair, t`sine`), line(2 * pair + 1, t`cosine`)],
        [t`place ${0}`, "", t`place ${SHOWN - 1}`],
        said,
      ),
      element("figcaption", {}, t`Solid: the sine. Dashed: the cosine.`),
    );
    this.#waveWords.textContent = said;
  }

  #showPlane(found: Calculation, settings: Settings): void {
    const { query, key } = found.turned;
    const [q, k] = [found.names[settings.query]!, found.names[settings.key]!];
    const pairs = [
      { name: t`q of ${q}`, before: query.before, after: query.after },
      { name: t`k of ${k}`, before: key.before, after: key.after },
    ];
    this.#plane.replaceChildren(plane(pairs, planeWords(found, settings)));
  }

  /** The sliders of words end at the last word, and show its name. */
  #limitWords(count: number): void {
    for (const control of this.#wordSliders) {
      const input = control.querySelector("input")!;
      input.max = String(Math.max(count - 1, 0));
      input.disabled = count === 1;
      const name = this.#names[input.valueAsNumber] ?? "";
      control.querySelector("output")!.textContent = name;
      input.setAttribute("aria-valuetext", name);
    }
  }
}
