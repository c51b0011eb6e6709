import { rowOf, type Head } from "./heads.js";

/** What many heads of trained models do: look one token back, at the first token, or at the token itself. */
export const HABITS = ["previous", "first", "self"] as const;
export type Habit = (typeof HABITS)[number];

/**
 * The mean weight that a head gives to each: over all tokens to themselves, and over all but the first token to the one
 * before and to the first. 0 if there are no such tokens.
 */
export function habitsOf({ probs }: Pick<Head, "probs">): Readonly<Record<Habit, number>> {
  const tokens = Math.sqrt(probs.length);
  const mean = (from: number, to: (token: number) => number) => {
    let sum = 0;
    for (let token = from; token < tokens; token++) sum += rowOf(probs, token)[to(token)]!;
    return sum / Math.max(tokens - from, 1);
  };
  return {
    previous: mean(1, (token) => token - 1),
    first: mean(1, () => 0),
    self: mean(0, (token) => token),
  };
}

/** The habit with the largest weight. */
export function mainHabit(weights: Readonly<Record<Habit, number>>): Habit {
  return HABITS.reduce((most, habit) => (weights[habit] > weights[most] ? habit : most));
}

/** The head that has most of a habit. */
export function headWithMost(habit: Habit, heads: readonly Pick<Head, "probs">[]): number {
  const weights = heads.map((head) => habitsOf(head)[habit]);
  return weights.reduce((most, weight, head) => (weight > weights[most]! ? head : most), 0);
}
