import type { Call, Span } from "./call.js";
import type { FloatDtype } from "./kernel.js";
import { FLAT_WORKGROUP } from "./flatKernels.js";
import { flatKernel } from "./flatKernels.js";
import { divideUp } from "./limits.js";
import type { Strides } from "./strides.js";

/** Packs rows of any layout and dtype to float32 [B, H, S, width rounded up to whole vec4]. */
export function packRows(
  call: Call,
  source: Span,
  dtype: FloatDtype,
  strides: Strides,
  [batch, heads, length, width]: readonly [number, number, number, number],
): Span {
  const width4 = divideUp(width, 4);
  const count = batch * heads * length * width4;
  const packed = call.room(16 * count);
  const workgroups = divideUp(count, FLAT_WORKGROUP);
  const { batch: b, head: h, position: s, feature: d } = strides;
  const shape = call.numbers([b, h, s, d, heads, length, width, width4, count], workgroups);
  const kernel = flatKernel("pack", { HALF: dtype === "float16" });
  call.dispatch(kernel, workgroups, { 0: shape, 1: source, 2: packed });
  return packed;
}
