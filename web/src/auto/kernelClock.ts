/** Browsers round the GPU's timestamps to a step of at most so many seconds. */
const COARSE_STEP = 1e-4;

/** The steps of browsers, in nanoseconds: 100 µs, and Dawn's 2¹⁶ ns. */
const STEPS = [100_000, 65_536];

const RUNS = 4;

/** After so many seconds there are no more runs: a slow GPU tells as much in one. */
const ENOUGH_SECONDS = 0.01;

/** Rounded times count when their sum has so many steps: then its error is about a tenth. */
const ENOUGH_STEPS = 8;

/** Whether a time could be a whole number of steps. */
const isRounded = (seconds: number) => STEPS.some((step) => Math.round(1e9 * seconds) % step === 0);

/** The mean seconds of some runs, by the GPU's clock. Undefined if it has none, or if it is too coarse for them. */
export async function kernelSecondsOf(run: () => Promise<number | undefined>): Promise<number | undefined> {
  const times: number[] = [];
  let sum = 0;
  while (times.length < RUNS && sum < ENOUGH_SECONDS) {
    const seconds = await run();
    if (seconds === undefined) return undefined;
    times.push(seconds);
    sum += seconds;
  }
  const least = times.every(isRounded) ? ENOUGH_STEPS * COARSE_STEP : 0;
  return sum > least ? sum / times.length : undefined;
}
