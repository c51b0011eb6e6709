// The C++ tests with sanitizers, natively and as WebAssembly.

import { sentence } from "../../../web/build/counts.mjs";
import { nativeTests, THREADED } from "../../../web/build/nativeTests.mjs";
import { CORE, passedBefore, stageDigest } from "../../../web/build/stamps.mjs";
import { checkedWasmTests } from "../../../web/build/wasmTests.mjs";

/** `stage` is the stage of `npm test` that does the same. */
const CHECKS = [
  { name: "ASan and UBSan", stage: "asan", run: () => nativeTests("asan") },
  { name: "TSan", stage: "tsan", run: () => nativeTests("tsan", THREADED) },
  { name: "wasm SAFE_HEAP and stack checks", run: () => checkedWasmTests("wasm-heap") },
  { name: "wasm ASan and UBSan", run: () => checkedWasmTests("wasm-asan") },
];

/** A check whose stage has passed with these sources takes its counts. A quick run runs nothing. */
async function resultOf({ name, stage, run }, isQuick) {
  const passed = stage && passedBefore(stage, stageDigest(CORE));
  if (passed) return { name, counts: passed, said: sentence(passed) };
  if (isQuick) return { name, said: stage ? `skipped: measured by stage ${stage}` : "only in a whole run" };
  try {
    const counts = await run();
    return { name, counts, said: sentence(counts) };
  } catch (error) {
    return { name, counts: { passed: 0, failed: 1, skipped: 0 }, said: error.message };
  }
}

async function measure({ isQuick }) {
  const results = [];
  for (const check of CHECKS) results.push(await resultOf(check, isQuick));
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
  what: "all C++ tests with checks of memory, undefined behaviour and threads",
  goal: "no error",
  minutes: { quick: 0.1, whole: 11 },
  measure,
};
