/** A measurement counts when so many steps of the clock have passed: then its error is a twentieth at most. */
const ENOUGH_STEPS = 20;

/** With coarser steps than this, in seconds, nothing is measured: it would block the page too long. */
export const COARSEST_STEP = 0.005;

/** A clock that does not change within so many reads is coarser than that. A read takes 30 to 100 ns. */
const MOST_READS = 200_000;

/** Most runs of one measurement. */
const MOST_RUNS = 64;

/**
 * The step of a clock in seconds: browsers round their clocks to 5 µs, 100 µs or 1 ms, some to 16.7 or 100 ms. Infinity if
 * the clock stands still while it is read.
 */
export function stepOf(seconds: () => number): number {
  let step = Infinity;
  let before = seconds();
  let changes = 0;
  for (let read = 0; read < MOST_READS && changes < 4; ++read) {
    const now = seconds();
    if (now === before) continue;
    // The first change ends a step that had begun before.
    if (changes > 0) step = Math.min(step, now - before);
    before = now;
    ++changes;
  }
  return step;
}

/** Seconds of one run, from as many runs as a clock with this step needs. */
export async function secondsOfRun(run: () => Promise<number>, step: number): Promise<number> {
  let sum = 0;
  let runs = 0;
  do {
    sum += await run();
    ++runs;
  } while (sum < ENOUGH_STEPS * step && runs < MOST_RUNS);
  return Math.max(sum, step / 2) / runs;
}

/** The seconds that a measurement takes on a clock with this step, at least. */
export const leastMeasured = (step: number): number => ENOUGH_STEPS * step;
