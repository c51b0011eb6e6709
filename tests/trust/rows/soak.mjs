// Long use of one instance, and many instances: nothing grows, and no bit changes.

import { reportOf } from "../programs.mjs";
import { changes, plateau, smallestSeen } from "../soak/plateau.mjs";

const SOAK = "tests/trust/soak/soak.mjs";
const CYCLES = "tests/trust/soak/cycles.mjs";

/** A software GPU needs more calls until its memory stays the same. */
const CALLS = {
  quick: { wasm: { calls: 5_000, warmUp: 1_000 }, gpu: { calls: 1_000, warmUp: 200 }, instances: 100 },
  whole: { wasm: { calls: 1_000_000, warmUp: 200_000 }, gpu: { calls: 30_000, warmUp: 10_000 }, instances: 10_000 },
};

/**
 * So that memory that is free does not move RSS up and down by megabytes: malloc of Linux keeps it in one place instead of
 * one for each thread, and the young generation of V8 keeps its size.
 */
const QUIET = {
  env: { GLIBC_TUNABLES: "glibc.malloc.arena_max=1:glibc.malloc.trim_threshold=131072" },
  flags: ["--min-semi-space-size=1", "--max-semi-space-size=1"],
};

/** And V8 does not compile JavaScript again and again: what it has compiled grows for longer than this run. */
const UNCOMPILED = { ...QUIET, flags: [...QUIET.flags, "--no-opt", "--no-sparkplug"] };

const KB = (bytes) => `${(bytes / 1024).toFixed(0)} KB`;
const thousands = (number) => number.toLocaleString("en");

/** What a report says: the sizes that changed, and the growth of the others. */
function judged({ samples, sampled }) {
  const of = (group, name) => samples.map((sample) => sample[group][name]);
  const changed = Object.keys(samples[0].exact).filter((name) => changes(of("exact", name)) > 0);
  const rough = Object.fromEntries(
    Object.keys(samples[0].rough).map((name) => {
      const found = plateau(of("rough", name));
      return [name, { ...found, smallestSeen: smallestSeen(found, sampled) }];
    }),
  );
  return { changed, rough };
}

const growing = ({ rough }) => Object.entries(rough).filter(([, { growth }]) => growth > 0);

/** One run as a part of the figure. A short run is judged by its exact sizes only: V8 still compiles meanwhile. */
function partOf(what, report, isQuick) {
  if (report.missing) return { isHeld: true, isSkipped: true, text: `${what}: ${report.missing}` };
  const found = judged(report);
  const grown = growing(found);
  const isHeld = report.isSame !== false && found.changed.length === 0 && (isQuick || grown.length === 0);
  const said = [
    report.isSame === false && "**bits changed**",
    found.changed.length > 0 && `**changed: ${found.changed.join(", ")}**`,
    ...grown.map(([name, { growth }]) => `${name} +${KB(growth)}`),
  ].filter(Boolean);
  const text = `${what}: ${said.join(", ") || "0 bytes of growth"}`;
  return { isHeld, text, numbers: { ...report, ...found } };
}

export const soak = {
  name: "soak",
  what: "many mixed calls on one instance, and instances made and disposed",
  goal: "0 bytes of growth in heap, RSS, buffers, threads and listeners; the same bits at the end; 1,000,000 calls with wasm, 30,000 on a software GPU, 10,000 instances",
  minutes: { quick: 0.8, whole: 6 },
  async measure({ isQuick, seed, folder }) {
    const limit = isQuick ? 5 : 60;
    const { wasm, gpu, instances } = isQuick ? CALLS.quick : CALLS.whole;
    const [engine, kind] = isQuick ? ["null", "a GPU that computes nothing"] : ["webgpu", "a software GPU"];
    const runs = [
      ["wasm", `${thousands(wasm.calls)} calls with wasm`, SOAK, ["wasm", wasm.calls, wasm.warmUp, seed], QUIET],
      ["gpu", `${thousands(gpu.calls)} on ${kind}`, SOAK, [engine, gpu.calls, gpu.warmUp, seed], QUIET],
      ["instances", `${thousands(instances)} instances`, CYCLES, [instances], UNCOMPILED],
    ];
    const parts = [];
    for (const [name, what, program, args, more] of runs)
      parts.push(partOf(what, await reportOf(folder, name, program, args, limit, more), isQuick));
    return {
      verdict: parts.every(({ isHeld }) => isHeld) ? "held" : "failed",
      figure: parts.map(({ text }) => text).join("; "),
      numbers: parts.map(({ numbers }) => numbers),
    };
  },
};
