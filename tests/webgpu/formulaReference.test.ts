// Formulas on the GPU against their meaning in double (attention-conformance/reference/formulaReference.ts), pair by
// pair, and what is said of whole tiles against their pairs.

import { beforeAll, expect, test } from "@jest/globals";

import fc from "fast-check";
import type { Formula } from "headwise/formula";

import { formulaOf, scores, visibles, type RandomFormula } from "../web/formulaRandom.js";
import { evaluator, exactly, truthOf, type Outcome } from "../attention-conformance/reference/formulaReference.js";
import { FormulaPairs, TILE_KEYS, TILE_ROWS, type Evaluated, type Pairs } from "./formulaPairs.js";
import { describeOnGpu, plainDevice } from "./gpu.js";

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

/**
 * How many random formulas of each kind are tried, and how many operations they may have. SwiftShader takes seconds to
 * compile each; with more runs use lavapipe.
 */
const RUNS = Number(process.env["HEADWISE_FORMULA_RUNS"] ?? 6);
const MOST_NODES = RUNS > 6 ? 40 : 16;

/** Random formulas, always the same ones. Compiling a long one takes long, so they are short. */
function samples(of: fc.Arbitrary<RandomFormula>, seed: number): Formula[] {
  const drawn = fc.sample(of, { seed, numRuns: 12 * RUNS }).map(formulaOf);
  return drawn.filter(({ graph: { nodes } }) => nodes.length > 6 && nodes.length < MOST_NODES).slice(0, RUNS);
}

describeOnGpu("formulas on the GPU", () => {
  let device: GPUDevice;
  let evaluated: FormulaPairs;
  beforeAll(async () => {
    device = await plainDevice();
    evaluated = new FormulaPairs(device);
  });

  test.each(samples(scores, 1).map((each) => [each.text, each] as const))("score: %s", async (_, score) => {
    const s = scoresFor(PAIRS);
    const found = await evaluated.evaluate({ score }, PAIRS, s);
    expect(wrongScores(score, PAIRS, s, found)).toEqual([]);
  });

  test.each(samples(visibles, 2).map((each) => [each.text, each] as const))("visible: %s", async (_, visible) => {
    const found = await evaluated.evaluate({ visible }, PAIRS, scoresFor(PAIRS));
    expect(wrongPairs(visible, PAIRS, found)).toEqual([]);
    expect(tilesOf(PAIRS, found).wrong).toEqual([]);
  });
});
