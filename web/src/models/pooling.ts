import type { Floats } from "../tensor/plainTensor.js";
import { isShown, type ModelInput } from "./modelInput.js";

/** How the rows of a text become one: its first, its last, their mean, that mean times √count, or the largest numbers. */
export type Pooling = "cls" | "lasttoken" | "mean" | "mean_sqrt_len_tokens" | "max";

/** One row for each text: `[…, E]` from `[…, S, E]`. Tokens that fill up do not count; a text that has no others gives zeros. */
export function pooledBy(mode: Pooling, last: Floats, input: ModelInput): Floats {
  const [length, width] = last.shape.slice(-2) as [number, number];
  const texts = last.data.length / (length * width);
  const data = new Float32Array(texts * width);
  for (let text = 0; text < texts; text++) {
    const shown = Array.from({ length }, (_, token) => text * length + token).filter((n) => isShown(input, n));
    const counted = mode === "cls" ? shown.slice(0, 1) : mode === "lasttoken" ? shown.slice(-1) : shown;
    const rows = counted.map((n) => n * width);
    if (rows.length === 0) continue; // zeros
    const divisor = mode === "mean" ? rows.length : mode === "mean_sqrt_len_tokens" ? Math.sqrt(rows.length) : 1;
    for (let i = 0; i < width; i++) data[text * width + i] = joined(mode, last.data, rows, i) / divisor;
  }
  return { data, shape: [...last.shape.slice(0, -2), width] };
}

function joined(mode: Pooling, data: Floats["data"], rows: readonly number[], i: number): number {
  const numbers = rows.map((at) => data[at + i]!);
  return mode === "max" ? Math.max(...numbers) : numbers.reduce((sum, number) => sum + number, 0);
}

/** Rows of length 1 (at least 10⁻¹² divides): `[…, E]`. */
export function normalized({ data, shape }: Floats): Floats {
  const width = shape.at(-1)!;
  const y = new Float32Array(data.length);
  for (let at = 0; at < y.length; at += width) {
    const row = data.subarray(at, at + width);
    const length = Math.max(Math.sqrt(row.reduce((sum: number, number: number) => sum + number * number, 0)), 1e-12);
    for (let i = 0; i < width; i++) y[at + i] = row[i]! / length;
  }
  return { data: y, shape };
}
