// Jest's transform of TypeScript. A module in Jest's sandbox finds a global such as Math by asking the sandbox each time, which
// takes longer than to compute a sine. So each module first looks up those that the numbers of tests need.

import { createTransformer } from "@swc/jest";

const GLOBALS = [
  "Math",
  "Number",
  "Array",
  "Object",
  "Float32Array",
  "Float64Array",
  "Int32Array",
  "Uint8Array",
  "Uint32Array",
  "Infinity",
  "NaN",
  "Map",
  "Set",
  "JSON",
  "String",
  "Error",
  "Promise",
];

const swc = createTransformer({
  jsc: { parser: { syntax: "typescript" }, target: "es2022", experimental: { keepImportAttributes: true } },
  module: { type: "es6" },
  sourceMaps: "inline",
});

/** Stands on the first line, so that the numbers of lines stay. */
const LOOKED_UP = `const { ${GLOBALS.join(", ")} } = globalThis; `;

const withGlobals = (transformed) => ({ ...transformed, code: LOOKED_UP + transformed.code });

export default {
  ...swc,
  process: (...args) => withGlobals(swc.process(...args)),
  processAsync: async (...args) => withGlobals(await swc.processAsync(...args)),
  getCacheKey: (...args) => `${swc.getCacheKey(...args)}-${GLOBALS.length}`,
};
