import type { CheckedPosition } from "../layer/layerPosition.js";
import type { CheckedFloats } from "../tensor/tensor.js";
import { divideUp } from "./limits.js";
import { stridesOf } from "./strides.js";
import { widen } from "./widen.js";

/**
 * The tokens of a layer's input, [B·S, width padded to whole vec4]. `added` gives the row that is added to each token.
 */
export function tokenRows(
  operation: string,
  tensor: CheckedFloats,
  layout: "BSE" | "BES",
  [batchSize, length, width]: readonly [number, number, number],
  added?: (token: number) => ArrayLike<number> | undefined,
): Float32Array {
  const numbers = widen(operation, tensor.data);
  const paddedWidth = 4 * divideUp(width, 4);
  const { batch, position, feature } = stridesOf(layout, 1, length, width);
  const rows = new Float32Array(batchSize * length * paddedWidth);
  for (let token = 0; token < batchSize * length; ++token) {
    const from = Math.floor(token / length) * batch + (token % length) * position;
    const extra = added?.(token);
    for (let d = 0; d < width; ++d) rows[token * paddedWidth + d] = numbers[from + d * feature]! + (extra?.[d] ?? 0);
  }
  return rows;
}

/**
 * The row that a layer adds to the token at a position. Outside a learned table it is absent: only padding may be
 * there.
 */
export function positionRow(
  position: CheckedPosition,
  width: number,
): ((at: number) => ArrayLike<number> | undefined) | undefined {
  switch (position.kind) {
    case "none":
    case "rotary":
      return undefined;
    case "learned": {
      const { data, shape } = position.table;
      return (at) => (at >= 0 && at < shape[0]! ? data.subarray(at * width, (at + 1) * width) : undefined);
    }
    case "sinusoidal":
      return (at) => sinusoidalRow(at, width, position.split, position.base);
  }
}

function sinusoidalRow(at: number, width: number, split: "interleaved" | "halves", base: number): Float32Array {
  const row = new Float32Array(width);
  const half = Math.floor(width / 2);
  const inHalves = split === "halves";
  const steps = inHalves ? Math.max(half - 1, 1) : width / 2;
  for (let m = 0; m < (inHalves ? half : width - half); ++m) {
    const angle = at * base ** (-m / steps);
    const cosine = inHalves ? m + half : 2 * m + 1;
    row[inHalves ? m : 2 * m] = Math.sin(angle);
    if (cosine < width) row[cosine] = Math.cos(angle);
  }
  return row;
}
