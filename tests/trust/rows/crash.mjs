// A worker, a thread or a device ends during a call: every promise settles, with a typed error or the right values.

import { writeFileSync } from "node:fs";
import path from "node:path";

import { WAIT_MILLISECONDS } from "../../hangLimits.mjs";
import { faultyLoader } from "../../web/faultyLoader.mjs";
import { freezeInChromium, playInChromium } from "../crash/page.mjs";
import { browsers } from "../pages.mjs";
import { reportOf } from "../programs.mjs";

const PROGRAM = "tests/trust/crash/node.mjs";
/** Only a promise that does not settle at all fails the row. How long it took is a figure. */
const HANGS = WAIT_MILLISECONDS / 4;

const inNode = (scene) => ({
  name: `Node, ${scene}`,
  async run(folder) {
    const glue = path.join(folder, "faulty.mjs");
    writeFileSync(glue, faultyLoader("node.js"));
    return reportOf(folder, `node ${scene}`, PROGRAM, [scene, HANGS, glue], 20);
  },
});
const inChromium = (scene, play = () => playInChromium(scene, HANGS)) => ({
  name: `Chromium, ${scene}`,
  isMissing: browsers.Chromium.missing(),
  run: play,
});

// In Node a thread that is killed between calls changes nothing: the calling thread computes what is left.
const SCENES = [
  ...["worker killed", "pool thread trapped", "device destroyed"].map(inNode),
  ...["worker killed", "pool thread trapped", "pool thread killed"].map((scene) => inChromium(scene)),
  inChromium("page hidden and frozen", () => freezeInChromium(HANGS)),
  { ...inChromium("device destroyed"), isSlow: true },
];

/** An error of the package has a class and a code; anything else is wrong. */
const isGood = ({ ending }) => ending === "right" || /^[A-Z]\w+ [A-Z_]+$/.test(ending);

async function outcomeOf({ name, isMissing, run }, folder) {
  const { endings, unhandled, missing: what } = isMissing ? { missing: isMissing } : await run(folder);
  if (what) return { name, isHeld: true, text: `${name}: not measured (${what})` };
  const kinds = [...new Set(endings.map(({ ending }) => ending.replace(/^\w+ (?=[A-Z])/, "")))];
  const latest = Math.max(...endings.map(({ milliseconds }) => milliseconds ?? Infinity)); // JSON has no Infinity
  const isHeld = endings.every(isGood) && unhandled.length === 0;
  const text = `${name}: ${isHeld ? kinds.join(", ") : `**${[...kinds, ...unhandled].join(", ")}**`} after ${latest.toFixed(0)} ms`;
  return { name, isHeld, text, latest, endings, unhandled };
}

/** What holds in one line; what does not, or was not measured, in full. */
function figureOf(outcomes) {
  const measured = outcomes.filter(({ latest, isHeld }) => latest !== undefined && isHeld);
  const slowest = measured.reduce((last, each) => (each.latest > last.latest ? each : last), { latest: 0, name: "" });
  const others = outcomes.filter((each) => !measured.includes(each)).map(({ text }) => text);
  const held = `${measured.length} of ${outcomes.length} scenes settled, at most ${slowest.latest.toFixed(0)} ms`;
  return [slowest.name ? `${held} (${slowest.name})` : held, ...others].join("; ");
}

export const crash = {
  name: "crash",
  what: "a worker killed, a pool thread trapped or killed, a page frozen, a GPU device destroyed, during calls",
  goal: "every promise settles within 1 s, with a typed error or the right values",
  minutes: { quick: 0.7, whole: 0.7 },
  async measure({ isQuick, folder }) {
    const outcomes = [];
    for (const scene of SCENES) if (!(isQuick && scene.isSlow)) outcomes.push(await outcomeOf(scene, folder));
    return {
      verdict: outcomes.every(({ isHeld }) => isHeld) ? "held" : "failed",
      figure: figureOf(outcomes),
      numbers: outcomes,
    };
  },
};
