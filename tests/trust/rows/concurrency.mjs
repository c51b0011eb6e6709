// Many calls at the same time on one instance, disturbed in every way that a caller may.

import { WAIT_MILLISECONDS } from "../../hangLimits.mjs";
import { RIGHT } from "../concurrency/storm.mjs";
import { browsers } from "../pages.mjs";
import { reportOf } from "../programs.mjs";

const PROGRAM = "tests/trust/concurrency/node.mjs";
const PAGE = "tests/trust/concurrency/page.html";

/** Where a storm runs: its name, how it is run, and why it cannot be run here. */
const places = (folder, options) => {
  const text = JSON.stringify(options);
  const inPage = (browser, entry) => ({
    name: `${browser}, ${entry.includes("worker") ? "worker" : "instance"}`,
    isMissing: browsers[browser].missing(),
    run: async () => (await browsers[browser].open(`${PAGE}?${entry}&${encodeURIComponent(text)}`)).outcome,
  });
  const inNode = (entry) => ({
    name: `Node, ${entry.includes("worker") ? "worker" : "instance"}`,
    run: () => reportOf(folder, entry.replace("/", "-"), PROGRAM, [entry, text], 30),
  });
  return [
    inNode("headwise"),
    inNode("headwise/worker"),
    ...Object.keys(browsers).flatMap((browser) =>
      ["/dist/index.js", "/dist/worker.js"].map((entry) => inPage(browser, entry)),
    ),
  ];
};

async function outcomeAt({ name, isMissing, run }) {
  if (isMissing) return { name, isHeld: true, text: `${name}: not measured (${isMissing})` };
  const { calls, endings, unhandled, report } = await run();
  const bad = [...Object.keys(endings).filter((ending) => !RIGHT.includes(ending)), ...unhandled];
  const count = (code) => endings[code] ?? 0;
  const text =
    `${name}: ${calls.toLocaleString("en")} calls, ${count("right")} right, ${count("AbortError")} aborted, ` +
    `${count("DISPOSED")} disposed, ${count("DETACHED_INPUT")} with transferred arrays` +
    (bad.length > 0 ? `, **${bad.slice(0, 3).join("; ")}**` : "");
  return { name, isHeld: bad.length === 0, calls, text, endings, unhandled, report };
}

/** What holds in one line; what does not, or was not measured, in full. */
function figureOf(outcomes) {
  const measured = outcomes.filter(({ calls, isHeld }) => calls !== undefined && isHeld);
  const calls = measured.reduce((sum, each) => sum + each.calls, 0);
  const others = outcomes.filter((each) => !measured.includes(each)).map(({ text }) => text);
  const places = measured.map(({ name }) => name).join("; ");
  return [`${calls} calls settled, values and errors right (${places})`, ...others].join("; ");
}

export const concurrency = {
  name: "concurrency",
  what: "64 overlapping calls with random aborts, disposals and transfers, in Node, Chromium, Firefox and WebKitGTK",
  goal: "every promise settles; every value is right to the last bit, every rejection typed",
  minutes: { quick: 0.7, whole: 2 },
  async measure({ isQuick, seed, folder }) {
    // A step that hangs is named before the wait for the page ends.
    const options = { seed, rounds: isQuick ? 2 : 40, threads: 2, hangs: WAIT_MILLISECONDS / 2 };
    const outcomes = [];
    for (const place of places(folder, options)) outcomes.push(await outcomeAt(place));
    return {
      verdict: outcomes.every(({ isHeld }) => isHeld) ? "held" : "failed",
      figure: figureOf(outcomes),
      numbers: outcomes,
    };
  },
};
