// node determinism.mjs REPORT VARIANT RUNS LENGTH: makes every call RUNS times, in equal parts on instances of 1 to 8
// threads, and counts the runs whose bits differ from the first. VARIANT is simd, relaxed, inline or webgpu.

import { writeFileSync } from "node:fs";

import * as direct from "headwise";
import { formula } from "headwise/formula";
import * as inline from "headwise/inline";
import { relaxedSimd } from "wasm-feature-detect";

import { bitsOf, makeCalls, sameBits } from "../calls.mjs";
import { openGpu } from "../soak/gpu.mjs";

const [report, variant, count, length] = process.argv.slice(2);
const { quantizeWeight, toFloat16 } = direct;
const functions = { formula, quantizeWeight, toFloat16 };

/** The instances among which the runs are divided: none if the variant does not run here. */
async function openings() {
  if (variant === "inline") return [() => inline.createAttention()];
  if (variant === "relaxed" && !(await relaxedSimd())) return [];
  if (variant !== "webgpu")
    return [1, 2, 3, 4, 5, 6, 7, 8].map(
      (threads) => () => direct.createAttention({ backend: "wasm", variant, threads }),
    );
  const gpu = await openGpu();
  return gpu ? [() => direct.createAttention({ backend: "webgpu", gpu })] : [];
}

const expected = {};
const runs = {};
const different = {};
const threads = [];
const all = await openings();
for (const open of all) {
  const hw = await open();
  threads.push(hw.report.threads);
  const { calls, dispose } = await makeCalls(hw, functions, { heads: 4, length: Number(length), dim: 16 });
  for (const [name, call] of Object.entries(calls))
    for (let run = 0; run < Math.ceil(count / all.length); ++run) {
      const bits = bitsOf(await call());
      expected[name] ??= bits;
      runs[name] = (runs[name] ?? 0) + 1;
      different[name] = (different[name] ?? 0) + (sameBits(bits, expected[name]) ? 0 : 1);
    }
  dispose();
  await hw.dispose();
}
writeFileSync(report, JSON.stringify({ variant, threads, runs, different }));
process.exit(0); // a GPU object keeps the process alive
