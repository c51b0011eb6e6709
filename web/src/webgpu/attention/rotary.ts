import type { PlacedOutput } from "../../attention/attentionResult.js";
import type { RotaryProblem } from "../../position/rotaryProblem.js";
import { anglePairs, frequenciesOf } from "./angles.js";
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
    2: call.table(pairsOf(problem)),
    3: y,
  });
  return writeOutput(call, output, y, count, narrow, location);
}

/** cos and sin of every token, [B, S, pairs, 2], from the caller's tables or computed from the positions. */
function pairsOf({ tables, positions, angles, heads }: RotaryProblem): Float32Array {
  const pairs = (angles.rotaryDim || heads.headDim) / 2;
  if (!tables) return anglePairs(frequenciesOf(angles, heads.headDim), positions);
  const chosen = new Float32Array(2 * pairs * positions.length);
  positions.forEach((row, n) => {
    for (let m = 0; m < pairs; ++m) {
      chosen[2 * (n * pairs + m)] = tables.cos[row * pairs + m]!;
      chosen[2 * (n * pairs + m) + 1] = tables.sin[row * pairs + m]!;
    }
  });
  return chosen;
}
