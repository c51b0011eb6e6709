import type { MergeProblem, PlacedMerge } from "../attention/mergeProblem.js";
import { asArray, type Call, type Deliver } from "./call.js";
import { writeOutput } from "./output.js";
import { FLAT_WORKGROUP } from "./flatKernels.js";
import { flatKernel, narrowStep } from "./flatKernels.js";
import { divideUp } from "./limits.js";
import { stridesOf } from "./strides.js";
import { widen } from "./widen.js";

export function recordMerge(call: Call, problem: MergeProblem): Deliver<PlacedMerge> {
  const { operation, layout, parts, sinks } = problem;
  const { batchSize, numHeads, queryLength, valueDim } = problem.shape;
  const numRows = batchSize * numHeads * queryLength;
  const length = numRows * valueDim;
  const outputs = call.room(4 * length * parts.length);
  const lses = call.room(4 * numRows * parts.length);
  parts.forEach(({ output, lse }, n) => {
    call.write(outputs, 4 * length * n, widen(operation, output.data));
    call.write(lses, 4 * numRows * n, lse.data);
  });
  const output = call.room(4 * length);
  const lse = call.room(4 * numRows);
  const { batch, head, position, feature } = stridesOf(layout, numHeads, queryLength, valueDim);
  const workgroups = divideUp(length, FLAT_WORKGROUP);
  const numbers = [numRows, valueDim, numHeads, queryLength, parts.length, length, batch, head, position, feature];
  call.dispatch(flatKernel("merge"), workgroups, {
    0: call.numbers([...numbers, Number(sinks !== undefined)], workgroups),
    1: outputs,
    2: lses,
    ...(sinks && { 3: call.table(sinks) }),
    4: output,
    5: lse,
  });
  const readOutput = writeOutput(call, problem.output, output, length, narrowStep(problem.output.dtype, length));
  const readLse = call.read({ ...lse, bytes: 4 * numRows });
  return (mapped) => ({
    output: readOutput(mapped),
    lse: { data: asArray("float32", readLse(mapped)), shape: [...problem.lseShape], dtype: "float32" },
  });
}
