// Some of the mutants of each area, always the same ones for a seed.

import { randomNumbers } from "../calls.mjs";

/**
 * Chooses `count` mutants, as many of each area as possible.
 *
 * @template T
 * @param {Map<string, T[]>} mutants - of each area
 * @param {number} count - of all areas together
 * @param {number} seed
 * @returns {T[]}
 */
export function sampleOf(mutants, count, seed) {
  const random = randomNumbers(seed);
  const shuffled = [...mutants.values()].map((ofArea) =>
    ofArea
      .map((mutant) => [random(), mutant])
      .sort(([a], [b]) => a - b)
      .map(([, mutant]) => mutant),
  );
  const chosen = [];
  for (let turn = 0; chosen.length < count && shuffled.some((ofArea) => turn < ofArea.length); ++turn)
    chosen.push(...shuffled.flatMap((ofArea) => ofArea.slice(turn, turn + 1)));
  return chosen.slice(0, count);
}
