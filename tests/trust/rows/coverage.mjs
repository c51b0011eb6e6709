// How much of the sources the tests run: lines and branches, of C++ and of TypeScript.

import { cppCoverage } from "../coverage/cpp.mjs";
import { typescriptCoverage } from "../coverage/typescript.mjs";

const GOAL = { lines: 95, branches: 90 };
const LEAST_COVERED = 10;

const percent = ({ covered, total }) => (100 * covered) / total;
const said = (language, { lines, branches }) =>
  `${language}: ${percent(lines).toFixed(1)} % of lines, ${percent(branches).toFixed(1)} % of branches`;
const reached = ({ lines, branches }) => percent(lines) >= GOAL.lines && percent(branches) >= GOAL.branches;

/** Files with the most lines that no test runs. */
function printLeastCovered(language, { files }) {
  const missing = ({ lines }) => lines.total - lines.covered;
  console.log(`\n${language}, files with the most lines that no test runs:`);
  for (const file of [...files].sort((a, b) => missing(b) - missing(a)).slice(0, LEAST_COVERED))
    console.log(`${String(missing(file)).padStart(5)} of ${String(file.lines.total).padEnd(5)} ${file.name}`);
}

async function measure({ isQuick, folder }) {
  if (isQuick) return { verdict: "skipped", figure: "only in a whole run: it runs all tests again" };
  const measured = { "C++": await cppCoverage(folder), TypeScript: await typescriptCoverage(folder) };
  for (const [language, coverage] of Object.entries(measured)) printLeastCovered(language, coverage);
  const all = Object.values(measured);
  return {
    verdict: all.every(reached) ? "held" : "failed",
    figure: Object.entries(measured)
      .map(([language, coverage]) => said(language, coverage))
      .join("; "),
    numbers: { goal: GOAL, ...measured },
  };
}

export const coverage = {
  name: "coverage",
  what: "sources that the tests run",
  goal: `at least ${GOAL.lines} % of lines and ${GOAL.branches} % of branches`,
  minutes: { quick: 0.1, whole: 18 },
  measure,
};
