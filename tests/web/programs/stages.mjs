// node stages.mjs MINUTES STAGE…: runs stages of these kinds on a busy machine, with a watchdog of MINUTES. Prints what
// `npm test` prints about them, and all counts. With SLOTS in the environment so many run beside each other; with LOGS what
// they print goes to files in that folder.
import { setTimeout as sleep } from "node:timers/promises";

import { burnAllCores } from "../../../web/build/busy.mjs";
import { nothing, sentence } from "../../../web/build/counts.mjs";
import { ended, start, useGroups } from "../../../web/build/run.mjs";
import { runStage, runStages } from "../../../web/build/stages.mjs";

const ENDLESS = "setInterval(() => {}, 1000);";
/** A program that starts another one. Both keep the output of this process open. */
const FAMILY = `require("node:child_process").spawn(process.execPath, ["-e", "${ENDLESS}"], { stdio: "inherit" }); ${ENDLESS}`;

const endless = async () => {
  const child = start(process.execPath, ["-e", FAMILY], { stdio: "inherit" });
  console.log("it runs");
  await ended(child);
  throw new Error("a program was ended");
};
const printing = (text, counts) => async () => {
  await ended(start(process.execPath, ["-e", `console.log("${text}")`], { stdio: "inherit" }));
  return { ...nothing, ...counts };
};
let arrive;
const other = new Promise((resolve) => (arrive = resolve));

const kinds = {
  "waits for another": { minutes: 1, run: () => other.then(() => ({ ...nothing, passed: 1 })) },
  another: { minutes: 1, run: async () => (arrive(), { ...nothing, passed: 1 }) },
  "prints and passes": { minutes: 1, run: printing("all is well", { passed: 1 }) },
  "prints and fails": { minutes: 1, run: printing("something is wrong", { failed: 1 }) },
  "follows another": { minutes: 1, after: "another", run: async () => ({ ...nothing, passed: 1 }) },
  passes: { minutes: 1, run: async () => ({ ...nothing, passed: 1 }) },
  "takes long": { minutes: 0, hangsAfter: 1, run: () => sleep(5, { ...nothing, passed: 1 }) },
  hangs: { minutes: 0, hangsAfter: 0.001, run: endless },
  "does not end": { minutes: 1, run: endless },
  waits: { minutes: 1, run: () => new Promise(() => console.log("it runs")) },
  fails: { minutes: 1, run: () => Promise.reject(new Error("no compiler")), isNeeded: true },
};

const [watchdogMinutes, ...names] = process.argv.slice(2);
useGroups();
burnAllCores();
const total = await runStages(
  names.map((name) => ({ name, ...kinds[name] })),
  {
    watchdogMinutes: Number(watchdogMinutes),
    slots: Number(process.env.SLOTS ?? 1),
    countsOf: (stage) => runStage(stage, process.env.LOGS),
  },
);
console.log(sentence(total));
process.exit();
