import type { ForwardProblem } from "../../layer/forwardProblem.js";
import type { IsToken } from "../attention/chosenRows.js";
import { patchRows } from "../attention/patchRows.js";
import type { Rows } from "../cache/storeRows.js";
import type { Call } from "../call/call.js";
import { ROLES, type OfRoles } from "./roles.js";

/** Overwrites rows of the projected queries, keys and values. */
export function patchHeads(
  call: Call,
  { shape, contextLength, patches = {} }: ForwardProblem,
  heads: Partial<OfRoles<Rows>>,
  isToken: OfRoles<IsToken>,
): void {
  const { batchSize, numHeads, numKvHeads, queryLength, headDim, valueDim } = shape;
  const extents = {
    query: [batchSize, numHeads, queryLength, headDim],
    key: [batchSize, numKvHeads, contextLength, headDim],
    value: [batchSize, numKvHeads, contextLength, valueDim],
  } as const;
  for (const role of ROLES) {
    const patch = patches[role];
    if (patch) patchRows(call, role, patch, { ...heads[role]!, extents: extents[role] }, isToken[role]);
  }
}
