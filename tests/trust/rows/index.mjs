// All rows of the table, in its order.
//
// A row is an object: `name`, `what` it is about and the `goal` (both go into the table), `minutes` as a budget for
// { quick, whole }, and `measure({ isQuick, seed, folder })`, which resolves to { verdict: "held" | "failed" |
// "skipped", figure: what goes into the table, isLate?: above the goal of time, without?: the part of the goal that could not
// be measured here, numbers?: everything measured }. `folder` is empty and the row's own.
// A row that cannot be measured here (no such browser, no compiler) resolves to "skipped" and says why.

import { allocation } from "./allocation.mjs";
import { badInput } from "./badInput.mjs";
import { concurrency } from "./concurrency.mjs";
import { coverage } from "./coverage.mjs";
import { crash } from "./crash.mjs";
import { determinism } from "./determinism.mjs";
import { engines } from "./engines.mjs";
import { fuzz } from "./fuzz.mjs";
import { gpuFaults } from "./gpuFaults.mjs";
import { isolation } from "./isolation.mjs";
import { precision } from "./precision.mjs";
import { sanitizers } from "./sanitizers.mjs";
import { sizeArithmetic } from "./sizeArithmetic.mjs";
import { soak } from "./soak.mjs";
import { supply } from "./supply.mjs";

/** @type {readonly object[]} */
export const rows = [
  sanitizers,
  fuzz,
  badInput,
  allocation,
  gpuFaults,
  sizeArithmetic,
  soak,
  concurrency,
  engines,
  crash,
  determinism,
  precision,
  isolation,
  supply,
  coverage,
];
