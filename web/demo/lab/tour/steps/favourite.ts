import type { Engine } from "../../engine/engine.js";
import { VARIANCE_STOP as STOP } from "../../rooms/matrix/stops.js";
import { scoreStatistics } from "../../rooms/matrix/variance.js";
import { decimal } from "../../shell/numbers.js";
import { t } from "../../../texts/t.js";
import { nearest, type Outcome, type Step } from "../step.js";
import { PERCENT } from "../../../texts/percent.js";

const DIM = 64;
const SHARES = [0.1, 0.3, 0.5, 0.8];

export interface Favourite {
  /** The mean share of the key with the highest score, without the division by √D. */
  readonly unscaled: number;
  readonly scaled: number;
  /** The variance of the scores without the division. */
  readonly variance: number;
}

export async function favouriteShare(engine: Engine): Promise<Favourite> {
  const { unscaled, scaled } = await scoreStatistics(engine, DIM);
  return { unscaled: unscaled.peak, scaled: scaled.peak, variance: unscaled.variance };
}

export function outcome({ unscaled, scaled, variance }: Favourite): Outcome {
  const percent = (share: number) => `${decimal(100 * share, 0)}${PERCENT}`;
  return {
    right: nearest(SHARES, unscaled),
    said: t`The favourite of 64 keys gets ${percent(unscaled)} on average: such a softmax hardly mixes, it picks. The scores have a variance of ${decimal(variance, 1)}, about D. Divided by √D, the favourite gets ${percent(scaled)}.`,
  };
}

export const favourite: Step = {
  room: "matrix",
  before: `dim=2&stop=${STOP}`,
  after: `dim=${DIM}&stop=${STOP}`,
  look: ".card:has([data-field=dim])",
  question: t`A random query meets 64 random keys of D = ${DIM} features. Without the division by √D: what share of the attention does the favourite key get?`,
  answers: SHARES.map((share) => t`About ${100 * share} %`),
  reveal: async (engine) => outcome(await favouriteShare(engine)),
};
