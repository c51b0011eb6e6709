import "./room.css";

import { attentionDifferences } from "../../engine/difference.js";
import type { Engine } from "../../engine/engine.js";
import type { Floats } from "../../engine/floats.js";
import { tokenNames } from "../../../model/names.js";
import { choices, lines, panel, slider } from "../../shell/controls.js";
import { card, element, formula } from "../../shell/element.js";
import { choice, number, text, type Values } from "../../shell/field.js";
import { lineChart } from "../../shell/lineChart.js";
import { attentionMap } from "../../shell/maps.js";
import { asTensor } from "../../shell/matrix.js";
import { decimal } from "../../shell/numbers.js";
import { room as makeRoom, type RoomView } from "../../shell/room.js";
import addedTex from "./added.tex";
import noneTex from "./none.tex";
import { KINDS, placed, turned, type Kind, type Placing } from "./placing.js";
import { plane, type Vector } from "./plane.js";
import rotaryTex from "./rotary.tex";
import { snippet } from "./snippet.js";
import turnedTex from "./turned.tex";
import { DIM, embeddings, projected, wordsOf } from "./words.js";

const fields = {
  words: text("the park by the park", 200),
  kind: choice<Kind>("none", KINDS),
  /** As a power of ten. */
  base: number(4, { min: 0.5, max: 6, step: 0.1 }),
  offset: number(20, { min: 0, max: 64 }),
  pair: number(0, { min: 0, max: DIM / 2 - 1 }),
  query: number(4, { min: 0, max: 11 }),
  key: number(1, { min: 0, max: 11 }),
};
type Settings = Values<typeof fields>;

/** How far the curve of scores goes to each side. */
const REACH = 24;

export const room = makeRoom(fields, open);

interface Seen {
  readonly names: readonly string[];
  readonly call: { readonly query: Floats; readonly key: Floats };
  readonly probs: Floats;
  /** The same words at positions that are `offset` higher. */
  readonly moved: Float32Array;
}

function open(view: RoomView<typeof fields>): void {
  const { state, stage } = view;
  const picture = new Picture();
  const power = (value: number) => Math.round(10 ** value).toLocaleString("en");
  stage.append(
    panel(
      lines(state, "words", "Words, some of them twice", 1),
      choices(state, "kind", "Positions"),
      slider(state, "base", "Base b", power),
      slider(state, "offset", "Move all words by"),
    ),
    picture.node,
    card(
      "Rotary: a pair of features turns in its plane",
      formula(rotaryTex),
      panel(slider(state, "pair", "Pair m"), slider(state, "query", "Query at"), slider(state, "key", "Key at")),
      element("div", { class: "row beside" }, picture.planes, picture.planeWords),
    ),
  );
  view.onDraw(async (settings) => {
    picture.show(await attend(view.engine, settings), await scoreCurves(view.engine, settings), settings);
    await picture.showPlane(view.engine, settings);
  });
  view.onCode((settings) => snippet(placingOf(settings), wordsOf(settings.words).length, settings.offset));
  view.onCheck(async (settings) => {
    const { query, key } = await placed(view.engine, embeddings(wordsOf(settings.words)), 0, placingOf(settings));
    const result = await view.engine.scaledDotProductAttention(query, key, key, {
      returns: { output: true, probs: true },
    });
    const whole = ({ data, shape }: Floats): Floats => ({ data, shape: [1, 1, ...shape] });
    const output = { data: result.output.data as Float32Array, shape: [] };
    return attentionDifferences(
      { query: whole(query), key: whole(key), value: whole(key), options: {} },
      { output, probs: result.probs },
    );
  });
}

function placingOf({ kind, base }: Settings): Placing {
  return { kind, base: 10 ** base };
}

async function attend(engine: Engine, settings: Settings): Promise<Seen> {
  const words = wordsOf(settings.words);
  const x = embeddings(words);
  const probsFrom = async (start: number) => {
    const call = await placed(engine, x, start, placingOf(settings));
    const { probs } = await engine.scaledDotProductAttention(call.query, call.key, call.key, {
      returns: { output: false, probs: true },
    });
    return { call, probs };
  };
  const { call, probs } = await probsFrom(0);
  const moved = await probsFrom(settings.offset);
  return { names: tokenNames(words), call, probs, moved: moved.probs.data };
}

/** The score of a word with itself at every distance: for a query at position REACH, and for one `offset` higher. */
async function scoreCurves(engine: Engine, settings: Settings): Promise<[number[], number[]]> {
  const word = wordsOf(settings.words)[0]!;
  const x = embeddings(Array.from({ length: 2 * REACH + 1 }, () => word));
  const curve = async (start: number) => {
    const { query, key } = await placed(engine, x, start, placingOf(settings));
    const middle = { data: query.data.slice(REACH * DIM, (REACH + 1) * DIM), shape: [1, DIM] };
    const { scores } = await engine.scaledDotProductAttention(middle, key, key, {
      returns: { output: false, scores: "raw" },
    });
    return Array.from(scores.data);
  };
  return [await curve(0), await curve(settings.offset)];
}

class Picture {
  readonly planes = element("div");
  readonly planeWords = element("p", { class: "hint" });
  readonly #map = attentionMap("Weights of the words");
  readonly #formula = element("div");
  readonly #twins = element("p", { class: "finding" });
  readonly #invariance = element("p", { class: "finding" });
  readonly #chart = element("figure", { class: "wide-chart" });
  readonly node = element(
    "div",
    { class: "halves" },
    card("Who looks at whom", this.#formula, this.#map),
    element(
      "div",
      { class: "column" },
      card("Can it tell equal words apart?", this.#twins),
      card("Does it matter where the text begins?", this.#invariance),
      card("The score of a word with itself, by distance", this.#chart),
    ),
  );

  show({ names, probs, moved }: Seen, [here, there]: [number[], number[]], { kind, offset }: Settings): void {
    this.#formula.replaceChildren(formula(kind === "none" ? noneTex : kind === "rotary" ? turnedTex : addedTex));
    this.#map.tokens = names;
    this.#map.headNames = [kind === "none" ? "no positions" : kind];
    this.#map.probs = { data: probs.data, shape: [1, names.length, names.length] };
    this.#twins.textContent = twinWords(names, probs.data);
    this.#invariance.textContent = invarianceWords(probs.data, moved, offset);
    const label = `Scores over distances −${REACH} to ${REACH}`;
    this.#chart.replaceChildren(
      lineChart(
        [
          { name: "here", values: here },
          { name: "there", values: there },
        ],
        [`−${REACH}`, "distance 0", `+${REACH}`],
        label,
      ),
      element(
        "figcaption",
        {},
        `Solid: the text begins at 0. Dashed: it begins at ${offset}. Where they part, the place itself matters.`,
      ),
    );
  }

  async showPlane(engine: Engine, settings: Settings): Promise<void> {
    const words = wordsOf(settings.words);
    const names = tokenNames(words);
    const [query, key] = [Math.min(settings.query, words.length - 1), Math.min(settings.key, words.length - 1)];
    const { base } = placingOf(settings);
    const vectors = projected(embeddings(words));
    const after = {
      query: await turned(engine, asTensor(vectors.query), settings.offset, base),
      key: await turned(engine, asTensor(vectors.key), settings.offset, base),
    };
    const pairAt = (data: ArrayLike<number>, row: number): Vector => [
      data[row * DIM + settings.pair]!,
      data[row * DIM + settings.pair + DIM / 2]!,
    ];
    const pairs = [
      {
        name: `q of ${names[query]}`,
        before: pairAt(vectors.query.data, query),
        after: pairAt(after.query.data, query),
      },
      { name: `k of ${names[key]}`, before: pairAt(vectors.key.data, key), after: pairAt(after.key.data, key) },
    ];
    const theta = base ** ((-2 * settings.pair) / DIM);
    const said = planeWords(settings, names, query, key, theta);
    this.planes.replaceChildren(plane(pairs, said));
    this.planeWords.textContent = said;
  }
}

function planeWords(
  { pair, offset }: Settings,
  names: readonly string[],
  query: number,
  key: number,
  theta: number,
): string {
  const angle = (position: number) => `${decimal(position * theta)} rad`;
  return (
    `Pair ${pair} turns by θ = ${theta.toPrecision(3)} rad a place. ${names[query]} at ${offset + query} turns by ${angle(offset + query)}, ` +
    `${names[key]} at ${offset + key} by ${angle(offset + key)}: between them only the distance counts, ${query - key} places, ${angle(query - key)}.`
  );
}

function twinWords(names: readonly string[], probs: Float32Array): string {
  const size = names.length;
  const plain = names.map((name) => name.replace(/[₀-₉]+$/u, ""));
  const first = plain.findIndex((name, i) => plain.indexOf(name, i + 1) > 0);
  if (first < 0) return "No word stands twice. Write one again to see whether the model can tell the two apart.";
  const second = plain.indexOf(plain[first]!, first + 1);
  const row = (i: number) => probs.subarray(i * size, (i + 1) * size);
  const apart = Math.max(...row(first).map((prob, j) => Math.abs(prob - row(second)[j]!)));
  const pair = `${names[first]} and ${names[second]}`;
  return apart === 0
    ? `No: the rows of ${pair} are equal in every bit. Without positions a text is a bag of words.`
    : `Yes: the rows of ${pair} differ by up to ${(100 * apart).toFixed(1)} %.`;
}

/** The largest difference that rotations in float32 may cause. */
const ROUNDING = 1e-4;

function invarianceWords(here: Float32Array, there: Float32Array, offset: number): string {
  const change = Math.max(...here.map((prob, i) => Math.abs(prob - there[i]!)));
  if (offset === 0) return "Move the words with the slider to find out.";
  if (change === 0) return `No: ${offset} places later every weight is the same, bit by bit.`;
  if (change < ROUNDING)
    return `No: ${offset} places later the weights are the same, but for rounding (${change.toExponential(0)}).`;
  return `Yes: ${offset} places later weights change by up to ${(100 * change).toFixed(1)} %.`;
}
