import type { Engine } from "../../engine/engine.js";
import { FIRST, placed, type Kind } from "../../rooms/positions/placing.js";
import { embeddings, wordsOf } from "../../rooms/positions/vocabulary.js";
import { decimal } from "../../shell/numbers.js";
import { t } from "../../../texts/t.js";
import type { Outcome, Step } from "../step.js";

const WORDS = "the park by the park";
/** Where “park” stands. */
const [ONE, OTHER] = [1, 4];

export interface TwinRows {
  /** The largest difference between the rows of the two words, with sinusoidal positions. */
  readonly placed: number;
  /** The same without positions. */
  readonly unplaced: number;
}

export async function twinRows(engine: Engine): Promise<TwinRows> {
  const words = wordsOf(WORDS);
  const apart = async (kind: Kind) => {
    const { query, key } = await placed(engine, embeddings(words), FIRST, { kind, base: 1e4 });
    const { probs } = await engine.scaledDotProductAttention(query, key, key, {
      returns: { output: false, probs: true },
    });
    const row = (at: number) => probs.data.subarray(at * words.length, (at + 1) * words.length);
    return Math.max(...row(ONE).map((prob, key) => Math.abs(prob - row(OTHER)[key]!)));
  };
  return { placed: await apart("sinusoidal"), unplaced: await apart("none") };
}

export function outcome({ placed, unplaced }: TwinRows): Outcome {
  const points = t`${decimal(100 * placed, 1)} percentage points`;
  return unplaced === 0
    ? {
        right: 2,
        said: t`With positions the two rows differ by up to ${points}; without them by 0, in every bit. Equal words have equal queries and keys, so nothing is left that could tell them apart.`,
      }
    : {
        right: unplaced < placed ? 1 : 0,
        said: t`With positions the two rows differ by up to ${points}, without them by ${decimal(100 * unplaced, 1)}.`,
      };
}

export const twins: Step = {
  room: "positions",
  before: new URLSearchParams({ words: "the park by a lake" }).toString(),
  after: new URLSearchParams({ words: WORDS }).toString(),
  look: "attention-map",
  question: t`In “the park by the park” a word stands twice. With positions its two rows differ. Without positions, how much do they differ?`,
  answers: [t`As much as with positions`, t`Less`, t`Not at all`],
  reveal: async (engine) => outcome(await twinRows(engine)),
};
