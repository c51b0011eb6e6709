import * as placed from "../auto/placed.js";
import { here } from "../turn/late.js";
import * as runners from "../wasm/runners.js";
import type { EngineParts } from "./parts.js";
import * as auto from "./parts/auto.js";

/** The code of engines, for the script of a worker, which loads no parts. */
export const enginesHere: EngineParts = { operations: here({ ...runners, ...placed }), auto: here(auto) };
