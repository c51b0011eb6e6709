import type { PlacedFloats } from "../../tensor/tensor.js";
import type { Call, Span } from "../call/call.js";
import { FLAT_WORKGROUP, flatKernel } from "../plan/flatKernels.js";
import type { FloatDtype } from "../kernels/kernel.js";
import { divideUp } from "../plan/limits.js";
import type { Strides } from "../plan/strides.js";

/** Packs rows of any layout and dtype to float32 [B, H, S, width rounded up to whole vec4], in `packed`. */
export function packRows(
  call: Call,
  source: Span,
  dtype: FloatDtype,
  strides: Strides,
  [batch, heads, length, width]: readonly [number, number, number, number],
  packed = call.room(16 * batch * heads * length * divideUp(width, 4)),
): Span {
  const width4 = divideUp(width, 4);
  const count = batch * heads * length * width4;
  const workgroups = divideUp(count, FLAT_WORKGROUP);
  const { batch: b, head: h, position: s, feature: d } = strides;
  const shape = call.numbers([b, h, s, d, heads, length, width, width4, count], workgroups);
  const kernel = flatKernel("pack", { HALF: dtype === "float16" });
  call.dispatch(kernel, workgroups, { 0: shape, 1: source, 2: packed });
  return packed;
}

/** The numbers of a tensor as float32, in their order. */
export function placeWide(call: Call, tensor: PlacedFloats, count: number): Span {
  if (tensor.dtype === "float32") return call.place(tensor);
  const wide = call.room(16 * divideUp(count, 4));
  putWide(call, tensor, count, wide);
  return wide;
}

/** Writes the numbers of a tensor as float32 into `target`, which has room for whole vec4. */
export function putWide(call: Call, tensor: PlacedFloats, count: number, target: Span): void {
  if (tensor.dtype === "float32" && tensor.data) {
    call.write(target, 0, tensor.data);
    return;
  }
  const inOrder = { batch: 0, head: 0, position: 4, feature: 1 };
  packRows(call, call.place(tensor), tensor.dtype, inOrder, [1, 1, divideUp(count, 4), 4], target);
}
