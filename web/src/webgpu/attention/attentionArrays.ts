import type { Call, Span } from "../call/call.js";
import { packRows } from "./pack.js";
import { ROW_SECTIONS } from "../plan/plan.js";
import type { PlannedAttention } from "../plan/plannedAttention.js";

/** Sections of the buffer `rows`, as in call.wgsl. */
export const SECTION = { lse: 0, entropy: 1, flags: 4 } as const;

/** A call's arrays on the GPU: the inputs by the binding numbers of call.wgsl, and the rows' statistics. */
export interface Arrays {
  readonly inputs: Readonly<Record<number, Span>>;
  /** Sections of `rowStride` words. */
  readonly rows: Span;
}

/** Brings the inputs of a call to the GPU. */
export function placeArrays(call: Call, planned: PlannedAttention): Arrays {
  const { problem, plan } = planned;
  const { mask, bias } = problem.settings;
  return {
    inputs: {
      1: placeFloats(call, planned, "query"),
      2: placeFloats(call, planned, "key"),
      3: placeFloats(call, planned, "value"),
      ...(mask && { 4: call.place(mask.tensor) }),
      ...(bias && { 5: call.place(bias.tensor) }),
    },
    rows: call.room(4 * ROW_SECTIONS * plan.rowStride),
  };
}

/**
 * Gives an input the form that the kernels read: the array itself, or a copy packed to [B, H, S, width] with whole
 * vec4.
 */
function placeFloats(call: Call, { problem, plan, strides }: PlannedAttention, name: "query" | "key" | "value"): Span {
  const tensor = problem[name];
  const span = call.place(tensor);
  const { given, extents } = strides[name];
  return plan.packed[name] ? packRows(call, span, tensor.dtype, given, extents) : span;
}

/** One number of each row, [B, Hq, Sq]. */
export function rowSection({ rows }: Arrays, { problem, plan }: PlannedAttention, section: number): Span {
  const { batchSize, numHeads, queryLength } = problem.shape;
  const bytes = 4 * batchSize * numHeads * queryLength;
  return { buffer: rows.buffer, offset: rows.offset + 4 * section * plan.rowStride, bytes };
}
