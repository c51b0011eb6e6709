import type { HeadPlace } from "../../shell/headPlace.js";
import { HABITS, type Habit, type HeadScores } from "./scores.js";

/** From this share of its attention on, a head has a habit; below the other one it has lost it. */
export const BEGINS = 0.5;
export const ENDS = 0.3;
/** Shares of repeated tokens that are copied, which are worth telling. */
export const MILESTONES = [0.5, 0.95] as const;

/** What a look at the models after some step has found. */
export interface Look {
  readonly step: number;
  /** Scores by layer and head: layer 0 is the control's, 1 and 2 are those of the two layers. */
  readonly scores: readonly (readonly HeadScores[])[];
  /** The share of repeated tokens that the two layers copy, on sequences they never learn from. */
  readonly copied: number;
}

export type Moment =
  | { readonly step: number; readonly kind: "begins" | "ends"; readonly habit: Habit; readonly place: HeadPlace }
  | { readonly step: number; readonly kind: "copies"; readonly share: number }
  /** The visitor has switched a head on or off. */
  | { readonly step: number; readonly kind: "switched"; readonly place: HeadPlace; readonly isOn: boolean };

/** Moments as they are kept. */
export interface KeptMoments {
  readonly list: readonly Moment[];
  /** The habits that heads have now, as in "previous 1.0". */
  readonly held: readonly string[];
  /** How many milestones were told. */
  readonly milestone: number;
}
export const NO_MOMENTS: KeptMoments = { list: [], held: [], milestone: 0 };

/** When the visitor switched heads, when heads took up habits and lost them, and when the two layers copied enough. In the order of the looks. */
export class Moments {
  readonly list: Moment[];
  readonly #held: Set<string>;
  #milestone: number;

  constructor({ list, held, milestone }: KeptMoments = NO_MOMENTS) {
    this.list = [...list];
    this.#held = new Set(held);
    this.#milestone = milestone;
  }

  /** All of it, to go on from. */
  get kept(): KeptMoments {
    return { list: [...this.list], held: [...this.#held], milestone: this.#milestone };
  }

  add({ step, scores, copied }: Look): void {
    scores.forEach((layer, number) =>
      layer.forEach((head, index) => {
        for (const habit of HABITS) this.#follow(step, habit, { layer: number, head: index }, head[habit]);
      }),
    );
    for (; copied >= (MILESTONES[this.#milestone] ?? Infinity); this.#milestone++)
      this.list.push({ step, kind: "copies", share: MILESTONES[this.#milestone]! });
  }

  switched(step: number, place: HeadPlace, isOn: boolean): void {
    this.list.push({ step, kind: "switched", place, isOn });
  }

  #follow(step: number, habit: Habit, place: HeadPlace, score: number): void {
    const name = `${habit} ${place.layer}.${place.head}`;
    const isHeld = this.#held.has(name);
    if (!isHeld && score >= BEGINS) {
      this.#held.add(name);
      this.list.push({ step, kind: "begins", habit, place });
    }
    if (isHeld && score < ENDS) {
      this.#held.delete(name);
      this.list.push({ step, kind: "ends", habit, place });
    }
  }

  /** The head of the two layers that took up a habit last. */
  get newest(): HeadPlace | undefined {
    const places = this.list.flatMap((moment) => (moment.kind === "begins" ? [moment.place] : []));
    return places.findLast(({ layer }) => layer > 0);
  }

  /** The heads that have this habit now. */
  having(habit: Habit): readonly HeadPlace[] {
    return [...this.#held].flatMap((name) => {
      const [held, place] = name.split(" ") as [Habit, string];
      return held === habit ? [{ layer: Number(place[0]), head: Number(place[2]) }] : [];
    });
  }
}
