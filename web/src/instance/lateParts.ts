import { formulas, late, plans, steps } from "./latePart.js";
import type { Parts } from "./parts.js";

/** Parts that are loaded when a call first needs them. */
export const lateParts: Parts = {
  auto: /* @__PURE__ */ late("auto", () => import("./parts/auto.js")),
  formulas,
  layers: /* @__PURE__ */ late("layers", () => import("./parts/layers.js")),
  operations: /* @__PURE__ */ late("operations", () => import("./parts/operations.js")),
  placed: /* @__PURE__ */ late("placed", () => import("./parts/placed.js")),
  plans,
  steps,
};
