import * as placed from "../auto/placing.js";
import { here } from "../turn/late.js";
import * as makers from "../wasm/makers.js";
import * as runners from "../wasm/runners.js";
import type { EngineParts } from "./parts.js";
import * as auto from "./parts/auto.js";

/** The code of engines, for the script of a worker in Node, which is one file. */
export const enginesHere: EngineParts = {
  layers: here(makers),
  operations: here(runners),
  placed: here(placed),
  auto: here(auto),
};
