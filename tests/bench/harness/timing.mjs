// Interleaved timing: in every round each contender has a turn. So a disturbance, a warm chip or a slower clock affects
// all contenders.

/** After this time V8 has optimised every hot function in the background. */
const WARM_UP_MILLISECONDS = 500;
/** The length of a turn: calls are repeated until the timer's resolution does not matter. */
const TURN_MILLISECONDS = 40;
/** A contender whose turn takes longer gets fewer turns. */
const MOST_MILLISECONDS = 4000;

/**
 * @param {{ call: () => Promise<unknown> }[]} entries
 * @param {number} rounds
 * @param {() => Promise<void>} betweenRounds
 * @returns {Promise<number[][]>} for each entry the milliseconds of a call, one number for each turn
 */
export async function timeInterleaved(entries, rounds, betweenRounds) {
  const samples = entries.map(() => []);
  const estimates = [];
  for (const entry of entries) {
    estimates.push(await warmUp(entry));
    await breathe();
  }
  for (let round = 0; round < rounds; round++) {
    await betweenRounds();
    for (const [k, entry] of entries.entries()) {
      if (round > 0 && round * estimates[k] > MOST_MILLISECONDS) continue;
      samples[k].push(await turn(entry, Math.ceil(TURN_MILLISECONDS / estimates[k])));
      await breathe();
    }
  }
  return samples;
}

/** Milliseconds of a call. */
async function warmUp({ call }) {
  let calls = 0;
  const start = performance.now();
  do {
    await call();
    calls++;
  } while (performance.now() - start < WARM_UP_MILLISECONDS);
  return (performance.now() - start) / calls;
}

async function turn({ call }, calls) {
  const start = performance.now();
  for (let k = 0; k < calls; k++) await call();
  return (performance.now() - start) / calls;
}

/**
 * Waits a moment: messages between workers arrive, and threads that spin for more work (ONNX Runtime's) go to sleep.
 */
export const breathe = () => new Promise((resolve) => setTimeout(resolve, 20));
