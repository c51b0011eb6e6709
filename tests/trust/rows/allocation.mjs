// Memory that runs out at every request.

import { existsSync, rmSync } from "node:fs";
import path from "node:path";

import { googleTestCounts } from "../../../web/build/counts.mjs";
import { judged } from "../../../web/build/nativeTests.mjs";
import { build } from "../../../web/build/paths.mjs";
import { figuresIn, sumOf, verdictOf } from "../figures.mjs";
import { jest, statusOf } from "../programs.mjs";

async function native(folder) {
  const program = path.join(build, "release/tests/cpp/headwise_tests");
  if (!existsSync(program)) return { passed: 0, failed: 0, skipped: 1 };
  const report = path.join(folder, "native.json");
  rmSync(report, { force: true });
  const status = await statusOf(program, ["--gtest_brief=1", "--gtest_filter=*Memory*", `--gtest_output=json:${report}`]); // oxfmt-ignore
  return judged(googleTestCounts(report), status);
}

export const allocation = {
  name: "allocation",
  what: "memory refused at every request of every operation, alone or with all later ones: a typed error, nothing lost, the next call bit for bit as before",
  goal: "0 failures",
  minutes: { quick: 0.5, whole: 0.5 },
  async measure({ folder }) {
    const figures = path.join(folder, "figures.jsonl");
    const core = await native(folder);
    const engines = await jest(folder, ["tests/web/refusedMemory.test.ts", "tests/webgpu/injectedFaults.test.ts"], { HEADWISE_FIGURES: figures, HEADWISE_DEEP: "1" }, ["-t", "memory"]); // oxfmt-ignore
    const counts = { ...engines, passed: core.passed + engines.passed, failed: core.failed + engines.failed };
    const { verdict } = verdictOf(counts);
    const isBuilt = core.skipped === 0;
    return {
      verdict,
      figure: `${sumOf(figuresIn(figures).get("refusals"))} refusals on wasm and WebGPU, ${isBuilt ? `${core.passed} native tests` : "no native build here"}: ${counts.failed} failed`,
      numbers: { native: core, engines },
    };
  },
};
