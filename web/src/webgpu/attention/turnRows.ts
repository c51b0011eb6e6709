import type { CheckedAngles } from "../../position/rotaryAngles.js";
import { anglePairs, sectionPairs } from "./angles.js";
import type { Call, Span } from "../call/call.js";
import { FLAT_WORKGROUP, flatKernel } from "../plan/flatKernels.js";
import { divideUp } from "../plan/limits.js";
import { stridesOf } from "../plan/strides.js";

/**
 * Rotary embedding of heads on the GPU, [B, H, S, width] in `layout`, with the width padded to whole vec4.
 *
 * @param planes - The positions, `[B, S]`: one plane, or three with sections.
 * @param turned - Where to write them. Default: new scratch.
 */
export function turnRows(
  call: Call,
  heads: Span,
  angles: CheckedAngles,
  headDim: number,
  layout: "BHSD" | "BSHD",
  [batchSize, count, length]: readonly [number, number, number],
  planes: readonly Float64Array[],
  turned?: Span,
): Span {
  const width = 4 * divideUp(headDim, 4);
  const { batch, head, position, feature } = stridesOf(layout, count, length, width);
  const total = batchSize * length * count * width;
  const target = turned ?? call.room(4 * total);
  const rotaryDim = angles.rotaryDim || headDim;
  const workgroups = divideUp(total, FLAT_WORKGROUP);
  const sizes = [count, length, width, rotaryDim, Number(angles.interleaved), total];
  call.dispatch(flatKernel("rotary"), workgroups, {
    0: call.numbers([batch, head, position, feature, ...sizes], workgroups),
    1: heads,
    2: call.table(planes.length > 1 ? sectionPairs(angles, headDim, planes) : anglePairs(angles, headDim, planes[0]!)),
    3: target,
  });
  return target;
}
