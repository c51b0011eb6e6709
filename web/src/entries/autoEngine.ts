// The file dist/auto-engine.js: the script of a worker loads it for `backend: "auto"`. A page has this code in its parts.

export * from "../auto/placed.js";
export { version } from "../engine/version.js";
export { openAuto } from "../instance/openAuto.js";
export { bringFormulas } from "../instance/parts/formulas.js";
