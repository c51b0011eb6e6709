import type { PlacedOutput } from "../../attention/attentionResult.js";
import type { RotaryProblem } from "../../position/rotaryProblem.js";
import { anglePairs } from "./angles.js";
import type { Call, Deliver } from "../call/call.js";
import { FLAT_WORKGROUP, flatKernel, narrowStep } from "../plan/flatKernels.js";
import { divideUp } from "../plan/limits.js";
import { outputRoom, writeOutput } from "./output.js";
import { placeWide } from "./pack.js";
import { stridesOf } from "../plan/strides.js";

export function recordRotary(call: Call, problem: RotaryProblem): Deliver<PlacedOutput> {
  const { layout, heads, x, angles, output, location } = problem;
  const { batchSize, numHeads, length, headDim } = heads;
  const count = batchSize * numHeads * length * headDim;
  const narrow = narrowStep(output.dtype, count);
  const y = outputRoom(call, output, count, narrow, location);
  const { batch, head, position, feature } = stridesOf(layout, numHeads, length, headDim);
  const rotaryDim = angles.rotaryDim || headDim;
  const sizes = [numHeads, length, headDim, rotaryDim, Number(angles.interleaved), count];
  const workgroups = divideUp(count, FLAT_WORKGROUP);
  call.dispatch(flatKernel("rotary"), workgroups, {
    0: call.numbers([batch, head, position, feature, ...sizes], workgroups),
    1: placeWide(call, x, count),
    2: call.table(anglePairs(angles, headDim, problem.positions)),
    3: y,
  });
  return writeOutput(call, output, y, count, narrow, location);
}
