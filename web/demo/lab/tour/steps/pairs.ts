import type { Engine } from "../../engine/engine.js";
import { decimal } from "../../shell/numbers.js";
import { t } from "../../../texts/t.js";
import { nearest, type Outcome, type Step } from "../step.js";
import { causalWeights } from "../visible.js";

const TOKENS = 24;
const COUNTS = [276, 288, 300, 552];

/** How many pairs have a weight under a causal mask. */
export async function pairsLeft(engine: Engine): Promise<number> {
  return (await causalWeights(engine, TOKENS)).reduce((count, weight) => count + Number(weight > 0), 0);
}

export function outcome(left: number): Outcome {
  const all = TOKENS ** 2;
  return {
    right: nearest(COUNTS, left),
    said: t`${left} of ${all} pairs have a weight, ${decimal((100 * left) / all, 0)} %. That is a bit more than half: of the ${TOKENS} pairs on the diagonal none is lost, because every token sees itself.`,
  };
}

export const pairs: Step = {
  room: "masks",
  before: "causal=off",
  after: "causal=lower-right",
  look: "attention-map",
  question: t`${TOKENS} tokens make ${TOKENS ** 2} pairs. A causal mask hides from every token what comes after it: how many pairs are left?`,
  answers: COUNTS.map(String),
  reveal: async (engine) => outcome(await pairsLeft(engine)),
};
