import { here } from "../turn/late.js";
import type { InstanceParts } from "./parts.js";
import * as formulas from "./parts/formulas.js";
import * as holders from "./parts/holders.js";
import * as plans from "./parts/plans.js";
import * as steps from "./parts/steps.js";
import * as readers from "./parts/readers.js";

/** The code of an instance, for an entry that loads no parts and brings formulas. It leaves out what WebAssembly runs. */
export const instanceHere: InstanceParts = {
  formulas: here(formulas),
  layers: here(holders),
  operations: here(readers),
  plans: here(plans),
  steps: here(steps),
};
