import type { MergeProblem, PlacedMerge } from "../../attention/mergeProblem.js";
import type { Call, Deliver, Span } from "../call/call.js";
import { FLAT_WORKGROUP, flatKernel, narrowStep } from "../plan/flatKernels.js";
import { divideUp } from "../plan/limits.js";
import { outputRoom, writeOutput } from "./output.js";
import { putWide } from "./pack.js";
import { hand } from "./result.js";
import { stridesOf } from "../plan/strides.js";

/** Every part begins at a multiple of this many elements, so that a kernel can write it. */
const PART_ELEMENTS = 64;

/** Lists the commands of a merge. */
export function recordMerge(call: Call, problem: MergeProblem): Deliver<PlacedMerge> {
  const { layout, parts, sinks, location } = problem;
  const { batchSize, numHeads, queryLength, valueDim } = problem.shape;
  const numRows = batchSize * numHeads * queryLength;
  const length = numRows * valueDim;
  const outputs = roomForParts(call, parts.length, length);
  const lses = roomForParts(call, parts.length, numRows);
  parts.forEach(({ output, lse }, n) => {
    putWide(call, output, length, outputs.part(n));
    putWide(call, lse, numRows, lses.part(n));
  });
  const narrow = narrowStep(problem.output.dtype, length);
  const output = outputRoom(call, problem.output, length, narrow, location);
  const lse = call.resultRoom(4 * numRows, location);
  const { batch, head, position, feature } = stridesOf(layout, numHeads, queryLength, valueDim);
  const workgroups = divideUp(length, FLAT_WORKGROUP);
  const sizes = [numRows, valueDim, numHeads, queryLength, parts.length, outputs.stride, lses.stride];
  call.dispatch(flatKernel("merge"), workgroups, {
    0: call.numbers([...sizes, batch, head, position, feature, Number(sinks !== undefined)], workgroups),
    1: outputs.span,
    2: lses.span,
    ...(sinks && { 3: call.table(sinks) }),
    4: output,
    5: lse,
  });
  const deliverOutput = writeOutput(call, problem.output, output, length, narrow, location);
  const deliverLse = hand(call, { ...lse, bytes: 4 * numRows }, problem.lseShape, "float32", location);
  return (mapped) => ({ output: deliverOutput(mapped), lse: deliverLse(mapped) });
}

/** Room for the same array of every part, one after the other. */
function roomForParts(call: Call, count: number, length: number) {
  const stride = Math.max(1, divideUp(length, PART_ELEMENTS)) * PART_ELEMENTS;
  const span = call.room(4 * stride * count);
  const part = (n: number): Span => ({ buffer: span.buffer, offset: span.offset + 4 * stride * n, bytes: 4 * stride });
  return { span, stride, part };
}
