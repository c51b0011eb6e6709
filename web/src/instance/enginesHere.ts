import { here } from "../call/late.js";
import * as runners from "../wasm/runners.js";
import * as auto from "./parts/auto.js";
import type { EngineParts } from "./parts.js";
import * as placed from "./placed.js";

/** The code of engines, for the script of a worker, which loads no parts. */
export const enginesHere: EngineParts = { operations: here({ ...runners, ...placed }), auto: here(auto) };
