import { rowBytes, widthOf, type CacheStore, type Side } from "./cacheStore.js";
import type { Call, Span } from "../call/call.js";
import { FLAT_WORKGROUP, flatKernel } from "../plan/flatKernels.js";
import type { FloatDtype, Kernel } from "../kernels/kernel.js";
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
  rows: Rows,
  numTokens: number,
  before: readonly number[],
  gains: readonly number[],
): void {
  const { dtype, batchSize, numKvHeads } = store.form;
  const kernel = flatKernel("store_rows", {
    HALF: rows.dtype === "float16",
    TO_HALF: dtype === "float16",
    TO_INT8: dtype === "int8",
  });
  const workgroups = divideUp(batchSize * numKvHeads * numTokens * LANES, FLAT_WORKGROUP);
  dispatch(call, kernel, workgroups, store, side, rows, numTokens, before, gains);
}

/** Decides the means of the keys of those batches that are empty. Only int8 has them. */
export function storeMeans(
  call: Call,
  store: CacheStore,
  keys: Rows,
  numTokens: number,
  before: readonly number[],
  gains: readonly number[],
): void {
  const { dtype, batchSize, numKvHeads } = store.form;
  if (dtype !== "int8" || !before.includes(0)) return;
  const kernel = flatKernel("key_means", { HALF: keys.dtype === "float16" });
  dispatch(call, kernel, batchSize * numKvHeads, store, "key", keys, numTokens, before, gains);
}

function dispatch(
  call: Call,
  kernel: Kernel,
  workgroups: number,
  store: CacheStore,
  side: Side,
  { span, strides }: Rows,
  numTokens: number,
  before: readonly number[],
  gains: readonly number[],
): void {
  const { form, places } = store;
  const width = widthOf(form, side);
  const { batch, head, position, feature } = strides;
  const sizes = [
    form.numKvHeads,
    numTokens,
    width,
    divideUp(width, 4),
    form.batchSize * form.numKvHeads * numTokens,
    places,
    rowBytes(form, width) / 4,
    store.firstScale(side),
    side === "key" && form.dtype === "int8" ? store.firstMean() : 0,
  ];
  const ring = [form.ring?.keepFirst ?? 0, form.ring?.window ?? 0];
  call.dispatch(kernel, workgroups, {
    0: call.numbers([batch, head, position, feature, ...sizes, ...ring], workgroups),
    1: span,
    2: call.table(Uint32Array.from(before.flatMap((tokens, b) => [tokens, gains[b]!]))),
    3: store.span(side),
  });
}
