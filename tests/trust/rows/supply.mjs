// Content security policies, and how the package comes to a user.

import { spawnSync } from "node:child_process";

import { sentence } from "../../../web/build/counts.mjs";
import { root } from "../../../web/build/paths.mjs";
import { jest } from "../programs.mjs";

const POLICIES = ["policy", "Trusted Types", "evaluates", "runs nothing on installation", "gives notice", "dry"];

/** How many known vulnerabilities are in what the package and its development need; undefined without a registry. */
function vulnerabilities() {
  const { stdout } = spawnSync("npm", ["audit", "--json"], { cwd: root, encoding: "utf8", timeout: 120_000 });
  try {
    return JSON.parse(stdout).metadata.vulnerabilities.total;
  } catch {
    return undefined;
  }
}

export const supply = {
  name: "supply",
  what: "policies and supply chain",
  goal: "0 violations of `'self' 'wasm-unsafe-eval'` and Trusted Types, no eval, no dependency, audit clean, same bytes",
  minutes: { quick: 0.6, whole: 4 },
  async measure({ isQuick, folder }) {
    const files = [
      "tests/browser/(window|worker)\\.test",
      "tests/web/(entries|workflows)\\.test",
      "tests/package/quick/contents\\.test",
      ...(isQuick ? [] : ["tests/package/(twice/reproducible|matrix/release)\\.test"]),
    ];
    const tests = await jest(folder, files, {}, isQuick ? ["-t", POLICIES.join("|")] : []);
    const found = vulnerabilities();
    const audit = found === undefined ? "audit not reached" : `${found} known vulnerabilities`;
    const isGood = tests.failed === 0 && tests.passed > 0 && (found ?? 0) === 0;
    return {
      verdict: isGood ? "held" : "failed",
      ...(found === undefined && { without: "the audit" }),
      figure: `tests: ${sentence(tests)}; ${audit}; 0 dependencies, 0 install scripts`,
      numbers: { tests, vulnerabilities: found },
    };
  },
};
