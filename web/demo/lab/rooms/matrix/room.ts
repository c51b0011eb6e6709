import "./room.css";

import { attentionDifferences } from "../../engine/difference.js";
import { choices, panel, slider, toggle } from "../../shell/controls.js";
import { card, element, formula } from "../../shell/element.js";
import { histogram } from "../../shell/histogram.js";
import { asTensor, formatMatrix, matrix, transposed, type Matrix } from "../../shell/matrix.js";
import { NumberGrid, type Cell, type GridLabels } from "../../shell/numberGrid.js";
import { decimal } from "../../shell/numbers.js";
import { room as makeRoom, type RoomView } from "../../shell/room.js";
import { asymmetry, calculate, type Inputs, type Steps } from "./calculation.js";
import { WORDS } from "./example.js";
import { explain, type Factor } from "./explain.js";
import maskTex from "./mask.tex";
import outputTex from "./output.tex";
import outputColumnsTex from "./outputColumns.tex";
import projectionsTex from "./projections.tex";
import projectionsColumnsTex from "./projectionsColumns.tex";
import scaleTex from "./scale.tex";
import scoresTex from "./scores.tex";
import scoresColumnsTex from "./scoresColumns.tex";
import softmaxTex from "./softmax.tex";
import { EDITABLE, fields, inputsOf, NAMES, type Editable, type Settings } from "./settings.js";
import { snippet } from "./snippet.js";
import { scoreStatistics } from "./variance.js";
import varianceTex from "./variance.tex";

export const room = makeRoom(fields, open);

function open(view: RoomView<typeof fields>): void {
  const { state, stage } = view;
  const picture = new Picture(view);
  stage.append(controls(view), picture.node);

  view.onDraw(async (settings) => {
    const inputs = inputsOf(settings);
    picture.show(inputs, await calculate(view.engine, inputs), settings);
    await picture.showVariance(settings.dim);
  });
  view.onCode((settings) => snippet(inputsOf(settings)));
  view.onCheck(async () => {
    const inputs = inputsOf(state.values);
    const { q, k, v } = await calculate(view.engine, { ...inputs, softmax: true });
    const [query, key, value] = [q, k, v].map((m) => ({ ...asTensor(m), shape: [1, 1, m.rows, m.columns] }));
    const options = {
      causal: inputs.causal,
      excludeSelf: inputs.excludeSelf,
      ...(inputs.scale ? {} : { scale: 1 }),
    };
    const call = { query: query!, key: key!, value: value!, options };
    const result = await view.engine.scaledDotProductAttention(query!, key!, value!, {
      ...options,
      returns: { output: true, probs: true },
    });
    return attentionDifferences(call, { output: asFloats(result.output), probs: result.probs });
  });
}

function asFloats({ data, shape }: { readonly data: ArrayLike<number>; readonly shape: readonly number[] }) {
  return { data: Float32Array.from(data), shape };
}

function controls({ state }: RoomView<typeof fields>): HTMLElement {
  return panel(
    slider(state, "tokens", "Tokens"),
    slider(state, "width", "Features"),
    choices(state, "form", "Tokens are", { rows: "rows", columns: "columns" }),
    choices(state, "reading", "Read a product as", { dots: "similarities", sums: "mixtures" }),
    choices(state, "heads", "Heads", { 1: "one", 2: "two bins", each: "a bin per feature" }),
    toggle(state, "scale", "Scale by 1/√D"),
    toggle(state, "causal", "Causal mask"),
    toggle(state, "excludeSelf", "No token sees itself"),
    toggle(state, "softmax", "Softmax"),
    toggle(state, "sameKeys", "Keys = queries (Wk = Wq)"),
  );
}

/** Shows every step with its matrices. */
class Picture {
  readonly node: HTMLElement;
  readonly #view: RoomView<typeof fields>;
  readonly #grids: Readonly<
    Record<Editable | "q" | "k" | "v" | "raw" | "scaled" | "masked" | "weights" | "output", NumberGrid>
  >;
  readonly #formulas = { projections: element("div"), scores: element("div"), output: element("div") };
  readonly #words = {
    scores: words(),
    softmax: words(),
    output: words(),
    symmetry: words(),
    heads: words(),
    scale: words(),
  };
  readonly #heads = element("div", { class: "row" });
  readonly #headPicker = element("div", { class: "row picker" });
  readonly #variance = element("div", { class: "row" });
  #factors: Factors | undefined;

  constructor(view: RoomView<typeof fields>) {
    this.#view = view;
    const editable = (name: Editable) =>
      new NumberGrid({ name: NAMES[name], digits: 1, onEdit: (cell, value) => this.#edit(name, cell, value) });
    const plain = (name: string) => new NumberGrid({ name });
    this.#grids = {
      x: editable("x"),
      wq: editable("wq"),
      wk: editable("wk"),
      wv: editable("wv"),
      q: plain("Q"),
      k: plain("K"),
      v: plain("V"),
      raw: new NumberGrid({ name: "scores", onCell: (cell) => this.#explainScore(cell) }),
      scaled: plain("scaled"),
      masked: plain("masked"),
      weights: new NumberGrid({ name: "weights P", tone: "share" }),
      output: new NumberGrid({ name: "output Y", onCell: (cell) => this.#explainOutput(cell) }),
    };
    const grid = this.#grids;
    const row = (...grids: NumberGrid[]) => element("div", { class: "row" }, ...grids.map(({ node }) => node));
    this.node = element(
      "div",
      { class: "steps" },
      card("1 · Tokens and weights", words("Type over any number."), row(grid.x, grid.wq, grid.wk, grid.wv)),
      card("2 · Queries, keys, values", this.#formulas.projections, row(grid.q, grid.k, grid.v), this.#words.heads),
      card(
        "3 · Scores",
        this.#formulas.scores,
        this.#headPicker,
        row(grid.raw),
        this.#words.scores,
        this.#words.symmetry,
      ),
      card("4 · Scale", formula(scaleTex), row(grid.scaled), this.#words.scale),
      card("5 · Mask", formula(maskTex), row(grid.masked)),
      card("6 · Softmax", formula(softmaxTex), row(grid.weights), this.#words.softmax),
      card("7 · Output", this.#formulas.output, row(grid.output), this.#words.output),
      card("One head, or bins of features", words(HEADS_WORDS), this.#heads),
      card("Why 1/√D", formula(varianceTex), panel(slider(view.state, "dim", "Features D")), this.#variance),
    );
  }

  show(inputs: Inputs, steps: Steps, { head: wanted, form }: Settings): void {
    const columns = form === "columns";
    const words = WORDS.slice(0, inputs.x.rows);
    const turn = (m: Matrix) => (columns ? transposed(m) : m);
    const tokensBySomething: GridLabels = columns ? { columns: words } : { rows: words };
    const tokensByTokens: GridLabels = { rows: words, columns: words };
    const head = Math.min(wanted, inputs.heads) - 1;
    const grid = this.#grids;

    for (const name of EDITABLE)
      grid[name].show(name === "x" ? turn(inputs.x) : inputs[name], name === "x" ? tokensBySomething : {});
    for (const name of ["q", "k", "v", "output"] as const) grid[name].show(turn(steps[name]), tokensBySomething);
    for (const name of ["raw", "scaled", "masked", "weights"] as const)
      grid[name].show(turn(steps.heads[head]![name]), tokensByTokens);

    this.#formulas.projections.replaceChildren(formula(columns ? projectionsColumnsTex : projectionsTex));
    this.#formulas.scores.replaceChildren(formula(columns ? scoresColumnsTex : scoresTex));
    this.#formulas.output.replaceChildren(formula(columns ? outputColumnsTex : outputTex));
    this.#factors = factorsOf(inputs, steps, head);
    this.#explainScore(undefined);
    this.#explainOutput(undefined);
    this.#words.symmetry.textContent = symmetryWords(steps.heads[head]!.raw, this.#view.state.values.sameKeys);
    this.#words.softmax.textContent = softmaxWords(inputs);
    const bin = inputs.x.columns / inputs.heads;
    this.#words.scale.textContent = inputs.scale
      ? `Divided by √${bin} = ${decimal(Math.sqrt(bin))}.`
      : "The scale is off: the scores pass as they are.";
    this.#words.heads.textContent =
      inputs.heads === 1
        ? "One head takes all features."
        : `${inputs.heads} heads: each takes ${bin} of the ${inputs.x.columns} features.`;
    this.#showHeads(inputs, steps, tokensByTokens);
    this.#showPicker(inputs.heads, head);
  }

  async showVariance(dim: number): Promise<void> {
    const { unscaled, scaled } = await scoreStatistics(this.#view.engine, dim);
    const limit = Math.ceil(3.5 * Math.sqrt(dim));
    const figures = [
      { name: "q·k", ...unscaled },
      { name: "q·k/√D", ...scaled },
    ].map(({ name, scores, variance, peak }) => {
      const said = `${name}: variance ${decimal(variance, 1)}; the softmax gives its favourite ${(100 * peak).toFixed(0)} % on average`;
      return element("figure", { class: "chart" }, histogram(scores, limit, said), element("figcaption", {}, said));
    });
    this.#variance.replaceChildren(...figures);
  }

  #edit(name: Editable, { row, column }: Cell, value: number): void {
    const { state } = this.#view;
    const columns = state.values.form === "columns" && name === "x";
    const [r, c] = columns ? [column, row] : [row, column];
    const before = inputsOf({ ...state.values, sameKeys: false })[name];
    const after = matrix(before.rows, before.columns, (i, j) =>
      i === r && j === c ? value : before.data[i * before.columns + j]!,
    );
    state.set({ [name]: formatMatrix(after) });
  }

  #explainScore(cell: Cell | undefined): void {
    const pair = this.#factors?.scores;
    this.#words.scores.textContent = this.#explained(
      cell,
      pair,
      "Point at a score, or use the arrow keys, to see how it comes about.",
    );
  }

  #explainOutput(cell: Cell | undefined): void {
    const feature = this.#view.state.values.form === "columns" ? cell?.row : cell?.column;
    const pair = feature === undefined ? undefined : this.#factors?.output(feature);
    this.#words.output.textContent = this.#explained(cell, pair, "Point at a number to see how it comes about.");
  }

  #explained(cell: Cell | undefined, pair: Pair | undefined, otherwise: string): string {
    return cell && pair ? explain(pair[0], pair[1], cell, this.#view.state.values.reading) : otherwise;
  }

  #showHeads(inputs: Inputs, steps: Steps, labels: GridLabels): void {
    const grids = steps.heads.map(({ weights }, head) => {
      const grid = new NumberGrid({ name: inputs.heads === 1 ? "the one head" : `head ${head + 1}`, tone: "share" });
      grid.show(weights, labels);
      return grid.node;
    });
    this.#heads.replaceChildren(...grids);
  }

  #showPicker(heads: number, shown: number): void {
    if (heads === this.#headPicker.childElementCount) {
      [...this.#headPicker.children].forEach((node, head) => (node.ariaPressed = String(head === shown)));
      return;
    }
    const buttons = Array.from({ length: heads === 1 ? 0 : heads }, (_, head) => {
      const node = element("button", { type: "button", "aria-pressed": String(head === shown) }, `Head ${head + 1}`);
      node.onclick = () => this.#view.state.set({ head: head + 1 });
      return node;
    });
    this.#headPicker.replaceChildren(...buttons);
  }
}

const HEADS_WORDS =
  "One head has one pattern. With several, the features are dealt out to bins; each bin has scores and a softmax of its own, and the outputs stand side by side.";

function words(text = ""): HTMLParagraphElement {
  return element("p", { class: "hint" }, text);
}

type Pair = readonly [Factor, Factor];
interface Factors {
  readonly scores: Pair;
  /** For each feature of the output: it has the weights of its head. */
  readonly output: (feature: number) => Pair;
}

/** The factors of both products, as they are shown. */
function factorsOf(inputs: Inputs, { q, k, v, heads }: Steps, head: number): Factors {
  const bin = q.columns / inputs.heads;
  const part = (m: Matrix) => matrix(m.rows, bin, (row, column) => m.data[row * m.columns + head * bin + column]!);
  const weights = (feature: number) => heads[Math.floor(feature / bin)]!.weights;
  const named = (name: string, m: Matrix): Factor => ({ name, matrix: m });
  return inputs.columns
    ? {
        scores: [named("Kᵀ", part(k)), named("Q", transposed(part(q)))],
        output: (feature) => [named("V", transposed(v)), named("P", transposed(weights(feature)))],
      }
    : {
        scores: [named("Q", part(q)), named("Kᵀ", transposed(part(k)))],
        output: (feature) => [named("P", weights(feature)), named("V", v)],
      };
}

function symmetryWords(raw: Matrix, sameKeys: boolean): string {
  const distance = asymmetry(raw);
  if (sameKeys)
    return "With K = Q the scores are symmetric: what “car” asks of “park” is what “park” asks of “car”, and every token tends to find itself. Two projections let a token look for something that it is not.";
  return `The scores are not symmetric (s(i, j) and s(j, i) differ by up to ${decimal(distance)}): queries and keys have projections of their own, so asking is not answering.`;
}

function softmaxWords({ softmax }: Inputs): string {
  return softmax
    ? "Every row of queries sums to 1: a share of attention for each key."
    : "Softmax is off: scores weigh the values directly, may be negative and add up to anything. headwise always takes the softmax; this step is the page’s own.";
}
