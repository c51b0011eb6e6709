// Runs stages one after another and adds up their counts. A budget only warns. What hangs is ended and has failed: a stage
// after three times its budget, the whole after 80 minutes, ten before CI would end it without a word.

import { add, nothing, oneFailed, sentence } from "./counts.mjs";
import { endGroups, say } from "./run.mjs";

/** Of a stage's budget. */
const HANGS_AFTER = 3;
export const WATCHDOG_MINUTES = 80;
const MINUTE = 60_000;

/**
 * @typedef {object} Stage
 * @property {string} name
 * @property {number} minutes - its budget: at least twice what it takes on a quiet machine of two cores
 * @property {number} [hangsAfter] - minutes after which it is ended
 * @property {() => Promise<import("./counts.mjs").Counts>} run
 * @property {boolean} [isNeeded] - what comes after it cannot run without it
 */

/**
 * @param {Stage[]} stages
 * @param {{ countsOf?: (stage: Stage) => Promise<object>, watchdogMinutes?: number }} options - how a stage is run
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
    await within(watchdogMinutes, all);
  } catch (error) {
    isOver = true;
    say(`${current}: the watchdog over all stages: ${error.message}`);
    total = add(total, oneFailed);
  }
  return total;
}

/** The counts of a stage: one failure if it throws or hangs. */
export async function runStage({ name, minutes, hangsAfter = HANGS_AFTER * minutes, run }) {
  console.log(`\n=== ${name} (budget ${minutes} min)`);
  const started = Date.now();
  let counts;
  try {
    counts = await within(hangsAfter, run);
  } catch (error) {
    say(`${name}: ${error.message}`);
    counts = oneFailed;
  }
  const taken = (Date.now() - started) / MINUTE;
  console.log(`=== ${name}: ${sentence(counts)}, ${taken.toFixed(1)} min`);
  if (taken > minutes) console.log(`=== ${name}: WARNING: it took longer than its budget of ${minutes} min`);
  return counts;
}

/** What the work gives. If it fails or takes longer, all programs that it started are ended. */
async function within(minutes, work) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`it hung: ended after ${minutes} min`)), minutes * MINUTE);
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
