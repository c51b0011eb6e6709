import type { PairStep, Picture } from "../../engine/trainProtocol.js";
import type { Point } from "./curves.js";
import { Moments } from "./moments.js";
import { layerScores, type HeadScores } from "./scores.js";

/** What a model has done: points of a step and a value. */
export interface Course {
  /** After every step, on the sequences of that step. */
  readonly losses: Point[];
  /** At every look, the share of repeated tokens that is copied, on the sequences that it never learns from. */
  readonly copied: Point[];
}

/** What a training has given until now. */
export class History {
  readonly two: Course = { losses: [], copied: [] };
  readonly one: Course = { losses: [], copied: [] };
  readonly moments = new Moments();
  #seen = -1;

  add(steps: readonly PairStep[]): void {
    for (const { two, one } of steps) {
      put(this.two.losses, two);
      if (one) put(this.one.losses, one);
    }
  }

  /** Takes a picture of the latest step. The same step may come again. */
  see(picture: Picture): void {
    if (picture.step <= this.#seen) return;
    this.#seen = picture.step;
    const { step, copied, controlCopied } = picture;
    this.two.copied.push([step, copied]);
    if (controlCopied !== undefined) this.one.copied.push([step, controlCopied]);
    this.moments.add({ step, scores: scoresOf(picture), copied });
  }
}

/** The scores of all heads: of the control, as layer 0, and of the two layers. */
export function scoresOf({ control, layers, heads }: Picture): readonly (readonly HeadScores[])[] {
  return [control ?? new Float32Array(0), ...layers].map((probs) =>
    probs.length === 0 ? [] : layerScores(probs, heads),
  );
}

function put(losses: Point[], { loss }: PairStep["two"]): void {
  losses.push([losses.length + 1, loss]);
}
