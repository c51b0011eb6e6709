import type { CheckedPosition } from "../../layer/layerPosition.js";
import type { PlacedFloats } from "../../tensor/tensor.js";
import type { Call, Span } from "../call/call.js";
import { FLAT_WORKGROUP, flatKernel } from "../plan/flatKernels.js";
import { divideUp } from "../plan/limits.js";
import { stridesOf } from "../plan/strides.js";

/** A table whose rows are added to tokens: for each token the row's number, or −1. */
export interface Added {
  readonly table: Span;
  readonly rows: Int32Array;
}

/**
 * The tokens of a layer's input, [B·S, width padded to whole vec4]: the input itself if it lies like that, or a copy
 * that the GPU makes.
 *
 * @param own - Whether they must lie in the engine's own memory.
 */
export function tokenRows(
  call: Call,
  tensor: PlacedFloats,
  layout: "BSE" | "BES",
  [batchSize, length, width]: readonly [number, number, number],
  added?: Added,
  own = false,
): Span {
  const source = call.place(tensor);
  const isThere = !own || !tensor.gpu;
  if (isThere && !added && layout === "BSE" && tensor.dtype === "float32" && width % 4 === 0) return source;
  const width4 = divideUp(width, 4);
  const count = batchSize * length * width4;
  const tokens = call.room(16 * count);
  const workgroups = divideUp(count, FLAT_WORKGROUP);
  const { batch, position, feature } = stridesOf(layout, 1, length, width);
  const numbers = [batch, position, feature, length, width, width4, count, Number(added !== undefined)];
  call.dispatch(flatKernel("tokens", { HALF: tensor.dtype === "float16" }), workgroups, {
    0: call.numbers(numbers, workgroups),
    1: source,
    ...(added && { 2: added.table, 3: call.table(added.rows) }),
    4: tokens,
  });
  return tokens;
}

/** The rows that sinusoidal positions add: [positions, width]. */
export function sinusoidalRows(
  positions: Float64Array,
  width: number,
  { split, base }: Extract<CheckedPosition, { readonly kind: "sinusoidal" }>,
): Float32Array {
  const rows = new Float32Array(positions.length * width);
  positions.forEach((at, n) => fillRow(rows.subarray(n * width, (n + 1) * width), at, split, base));
  return rows;
}

function fillRow(row: Float32Array, at: number, split: "interleaved" | "halves", base: number): void {
  const width = row.length;
  const half = Math.floor(width / 2);
  const inHalves = split === "halves";
  const steps = inHalves ? Math.max(half - 1, 1) : width / 2;
  for (let m = 0; m < (inHalves ? half : width - half); ++m) {
    const angle = at * base ** (-m / steps);
    const cosine = inHalves ? m + half : 2 * m + 1;
    row[inHalves ? m : 2 * m] = Math.sin(angle);
    if (cosine < width) row[cosine] = Math.cos(angle);
  }
}
