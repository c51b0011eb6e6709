// The file dist/auto-engine.js: the script of a worker loads it for `backend: "auto"`, and gives it what reads
// formulas. A page has this code in its parts.

export { formulaReading } from "../attention/formulaReading.js";
export * from "../auto/placing.js";
export { version } from "../engine/version.js";
export { openAuto } from "../instance/openAuto.js";
