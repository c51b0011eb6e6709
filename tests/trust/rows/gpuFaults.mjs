// Faults of the GPU at every call of its interface and at every awaited step, in every operation.

import path from "node:path";

import { figuresIn, largestOf, sumOf, verdictOf } from "../figures.mjs";
import { generated, jest } from "../programs.mjs";

const LIMITS = { settles: 1000, recovers: 2000 };
/** How many calls of an operation are broken in each way. */
const CALLS = { quick: 1, whole: 6 };
const FILES = ["injectedCalls", "injectedFaults", "faults", "lateErrors"].map((name) => `tests/webgpu/${name}.test.ts`);

export const gpuFaults = {
  name: "gpu-faults",
  what: "a GPU that throws, rejects, refuses, has no memory, is lost or is disposed at every call of its interface and every awaited step of every operation: all promises settle with a typed error, the next call gives the same bits, no buffer is lost",
  goal: "settled in 1 s, recovered in 2 s",
  minutes: { quick: 1, whole: 3 },
  async measure({ isQuick, seed, folder }) {
    const file = path.join(folder, "figures.jsonl");
    const [environment, limits] = generated(CALLS[isQuick ? "quick" : "whole"], seed);
    const steps = isQuick ? {} : { HEADWISE_DEEP: "1" };
    const counts = await jest(folder, FILES, { ...environment, ...steps, HEADWISE_FIGURES: file }, limits);
    const figures = figuresIn(file);
    const [settles, recovers] = Object.keys(LIMITS).map((name) => Math.round(largestOf(figures.get(name))));
    const { verdict, rest } = verdictOf(counts);
    const isLate = settles > LIMITS.settles || recovers > LIMITS.recovers;
    return {
      verdict,
      figure: `${sumOf(figures.get("faults"))} faults: settled in at most ${settles} ms, recovered in at most ${recovers} ms${rest}`,
      isLate,
      numbers: { counts, settles, recovers },
    };
  },
};
