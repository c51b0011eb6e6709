// Runs stages one after another and adds up their counts. A stage over its budget gives a warning. A stage that takes
// three times its budget hangs: it is ended and has failed. All stages are ended after 86 minutes, before CI
// would end them without a message, after 90.

import { add, nothing, oneFailed, sentence } from "./counts.mjs";
import { endGroups, say } from "./run.mjs";

/** A stage hangs after this many times its budget. */
const HANGS_AFTER = 3;
export const WATCHDOG_MINUTES = 86;
const MINUTE = 60_000;

/**
 * @typedef {object} Stage
 * @property {string} name
 * @property {number} minutes - its budget: a little more than its time on a quiet machine with two cores
 * @property {number} [hangsAfter] - minutes after which it is ended
 * @property {() => Promise<{ passed: number, failed: number, skipped: number }>} run
 * @property {boolean} [isNeeded] - later stages cannot run without it
 */

/**
 * @param {Stage[]} stages
 * @param {object} options
 * @param {(stage: Stage) => ReturnType<Stage["run"]>} [options.countsOf] - runs a stage
 * @param {number} [options.watchdogMinutes]
 */
export async function runStages(stages, { countsOf = runStage, watchdogMinutes = WATCHDOG_MINUTES } = {}) {
  let total = nothing;
  let current;
  let isOver = false;
  const all = async () => {
    for (const stage of stages) {
      current = stage.name;
      const counts = await countsOf(stage);
      if (isOver) return;
      total = add(total, counts);
      if (stage.isNeeded && counts.failed > 0) return;
    }
  };
  try {
    await within(watchdogMinutes, `ended by the watchdog over all stages after ${watchdogMinutes} min`, all);
  } catch (error) {
    isOver = true;
    say(`${current}: ${error.message}`);
    total = add(total, oneFailed);
  }
  return total;
}

/** Runs a stage and returns its counts: one failure if it throws or hangs. */
export async function runStage({ name, minutes, hangsAfter = HANGS_AFTER * minutes, run }) {
  console.log(`\n=== ${name} (budget ${minutes} min)`);
  const started = Date.now();
  let counts;
  try {
    counts = await within(hangsAfter, `hung, ended after ${hangsAfter} min`, run);
  } catch (error) {
    say(`${name}: ${error.message}`);
    counts = oneFailed;
  }
  const taken = (Date.now() - started) / MINUTE;
  console.log(`=== ${name}: ${sentence(counts)}, ${taken.toFixed(1)} min`);
  if (taken > minutes) console.log(`=== ${name}: WARNING: it took longer than its budget of ${minutes} min`);
  return counts;
}

/** Returns the result of `work`. If it fails or takes longer, all programs that it started are ended. */
async function within(minutes, verdict, work) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(verdict)), minutes * MINUTE);
  });
  try {
    return await Promise.race([work(), late]);
  } catch (error) {
    endGroups();
    throw error;
  } finally {
    clearTimeout(timer);
  }
}
