// How many tests passed, failed and were skipped, from the reports of the two test runners and of `npm run trust`.

import { existsSync, readFileSync } from "node:fs";

export const nothing = { passed: 0, failed: 0, skipped: 0 };
export const oneFailed = { ...nothing, failed: 1 };

export const add = (a, b) => ({
  passed: a.passed + b.passed,
  failed: a.failed + b.failed,
  skipped: a.skipped + b.skipped,
});

export const sentence = ({ passed, failed, skipped }) => `${passed} passed, ${failed} failed, ${skipped} skipped`;

/** Reads a report. A runner without a report has crashed, which counts as one failure. */
function read(report) {
  if (!existsSync(report)) throw new Error(`no report: the tests ended before they were through`);
  return JSON.parse(readFileSync(report, "utf8"));
}

export function googleTestCounts(report) {
  const tests = read(report).testsuites.flatMap(({ testsuite }) => testsuite);
  const verdict = ({ failures, result, status }) => {
    if (failures) return "failed";
    return status === "NOTRUN" || result === "SKIPPED" ? "skipped" : "passed";
  };
  return tests.reduce((counts, test) => add(counts, { ...nothing, [verdict(test)]: 1 }), nothing);
}

export function jestCounts(report) {
  const { numPassedTests, numFailedTests, numPendingTests, numTodoTests, numRuntimeErrorTestSuites } = read(report);
  return {
    passed: numPassedTests,
    failed: numFailedTests + numRuntimeErrorTestSuites, // the tests of a file that could not be loaded are not counted
    skipped: numPendingTests + numTodoTests,
  };
}

/** How a row of `npm run trust` counts, by its verdict. */
export const VERDICTS = { held: { ...nothing, passed: 1 }, failed: oneFailed, skipped: { ...nothing, skipped: 1 } };

export function trustCounts(report) {
  return read(report)
    .results.map(({ verdict }) => VERDICTS[verdict])
    .reduce(add, nothing);
}
