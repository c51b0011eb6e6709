// Runs stages, some at a time, and adds up their counts. A stage over its budget gives a warning. A stage that takes three
// times its budget hangs: it is ended and has failed. All stages are ended after 86 minutes, before CI would end them
// without a message, after 90.

import { closeSync, mkdirSync, openSync, readFileSync } from "node:fs";
import path from "node:path";

import { add, nothing, oneFailed, sentence } from "./counts.mjs";
import { apart, endGroups, say } from "./run.mjs";

/** A stage hangs after this many times its budget. */
const HANGS_AFTER = 3;
export const WATCHDOG_MINUTES = 86;
const MINUTE = 60_000;
/** How often a line says which stages are running. */
const SAY_EVERY = 30_000;
/** Of the output of a failed stage so many lines are printed. The file has all. */
const LAST_LINES = 400;

/**
 * @typedef {object} Stage
 * @property {string} name
 * @property {number} minutes - its budget: a little more than its time on a quiet machine with two cores, beside two others
 * @property {number} [hangsAfter] - minutes after which it is ended
 * @property {() => Promise<{ passed: number, failed: number, skipped: number }>} run
 * @property {boolean} [isNeeded] - runs alone, and later stages cannot run without it
 * @property {string} [after] - the stage that it follows, where that runs too
 */

/**
 * @param {Stage[]} stages
 * @param {object} options
 * @param {(stage: Stage) => ReturnType<Stage["run"]>} [options.countsOf] - runs a stage
 * @param {number} [options.watchdogMinutes]
 * @param {number} [options.slots] - how many stages run beside each other
 */
export async function runStages(
  stages,
  { countsOf = (stage) => runStage(stage), watchdogMinutes = WATCHDOG_MINUTES, slots = 1 } = {},
) {
  let total = nothing;
  let isOver = false;
  const waiting = [...stages];
  const running = new Map();
  const finish = (stage, counts) => {
    running.delete(stage.name);
    if (isOver) return;
    total = add(total, counts);
    if (stage.isNeeded && counts.failed > 0) waiting.length = 0;
  };
  const isPending = (name) => running.has(name) || waiting.some((stage) => stage.name === name);
  const mayStart = (stage) => {
    const isAlone =
      [...running.values()].every(({ stage }) => !stage.isNeeded) && !(stage.isNeeded && running.size > 0);
    return isAlone && !isPending(stage.after);
  };
  const all = async () => {
    while (waiting.length + running.size > 0 && !isOver) {
      const next = running.size < slots ? waiting.find(mayStart) : undefined;
      if (next) {
        waiting.splice(waiting.indexOf(next), 1);
        const done = countsOf(next).then((counts) => finish(next, counts));
        running.set(next.name, { stage: next, done });
      } else await Promise.race([...running.values()].map(({ done }) => done));
    }
  };
  try {
    await within(watchdogMinutes, `ended by the watchdog over all stages after ${watchdogMinutes} min`, all());
  } catch (error) {
    isOver = true;
    for (const name of running.keys()) {
      say(`${name}: ${error.message}`);
      total = add(total, oneFailed);
    }
    endGroups();
  }
  return total;
}

/**
 * Runs a stage and returns its counts: one failure if it throws or hangs.
 *
 * @param {Stage} stage
 * @param {string} [logs] - the folder for its output, which is printed only if the stage fails
 */
export async function runStage({ name, minutes, hangsAfter = HANGS_AFTER * minutes, run }, logs) {
  console.log(`\n=== ${name} (budget ${minutes} min)`);
  const started = Date.now();
  const minutesSince = () => (Date.now() - started) / MINUTE;
  const reminder = logs && setInterval(() => console.log(`    ${name}: ${minutesSince().toFixed(1)} min`), SAY_EVERY);
  const file = logs && logFile(logs, name);
  const log = file && openSync(file, "w");
  const { done, end } = apart(run, log);
  let counts;
  try {
    counts = await within(hangsAfter, `hung, ended after ${hangsAfter} min`, done);
  } catch (error) {
    end();
    say(`${name}: ${error.message}`);
    counts = oneFailed;
  }
  clearInterval(reminder);
  if (log !== undefined) closeSync(log);
  if (file && counts.failed > 0) printEnd(file);
  console.log(`=== ${name}: ${sentence(counts)}, ${minutesSince().toFixed(1)} min`);
  if (minutesSince() > minutes) {
    console.log(`=== ${name}: WARNING: it took longer than its budget of ${minutes} min`);
  }
  return counts;
}

function logFile(folder, name) {
  mkdirSync(folder, { recursive: true });
  return path.join(folder, `${name}.log`);
}

function printEnd(file) {
  const lines = readFileSync(file, "utf8").split("\n");
  if (lines.length > LAST_LINES) console.log(`(the last ${LAST_LINES} of ${lines.length} lines of ${file})`);
  console.log(lines.slice(-LAST_LINES).join("\n"));
}

/** Waits for `done`. Throws if it fails or takes longer. */
async function within(minutes, verdict, done) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(verdict)), minutes * MINUTE);
  });
  done.catch(() => {}); // after the time is over nobody waits for it
  try {
    return await Promise.race([done, late]);
  } finally {
    clearTimeout(timer);
  }
}
