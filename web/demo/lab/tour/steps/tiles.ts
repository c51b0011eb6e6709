import type { Engine } from "../../engine/engine.js";
import { t } from "../../../texts/t.js";
import { nearest, type Outcome, type Step } from "../step.js";
import { causalWeights } from "../visible.js";

const TOKENS = 32;
const TILE = 4;
const ACROSS = TOKENS / TILE;
const COUNTS = [0, 16, 28, 36];

/** How many square tiles of the weights have no visible pair under a causal mask. */
export async function untouchedTiles(engine: Engine): Promise<number> {
  const weights = await causalWeights(engine, TOKENS);
  const touched = new Set<number>();
  weights.forEach((weight, at) => {
    const [row, column] = [Math.floor(at / TOKENS), at % TOKENS];
    if (weight > 0) touched.add(Math.floor(row / TILE) * ACROSS + Math.floor(column / TILE));
  });
  return ACROSS ** 2 - touched.size;
}

export function outcome(untouched: number): Outcome {
  const all = ACROSS ** 2;
  return {
    right: nearest(COUNTS, untouched),
    said: t`${untouched} of ${all} tiles have no visible pair and are skipped as a whole. The other ${all - untouched} are computed: ${ACROSS} of them lie on the diagonal, so less than half is saved.`,
  };
}

export const tiles: Step = {
  room: "flash",
  before: `length=${TOKENS}&causal=false`,
  after: `length=${TOKENS}`,
  look: ".tiles",
  question: t`Here ${TOKENS} tokens are computed in ${ACROSS ** 2} tiles of ${TILE} × ${TILE}. With a causal mask: how many tiles are never touched?`,
  answers: COUNTS.map(String),
  reveal: async (engine) => outcome(await untouchedTiles(engine)),
};
