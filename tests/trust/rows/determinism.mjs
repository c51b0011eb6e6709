// The same call gives the same bits: again and again, and with any number of threads.

import { reportOf } from "../programs.mjs";

const PROGRAM = "tests/trust/determinism/determinism.mjs";
/** 1 to 8 threads share so many tokens that each of them has work. */
const LENGTH = 70;

const sum = (counts) => Object.values(counts).reduce((total, count) => total + count, 0);

async function countsOf(folder, variant, runs, length, limit) {
  const { threads, runs: made, different } = await reportOf(folder, variant, PROGRAM, [variant, runs, length], limit);
  const names = Object.keys(made).filter((name) => different[name] > 0);
  return { variant, threads, calls: Object.keys(made).length, runs: sum(made), different: sum(different), names };
}

const textOf = ({ variant, threads, calls, runs, different, names }) => {
  if (runs === 0) return `${variant}: not there`;
  const range = threads.length > 1 ? `, ${threads.at(0)} to ${threads.at(-1)} threads` : "";
  return `${variant}: ${different} of ${runs.toLocaleString("en")} runs of ${calls} calls differ${range}${names.length > 0 ? ` (**${names.join(", ")}**)` : ""}`;
};

export const determinism = {
  name: "determinism",
  what: "the bits of every operation, over runs and numbers of threads, for each variant",
  goal: "the same bits in 1,000 runs of each call with 1 to 8 threads",
  minutes: { quick: 0.5, whole: 4 },
  async measure({ isQuick, folder }) {
    const limit = isQuick ? 5 : 40;
    const runs = isQuick ? 16 : 1000;
    const counts = [];
    for (const variant of ["simd", "relaxed", "inline"])
      counts.push(await countsOf(folder, variant, runs, LENGTH, limit));
    if (!isQuick) counts.push(await countsOf(folder, "webgpu", runs, 9, limit)); // a software GPU compiles for minutes
    return {
      verdict: counts.every(({ different }) => different === 0) ? "held" : "failed",
      figure: counts.map(textOf).join("; "),
      numbers: counts,
    };
  },
};
