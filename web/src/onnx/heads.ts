import { describe } from "../base/describe.js";
import { ShapeError } from "../base/errors.js";
import type { CallArguments } from "../read/callArguments.js";
import { elementCount } from "../tensor/tensor.js";
import { emptyArray, type Floats } from "./element.js";

/** [B, S, H·D] → [B, H, S, D] */
export function splitHeads(call: CallArguments, name: string, { data, shape, dtype }: Floats, heads: number): Floats {
  const [batch, length, width] = shape as [number, number, number];
  return swapMiddleAxes(call, name, { data, shape: [batch, length, heads, width / heads], dtype });
}

/** [B, H, S, D] → [B, S, H·D] */
export function mergeHeads(call: CallArguments, name: string, tensor: Floats): Floats {
  const { data, shape, dtype } = swapMiddleAxes(call, name, tensor);
  const [batch, length, heads, dim] = shape as [number, number, number, number];
  return { data, shape: [batch, length, heads * dim], dtype };
}

function swapMiddleAxes(call: CallArguments, name: string, { data, shape, dtype }: Floats): Floats {
  const [B, M, N, D] = shape as [number, number, number, number];
  const swapped = emptyArray(call, name, dtype, data.length);
  if (data.length === 0) return { data: swapped, shape: [B, N, M, D], dtype };
  for (let b = 0; b < B; ++b)
    for (let m = 0; m < M; ++m)
      for (let n = 0; n < N; ++n) {
        const from = ((b * M + m) * N + n) * D;
        swapped.set(data.subarray(from, from + D), ((b * N + n) * M + m) * D);
      }
  return { data: swapped, shape: [B, N, M, D], dtype };
}

/**
 * past [B, H, P, D] and now [B, H, S, D] → [B, H, P + S, D]. The result is always a new array.
 *
 * @param names - The operator's names of the past and of the result.
 */
export function appendToPast(
  call: CallArguments,
  names: { readonly past: string; readonly present: string },
  past: Floats | undefined,
  now: Floats,
): Floats {
  const [B, H, S, D] = now.shape as [number, number, number, number];
  if (
    past &&
    (past.dtype !== now.dtype || [B, H, past.shape[2], D].some((extent, axis) => extent !== past.shape[axis]))
  )
    throw new ShapeError(
      `${call.operation}: ${names.past} must be ${now.dtype} [${B}, ${H}, past length, ${D}], ` +
        `got ${past.dtype} ${describe(past.shape)}`,
    );
  const P = past?.shape[2] ?? 0;
  const shape = [B, H, P + S, D];
  const data = emptyArray(call, names.present, now.dtype, elementCount(call.operation, names.present, shape));
  const rows = data.length === 0 ? 0 : B * H;
  for (let row = 0; row < rows; ++row) {
    if (past) data.set(past.data.subarray(row * P * D, (row + 1) * P * D), row * (P + S) * D);
    data.set(now.data.subarray(row * S * D, (row + 1) * S * D), (row * (P + S) + P) * D);
  }
  return { data, shape, dtype: now.dtype };
}
