import { formulas, late, plans, steps } from "../instance/latePart.js";
import type { InstanceParts } from "../instance/parts.js";

/** Parts of an instance whose engine is in a worker: they have no code of engines. */
export const lateParts: InstanceParts = {
  formulas,
  layers: /* @__PURE__ */ late("layers", () => import("../instance/parts/holders.js")),
  operations: /* @__PURE__ */ late("operations", () => import("../instance/parts/readers.js")),
  plans,
  steps,
};
