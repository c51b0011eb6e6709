import type { PairStep, Picture } from "../../engine/trainProtocol.js";
import type { Point } from "./curves.js";
import { Moments, NO_MOMENTS, type KeptMoments } from "./moments.js";
import { layerScores, type HeadScores } from "./scores.js";

/** What a model has done: points of a step and a value. */
export interface Course {
  /** After every step, on the sequences of that step. */
  readonly losses: Point[];
  /** At every look, the share of repeated tokens that is copied, on the sequences that it never learns from. */
  readonly copied: Point[];
}

/** A history as it is kept. */
export interface KeptHistory {
  readonly two: Course;
  readonly one: Course;
  readonly moments: KeptMoments;
  /** The latest step that was looked at. */
  readonly seen: number;
}
const NO_COURSE: Course = { losses: [], copied: [] };
const NOTHING_YET: KeptHistory = { two: NO_COURSE, one: NO_COURSE, moments: NO_MOMENTS, seen: -1 };

/** What a training has given until now. */
export class History {
  readonly two: Course;
  readonly one: Course;
  readonly moments: Moments;
  #seen: number;

  constructor({ two, one, moments, seen }: KeptHistory = NOTHING_YET) {
    this.two = copied(two);
    this.one = copied(one);
    this.moments = new Moments(moments);
    this.#seen = seen;
  }

  /** All of it, to go on from. */
  get kept(): KeptHistory {
    return { two: copied(this.two), one: copied(this.one), moments: this.moments.kept, seen: this.#seen };
  }

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

function copied({ losses, copied: shares }: Course): Course {
  return { losses: [...losses], copied: [...shares] };
}

function put(losses: Point[], { loss }: PairStep["two"]): void {
  losses.push([losses.length + 1, loss]);
}
