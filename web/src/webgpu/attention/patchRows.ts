import type { RowPatch } from "../../attention/patch.js";
import type { Call } from "../call/call.js";
import { checkBytes } from "../plan/limits.js";
import { stridesOf } from "../plan/strides.js";
import { chosenOf, ofRows, type IsToken } from "./chosenRows.js";
import { meanRows } from "./meanRows.js";
import { moveRows, type HeadArray, type StridedRows } from "./moveRows.js";

/** Overwrites the chosen rows of an array of float32. Padding stays as it is. */
export function patchRows(call: Call, name: string, patch: RowPatch, target: HeadArray, isToken: IsToken): void {
  const [batchSize, numHeads, length, width] = target.extents;
  const { heads, rows } = chosenOf(patch, numHeads, length);
  const moved = ofRows(batchSize, rows, (b, n, row) => (isToken(b, row) ? [b, n, row] : []));
  if (moved.length === 0) return;
  const data = (): StridedRows => {
    if (patch.data !== "mean") return placeData(call, name, patch.data, [heads.length, rows.length, width]);
    const all = ofRows(batchSize, chosenOf(EVERY, numHeads, length).rows, (b, _, row) =>
      isToken(b, row) ? [b, row] : [],
    );
    return meanRows(call, target, all, heads, width);
  };
  moveRows(call, data(), target, { rows: moved, heads: heads.flatMap((head, n) => [n, head]) }, width);
}

const EVERY = { heads: undefined, rows: undefined };

/** The given content of rows, [B, heads, rows, width], on the GPU. */
export function placeData(
  call: Call,
  name: string,
  data: Float32Array,
  [heads, rows, width]: readonly [number, number, number],
): StridedRows {
  checkBytes(call.operation, `patch.${name}.data`, data.byteLength, call.core.device.limits);
  return { span: call.upload(data), strides: stridesOf("BHSD", heads, rows, width), dtype: "float32" };
}
