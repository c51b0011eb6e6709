// The tests with sanitizers, natively and as WebAssembly.

import { sentence } from "../../../web/build/counts.mjs";
import { nativeTests, THREADED } from "../../../web/build/nativeTests.mjs";
import { CORE, passedBefore, stageDigest } from "../../../web/build/stamps.mjs";
import { checkedWasmTests, sanitizedWasmTests } from "../../../web/build/wasmTests.mjs";
import { checkedPackageTests, sanitizedPackageTests } from "../sanitizers/checkedPackage.mjs";

/** `stage` is the stage of `npm test` that does the same. */
const CHECKS = [
  { name: "ASan and UBSan", stage: "asan", run: () => nativeTests("asan") },
  { name: "TSan", stage: "tsan", run: () => nativeTests("tsan", THREADED) },
  { name: "wasm SAFE_HEAP and stack checks", run: checkedWasmTests },
  { name: "the same, package", run: checkedPackageTests },
  { name: "wasm ASan and UBSan", run: sanitizedWasmTests },
  { name: "the same, package", run: sanitizedPackageTests },
];

/** A check whose stage has passed with these sources takes its counts. A quick run runs nothing. */
async function resultOf({ name, stage, run }, { isQuick, folder }) {
  const passed = stage && passedBefore(stage, stageDigest(CORE));
  if (passed) return { name, counts: passed, said: sentence(passed) };
  if (isQuick) return { name, said: stage ? `skipped: measured by stage ${stage}` : "only in a whole run" };
  try {
    const counts = await run(folder);
    return { name, counts, said: sentence(counts) };
  } catch (error) {
    return { name, counts: { passed: 0, failed: 1, skipped: 0 }, said: error.message };
  }
}

async function measure(options) {
  const results = [];
  for (const check of CHECKS) results.push(await resultOf(check, options));
  const measured = results.filter(({ counts }) => counts);
  const figure = results.map(({ name, said }) => `${name}: ${said}`).join("; ");
  if (measured.length === 0) return { verdict: "skipped", figure };
  const holds = measured.every(({ counts }) => counts.failed === 0 && counts.passed > 0);
  return {
    verdict: holds ? "held" : "failed",
    figure,
    numbers: Object.fromEntries(measured.map(({ name, counts }) => [name, counts])),
  };
}

export const sanitizers = {
  name: "sanitizers",
  what: "tests with checks of memory, undefined behaviour and threads, natively and as WebAssembly",
  goal: "no error",
  minutes: { quick: 0.1, whole: 17.5 },
  measure,
};
