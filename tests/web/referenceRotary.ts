import { float16ToNumber, type Input } from "../attention-conformance/reference/reference.js";

export interface RotaryOptions {
  readonly layout: "BHSD" | "BSHD";
  /** [rows, R/2] */
  readonly cos: Input;
  readonly sin: Input;
  /** [B, S]: rows of the tables. */
  readonly positions: Input;
  readonly interleaved?: boolean;
  readonly rotaryDim: number;
}

/**
 * Rotary embedding by its definition: each pair (x_m, x_n) of a token is turned by the angle in the token's table row.
 */
export function referenceRotary(x: Input, options: RotaryOptions): { data: Float32Array; shape: readonly number[] } {
  const { cos, sin, positions, rotaryDim } = options;
  const [B, A1, A2, D] = x.shape as [number, number, number, number];
  const [H, S] = options.layout === "BHSD" ? [A1, A2] : [A2, A1];
  const read = (k: number) => (x.dtype === "float16" ? float16ToNumber(x.data[k]!) : x.data[k]!);
  const y = Float32Array.from(x.data, (_, k) => read(k));
  for (let b = 0; b < B; ++b)
    for (let h = 0; h < H; ++h)
      for (let s = 0; s < S; ++s)
        for (let pair = 0; pair < rotaryDim / 2; ++pair) {
          const token = (options.layout === "BHSD" ? (b * H + h) * S + s : (b * S + s) * H + h) * D;
          const m = token + (options.interleaved ? 2 * pair : pair);
          const n = token + (options.interleaved ? 2 * pair + 1 : pair + rotaryDim / 2);
          const row = positions.data[b * S + s]! * (rotaryDim / 2) + pair;
          y[m] = read(m) * cos.data[row]! - read(n) * sin.data[row]!;
          y[n] = read(n) * cos.data[row]! + read(m) * sin.data[row]!;
        }
  return { data: y, shape: x.shape };
}
