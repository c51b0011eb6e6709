import { similarity } from "../../../model/similarity.js";
import { PARK, PHONE } from "../../../model/story.js";
import type { Engine } from "../../engine/engine.js";
import { decimal } from "../../shell/numbers.js";
import type { Outcome, Step } from "../step.js";

/** One number for each of the four heads of both layers: the second head of the second layer is off. */
const GAINS = [
  [1, 1, 1, 1],
  [1, 0, 1, 1],
];
/** From this cosine on, two embeddings say the same. */
const SAME = 0.95;

/** Cosines with the embedding of the sentence as the whole model reads it. */
export interface Cosines {
  /** Of the same sentence, read without one head. */
  readonly without: number;
  /** Of another sentence, read with all heads. */
  readonly other: number;
}

export async function cosines(engine: Engine): Promise<Cosines> {
  const [whole, other] = await engine.encode([PARK, PHONE], {});
  const [without] = await engine.encode([PARK], { headGain: GAINS });
  return {
    without: similarity(whole!.embedding, without!.embedding),
    other: similarity(whole!.embedding, other!.embedding),
  };
}

export function outcome({ without, other }: Cosines): Outcome {
  const is = `Without this head the embedding has a cosine of ${decimal(without)} with the whole model’s; 1 would be no change. A sentence about a phone has ${decimal(other)}.`;
  if (without >= SAME) return { right: 0, said: `${is} The other heads say nearly the same.` };
  if (without > other)
    return { right: 1, said: `${is} The head mattered, and the other seven keep most of the meaning.` };
  return { right: 2, said: `${is} The model reads another sentence.` };
}

export const meaning: Step = {
  room: "sentence",
  before: new URLSearchParams({ texts: PARK }).toString(),
  after: new URLSearchParams({ texts: PARK, gains: GAINS.flat().join(",") }).toString(),
  look: ".card",
  question: `This model has eight heads, four in each layer. Switch off the second head of the second layer: does the meaning of “${PARK}” change?`,
  answers: ["Hardly", "Clearly, but it is the same sentence", "As if it were another sentence"],
  reveal: async (engine) => outcome(await cosines(engine)),
};
