// Formulas on the GPU against their meaning in double (tests/web/formulaReference.ts), pair by pair, and what is said of
// whole tiles against their pairs.

import { afterAll, beforeAll, expect, test } from "@jest/globals";

import { formula, type Formula } from "../../web/src/formula/formula.js";
import { evaluator, exactly, truthOf, type Outcome } from "../web/formulaReference.js";
import { FormulaPairs, TILE_KEYS, TILE_ROWS, type Evaluated, type Pairs } from "./formulaPairs.js";
import { describeOnGpu, openTestDevice } from "./gpu.js";
import { mulberry } from "./mulberry.js";

const PAIRS: Pairs = { numHeads: 2, numKvHeads: 1, headDim: 64, queryLength: 21, keyLength: 45, offsets: [3, -2] };

interface Index {
  readonly b: number;
  readonly h: number;
  readonly i: number;
  readonly j: number;
}

function indices({ numHeads, queryLength, keyLength, offsets }: Pairs): Index[] {
  return Array.from({ length: offsets.length * numHeads * queryLength * keyLength }, (_, n) => ({
    j: n % keyLength,
    i: Math.floor(n / keyLength) % queryLength,
    h: Math.floor(n / keyLength / queryLength) % numHeads,
    b: Math.floor(n / keyLength / queryLength / numHeads),
  }));
}

function variablesAt(pairs: Pairs, { b, h, i, j }: Index, s: number) {
  const { offsets, numHeads, numKvHeads, queryLength, keyLength, headDim, dropped = 0 } = pairs;
  const g = Math.floor(h / (numHeads / numKvHeads));
  const k = j + (j >= 4 ? dropped : 0);
  const values = { s, q: i + offsets[b]!, k, i, j, h, g, b, Sq: queryLength, Skv: keyLength, D: headDim };
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, exactly(value)]));
}

const scoresFor = (pairs: Pairs) =>
  Float32Array.from(
    indices(pairs),
    (_, n) => [0.5, -3.25, 1e-3, 12, NaN, -0.75, 88, -1e5][(n * 7) % 8]! + (n % 13) / 8,
  );

function allows({ low, high, nan }: Outcome, found: number): boolean {
  return Number.isNaN(found) ? nan !== "never" : found >= low && found <= high;
}

/** The first pairs at which a score is not as its meaning allows. */
function wrongScores(made: Formula, pairs: Pairs, s: Float32Array, found: Evaluated): object[] {
  const evaluate = evaluator(made);
  return indices(pairs)
    .map((at, n) => ({ ...at, s: s[n], found: found.scores[n]!, wanted: evaluate(variablesAt(pairs, at, s[n]!)) }))
    .filter((each) => !allows(each.wanted, each.found))
    .slice(0, 3);
}

function wrongPairs(made: Formula, pairs: Pairs, found: Evaluated): object[] {
  const evaluate = evaluator(made);
  return indices(pairs)
    .map((at, n) => ({ ...at, found: found.visible[n] === 1, wanted: truthOf(evaluate(variablesAt(pairs, at, 0))) }))
    .filter((each) => each.wanted !== undefined && each.wanted !== each.found)
    .slice(0, 3);
}

/** Tiles of which more is said than their pairs allow, and how many of each kind there are. */
function tilesOf(pairs: Pairs, found: Evaluated) {
  const { numHeads, numKvHeads, queryLength, keyLength } = pairs;
  const group = numHeads / numKvHeads;
  const rowTiles = Math.ceil((queryLength * group) / TILE_ROWS);
  const visibleAt = (b: number, h: number, i: number, j: number) =>
    found.visible[((b * numHeads + h) * queryLength + i) * keyLength + j] === 1;
  const wrong: object[] = [];
  const counts = { skipped: 0, mixed: 0, all: 0 };
  found.tiles.forEach((state, n) => {
    const j = n % keyLength;
    // as in task.wgsl: the last rows come first
    const tile = rowTiles - 1 - (Math.floor(n / keyLength) % rowTiles);
    const g = Math.floor(n / keyLength / rowTiles) % numKvHeads;
    const b = Math.floor(n / keyLength / rowTiles / numKvHeads);
    counts[state] += 1 / TILE_KEYS;
    if (state === "mixed") return;
    for (let row = tile * TILE_ROWS; row < Math.min((tile + 1) * TILE_ROWS, queryLength * group); ++row)
      if (visibleAt(b, g * group + (row % group), Math.floor(row / group), j) !== (state === "all"))
        wrong.push({ state, b, h: g * group + (row % group), i: Math.floor(row / group), j });
  });
  return { wrong: wrong.slice(0, 3), counts };
}

// Generated formulas.

const NUMBERS = ["0", "1", "2", "3", "0.5", "(-1)", "(-2.5)", "7", "100", "1e-3", "Infinity", "x", "w"];
const OF_SCORE = ["s", "s", "s", "q", "k", "i", "j", "h", "g", "b", "Sq", "Skv", "D"];
const OF_VISIBLE = ["q", "k", "q", "k", "i", "j", "h", "b", "Skv"];

/** Texts of formulas, always the same ones for a seed. */
class Texts {
  readonly #random: () => number;
  readonly #names: readonly string[];

  constructor(seed: number, names: readonly string[]) {
    this.#random = mulberry(seed);
    this.#names = names;
  }

  number(depth: number): string {
    if (depth === 0) return this.#one(this.#random() < 0.7 ? this.#names : NUMBERS);
    const x = () => this.number(Math.floor(this.#random() * depth));
    const kind = this.#random();
    if (kind < 0.4) return `(${x()} ${this.#one(["+", "-", "*", "/", "%"])} ${x()})`;
    if (kind < 0.6) return `${this.#one(["abs", "floor", "sign", "sqrt", "exp", "log", "tanh", "sin", "cos"])}(${x()})`;
    if (kind < 0.7) return `${this.#one(["min", "max", "pow"])}(${x()}, ${x()})`;
    if (kind < 0.8) return `${this.#one(["t", "u"])}[${x()}]`;
    if (kind < 0.85) return `m[${x()}][${x()}]`;
    return `(${this.truth(depth - 1)} ? ${x()} : ${x()})`;
  }

  truth(depth: number): string {
    const kind = this.#random();
    if (depth === 0 || kind < 0.5)
      return `(${this.number(Math.min(depth, 2))} ${this.#one(["<", "<=", ">", ">=", "==", "!="])} ${this.number(Math.min(depth, 2))})`;
    if (kind < 0.9) return `(${this.truth(depth - 1)} ${this.#one(["&&", "||"])} ${this.truth(depth - 1)})`;
    return `!${this.truth(depth - 1)}`;
  }

  #one(of: readonly string[]): string {
    return of[Math.floor(this.#random() * of.length)]!;
  }
}

const PARAMETERS = {
  x: 1.75,
  w: 9,
  t: Float32Array.from({ length: 40 }, (_, n) =>
    n === 7 ? NaN : n === 11 ? -Infinity : n === 30 ? Infinity : Math.sin(n) * 4,
  ),
  u: Int32Array.from({ length: 60 }, (_, n) => Math.floor(n / 9)),
  m: { data: Float32Array.from({ length: 35 }, (_, n) => Math.cos(n) * 3), shape: [5, 7] },
};

/** With only the parameters that the text reads. */
function made(text: string): Formula | undefined {
  const used = Object.entries(PARAMETERS).filter(([name]) => new RegExp(`(?<!\\w)${name}(?!\\w|\\()`).test(text));
  try {
    return formula(text, Object.fromEntries(used)) as Formula;
  } catch {
    return undefined; // an index that is known to be outside
  }
}

const COUNT = Number(process.env.HEADWISE_FORMULAS ?? 60);

function samples(seed: number, names: readonly string[], kind: "number" | "truth"): Formula[] {
  const texts = new Texts(seed, names);
  const found: Formula[] = [];
  while (found.length < COUNT) {
    const each = made(texts[kind](4));
    if (each && each.graph.nodes.length > 5 && each.graph.nodes.length < 40) found.push(each);
  }
  return found;
}

describeOnGpu("formulas on the GPU", () => {
  let device: GPUDevice;
  let evaluated: FormulaPairs;
  beforeAll(async () => {
    device = await openTestDevice();
    evaluated = new FormulaPairs(device);
  });
  afterAll(() => device.destroy());

  test.each(samples(1, OF_SCORE, "number").map((each) => [each.text, each] as const))("score: %s", async (_, score) => {
    const s = scoresFor(PAIRS);
    const found = await evaluated.evaluate({ score }, PAIRS, s);
    expect(wrongScores(score, PAIRS, s, found)).toEqual([]);
  });

  test.each(samples(2, OF_VISIBLE, "truth").map((each) => [each.text, each] as const))(
    "visible: %s",
    async (_, visible) => {
      const found = await evaluated.evaluate({ visible }, PAIRS, scoresFor(PAIRS));
      expect(wrongPairs(visible, PAIRS, found)).toEqual([]);
      expect(tilesOf(PAIRS, found).wrong).toEqual([]);
    },
  );
});
