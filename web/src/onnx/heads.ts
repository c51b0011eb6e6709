import { describe } from "../describe.js";
import { ShapeError } from "../errors.js";
import { arrayLike, type Floats } from "./element.js";

/** [B, S, H·D] → [B, H, S, D] */
export function splitHeads({ data, shape, dtype }: Floats, heads: number): Floats {
  const [batch, length, width] = shape as [number, number, number];
  return swapMiddleAxes({ data, shape: [batch, length, heads, width / heads], dtype });
}

/** [B, H, S, D] → [B, S, H·D] */
export function mergeHeads(tensor: Floats): Floats {
  const { data, shape, dtype } = swapMiddleAxes(tensor);
  const [batch, length, heads, dim] = shape as [number, number, number, number];
  return { data, shape: [batch, length, heads * dim], dtype };
}

function swapMiddleAxes({ data, shape, dtype }: Floats): Floats {
  const [B, M, N, D] = shape as [number, number, number, number];
  const swapped = arrayLike(data, data.length);
  for (let b = 0; b < B; ++b)
    for (let m = 0; m < M; ++m)
      for (let n = 0; n < N; ++n) {
        const from = ((b * M + m) * N + n) * D;
        swapped.set(data.subarray(from, from + D), ((b * N + n) * M + m) * D);
      }
  return { data: swapped, shape: [B, N, M, D], dtype };
}

/** past [B, H, P, D] and now [B, H, S, D] → [B, H, P + S, D], always a new array. */
export function appendToPast(operator: string, name: string, past: Floats | undefined, now: Floats): Floats {
  if (!past) return { ...now, data: now.data.slice() };
  const [B, H, P, D] = past.shape as [number, number, number, number];
  const [b, h, S, d] = now.shape as [number, number, number, number];
  if (B !== b || H !== h || D !== d || past.dtype !== now.dtype)
    throw new ShapeError(
      `${operator}: ${name} must be ${now.dtype} [${b}, ${h}, past length, ${d}], ` +
        `got ${past.dtype} ${describe(past.shape)}`,
    );
  const data = arrayLike(now.data, B * H * (P + S) * D);
  for (let row = 0; row < B * H; ++row) {
    data.set(past.data.subarray(row * P * D, (row + 1) * P * D), row * (P + S) * D);
    data.set(now.data.subarray(row * S * D, (row + 1) * S * D), (row * (P + S) + P) * D);
  }
  return { data, shape: [B, H, P + S, D], dtype: now.dtype };
}
