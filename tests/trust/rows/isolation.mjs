// NaN and infinities in everything that is hidden.

import { onBothEngines } from "../bothEngines.mjs";

const CALLS = { quick: { wasm: 100, webgpu: 10 }, whole: { wasm: 2_500, webgpu: 60 } };

const FILES = {
  wasm: ["tests/web/isolation.test.ts", "tests/web/backwardIsolation.test.ts"],
  webgpu: ["tests/webgpu/isolation.test.ts"],
};

const figureOf = ({ calls, failed, rest }) =>
  `${calls.wasm} random calls per test on wasm, ${calls.webgpu} on WebGPU: ${failed} tests with a changed bit${rest}`;

export const isolation = {
  name: "isolation",
  what: "NaN and infinities in every hidden key, value, bias, query, row and token of random calls, caches, layers, recorded steps and gradients, on both engines",
  goal: "0 bits changed",
  minutes: { quick: 0.5, whole: 6.5 },
  measure: onBothEngines(FILES, CALLS, figureOf),
};
