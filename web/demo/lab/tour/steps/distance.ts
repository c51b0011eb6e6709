import type { Engine } from "../../engine/engine.js";
import { FIRST, placed, type Kind } from "../../rooms/positions/placing.js";
import { embeddings, wordsOf } from "../../rooms/positions/vocabulary.js";
import { decimal, significant } from "../../shell/numbers.js";
import { t } from "../../../texts/t.js";
import type { Outcome, Step } from "../step.js";

const WORDS = "the park by the park";
const OFFSET = 40;

export interface Moved {
  /** The largest change of a weight when all words move, with rotary positions. */
  readonly rotary: number;
  /** The same with sinusoidal positions, which are added. */
  readonly sinusoidal: number;
}

export async function moved(engine: Engine): Promise<Moved> {
  const x = embeddings(wordsOf(WORDS));
  const weights = async (kind: Kind, offset: number) => {
    const { query, key } = await placed(engine, x, FIRST + offset, { kind, base: 1e4 });
    const { probs } = await engine.scaledDotProductAttention(query, key, key, {
      returns: { output: false, probs: true },
    });
    return probs.data;
  };
  const change = async (kind: Kind) => {
    const [here, there] = [await weights(kind, 0), await weights(kind, OFFSET)];
    return Math.max(...here.map((weight, at) => Math.abs(weight - there[at]!)));
  };
  return { rotary: await change("rotary"), sinusoidal: await change("sinusoidal") };
}

/** Rotations in float32 are rounded: weights change by less than a tenth of a thousandth. */
const ROUNDING = 1e-4;

export function outcome({ rotary, sinusoidal }: Moved): Outcome {
  const points = (change: number) => t`${decimal(100 * change, 1)} percentage points`;
  const added = t`Where sinusoids are added, the same move changes weights by up to ${points(sinusoidal)}.`;
  return rotary < ROUNDING
    ? {
        right: 1,
        said: t`No weight changes but for rounding (${significant(rotary, 1)}). All queries and keys turn on by the same angle, and a score depends on the angle between two of them: on the distance of the words. ${added}`,
      }
    : { right: 0, said: t`Weights change by up to ${points(rotary)}. ${added}` };
}

export const distance: Step = {
  room: "positions",
  before: new URLSearchParams({ words: WORDS, kind: "rotary", offset: "0" }).toString(),
  after: new URLSearchParams({ words: WORDS, kind: "rotary", offset: String(OFFSET) }).toString(),
  look: "attention-map",
  question: t`Rotary positions turn every query and key by an angle that grows with its place. Move the whole text ${OFFSET} places on: what do the weights do?`,
  answers: [t`They change with the place`, t`They stay: only distances count`],
  reveal: async (engine) => outcome(await moved(engine)),
};
