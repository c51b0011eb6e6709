import type { Engine } from "../engine/engine.js";

/** What the visitor learns after the prediction. */
export interface Outcome {
  /** The index of the right answer. */
  readonly right: number;
  /** What happened, with the numbers that headwise has computed. */
  readonly said: string;
}

/** A step of the tour: a question about a room, a prediction, and the truth. */
export interface Step {
  readonly room: string;
  /** The settings of the room before the prediction. They must not show the truth. */
  readonly before: string;
  /** The settings that show the truth. */
  readonly after: string;
  /** A CSS selector of the picture that shows the truth. It is scrolled into view. */
  readonly look: string;
  readonly question: string;
  readonly answers: readonly string[];
  /** Computes the truth. */
  reveal(engine: Engine): Promise<Outcome>;
}

/** The index of the number that is nearest to the truth. */
export function nearest(numbers: readonly number[], truth: number): number {
  const distances = numbers.map((number) => Math.abs(number - truth));
  return distances.indexOf(Math.min(...distances));
}
