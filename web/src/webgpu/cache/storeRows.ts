import { rowBytes, widthOf, type CacheStore, type Side } from "./cacheStore.js";
import type { Call, Span } from "../call/call.js";
import { FLAT_WORKGROUP, flatKernel } from "../plan/flatKernels.js";
import type { FloatDtype } from "../kernels/kernel.js";
import { divideUp } from "../plan/limits.js";
import type { Strides } from "../plan/strides.js";

/** Rows of keys or values, [B, Hkv, tokens, width], by their strides. */
export interface Rows {
  readonly span: Span;
  readonly dtype: FloatDtype;
  readonly strides: Strides;
}

const LANES = 8;

/** Appends the leading gains[b] of `numTokens` rows of every batch, after the `before[b]` rows that it holds. */
export function storeRows(
  call: Call,
  store: CacheStore,
  side: Side,
  { span, dtype, strides }: Rows,
  numTokens: number,
  before: readonly number[],
  gains: readonly number[],
): void {
  const { form, places } = store;
  const width = widthOf(form, side);
  const numRows = form.batchSize * form.numKvHeads * numTokens;
  const workgroups = divideUp(numRows * LANES, FLAT_WORKGROUP);
  const { batch, head, position, feature } = strides;
  const sizes = [
    form.numKvHeads,
    numTokens,
    width,
    divideUp(width, 4),
    numRows,
    places,
    rowBytes(form, width) / 4,
    store.firstScale(side),
  ];
  const ring = [form.ring?.keepFirst ?? 0, form.ring?.window ?? 0];
  const kernel = flatKernel("store_rows", {
    HALF: dtype === "float16",
    TO_HALF: form.dtype === "float16",
    TO_INT8: form.dtype === "int8",
  });
  call.dispatch(kernel, workgroups, {
    0: call.numbers([batch, head, position, feature, ...sizes, ...ring], workgroups),
    1: span,
    2: call.table(Uint32Array.from(before.flatMap((tokens, b) => [tokens, gains[b]!]))),
    3: store.span(side),
  });
}
