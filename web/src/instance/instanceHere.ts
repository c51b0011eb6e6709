import { here } from "../call/late.js";
import * as plans from "./parts/plans.js";
import * as steps from "./parts/steps.js";
import type { InstanceParts } from "./parts.js";
import * as readers from "./readers.js";

/** The code of an instance, for an entry that loads no parts. It leaves out what WebAssembly runs. */
export const instanceHere: InstanceParts = { operations: here(readers), plans: here(plans), steps: here(steps) };
