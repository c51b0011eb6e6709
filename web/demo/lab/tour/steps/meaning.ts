import { similarity } from "../../../model/similarity.js";
import { PARK, PHONE } from "../../../model/story.js";
import type { Engine } from "../../engine/engine.js";
import { decimal } from "../../shell/numbers.js";
import { t } from "../../../texts/t.js";
import type { Outcome, Step } from "../step.js";

const LAYERS = 2;
const HEADS = 4;
/** The head of the question, the second of the second layer: of all eight it is the one that is missed most. */
const ASKED = { layer: 1, head: 1 };
/** One number for each head: one of them is off. */
const without = (layer: number, head: number) =>
  Array.from({ length: LAYERS }, (_, l) => Array.from({ length: HEADS }, (__, h) => Number(l !== layer || h !== head)));
const GAINS = without(ASKED.layer, ASKED.head);
/** From this cosine on, two embeddings say the same. */
const SAME = 0.95;

/** Cosines with the embedding of the sentence as the whole model reads it. */
export interface Cosines {
  /** Of the same sentence, read without the head of the question. */
  readonly without: number;
  /** Of the same sentence, read without each of the other heads. */
  readonly others: readonly number[];
  /** Of another sentence, read with all heads. */
  readonly other: number;
}

export async function cosines(engine: Engine): Promise<Cosines> {
  const [whole, other] = await engine.encode([PARK, PHONE], {});
  const lost = async (headGain: readonly (readonly number[])[]) => {
    const [read] = await engine.encode([PARK], { headGain });
    return similarity(whole!.embedding, read!.embedding);
  };
  const others: number[] = [];
  for (let layer = 0; layer < LAYERS; layer++)
    for (let head = 0; head < HEADS; head++)
      if (layer !== ASKED.layer || head !== ASKED.head) others.push(await lost(without(layer, head)));
  return {
    without: await lost(GAINS),
    others,
    other: similarity(whole!.embedding, other!.embedding),
  };
}

export function outcome({ without, others, other }: Cosines): Outcome {
  const [least, most] = [decimal(Math.min(...others)), decimal(Math.max(...others))];
  const range = least === most ? least : t`${least} to ${most}`;
  const rank =
    without < Math.min(...others)
      ? t`Of the eight heads it is the one that is missed most: without one of the others the cosine is ${range}.`
      : t`Without one of the other heads the cosine is ${range}.`;
  const is = t`Without this head the embedding has a cosine of ${decimal(without)} with the whole model’s; 1 would be no change. A sentence about a phone has ${decimal(other)}.`;
  if (without >= SAME) return { right: 0, said: t`${is} ${rank} The other heads say nearly the same.` };
  if (without > other)
    return { right: 1, said: t`${is} ${rank} The head mattered, and the other seven keep most of the meaning.` };
  return { right: 2, said: t`${is} ${rank} The model reads another sentence.` };
}

export const meaning: Step = {
  room: "sentence",
  before: new URLSearchParams({ texts: PARK }).toString(),
  after: new URLSearchParams({ texts: PARK, gains: GAINS.flat().join(",") }).toString(),
  look: ".card",
  question: t`This model has eight heads, four in each layer. Switch off the second head of the second layer: does the meaning of “${PARK}” change?`,
  answers: [t`Hardly`, t`Clearly, but it is the same sentence`, t`As if it were another sentence`],
  reveal: async (engine) => outcome(await cosines(engine)),
};
