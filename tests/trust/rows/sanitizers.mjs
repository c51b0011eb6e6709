// The tests with sanitizers, natively and as WebAssembly.

import { sentence } from "../../../web/build/counts.mjs";
import { nativeTests, TABLE, THREADED } from "../../../web/build/nativeTests.mjs";
import { checkedWasmTests, sanitizedWasmTests } from "../../../web/build/wasmTests.mjs";
import { checkedPackageTests, sanitizedPackageTests } from "../sanitizers/checkedPackage.mjs";

/** Unlike the stages of `npm test`, these take all random inputs and the whole table of cases. */
process.env.HEADWISE_FEWER ??= "1";

/** `stage` is the stage of `npm test` that does a part of the same. */
const CHECKS = [
  { name: "ASan and UBSan", stage: "asan", run: () => nativeTests("asan") },
  { name: "TSan", stage: "tsan", run: () => nativeTests("tsan", `${THREADED}:${TABLE}`) },
  { name: "wasm SAFE_HEAP and stack checks", run: checkedWasmTests },
  { name: "the same, package", run: checkedPackageTests },
  { name: "wasm ASan and UBSan", run: sanitizedWasmTests },
  { name: "the same, package", run: sanitizedPackageTests },
];

/** A quick run runs nothing. */
async function resultOf({ name, stage, run }, { isQuick, folder }) {
  if (isQuick) return { name, said: stage ? `skipped: stage ${stage} runs a part of it` : "only in a whole run" };
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
