import type { PairStep, Picture } from "../../engine/trainProtocol.js";
import { Moments } from "./moments.js";
import { layerScores, type HeadScores } from "./scores.js";

/** The losses and accuracies of a model, one for each step. */
export interface Course {
  readonly losses: number[];
  readonly accuracies: number[];
}

/** What a training has given until now. */
export class History {
  readonly two: Course = { losses: [], accuracies: [] };
  readonly one: Course = { losses: [], accuracies: [] };
  readonly moments = new Moments();
  #seen = -1;

  add(steps: readonly PairStep[]): void {
    for (const { two, one } of steps) {
      put(this.two, two);
      if (one) put(this.one, one);
    }
  }

  /** Takes a picture of the latest step. The same step may come again. */
  see(picture: Picture): void {
    if (picture.step <= this.#seen) return;
    this.#seen = picture.step;
    this.moments.add({ step: picture.step, scores: scoresOf(picture), copied: picture.copied });
  }
}

/** The scores of all heads: of the control, as layer 0, and of the two layers. */
export function scoresOf({ control, layers, heads }: Picture): readonly (readonly HeadScores[])[] {
  return [control ?? new Float32Array(0), ...layers].map((probs) =>
    probs.length === 0 ? [] : layerScores(probs, heads),
  );
}

function put({ losses, accuracies }: Course, { loss, accuracy }: PairStep["two"]): void {
  losses.push(loss);
  accuracies.push(accuracy);
}
