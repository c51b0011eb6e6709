import type { Floats } from "./element.js";

export interface Float32Tensor extends Floats {
  readonly data: Float32Array;
}

/**
 * Softmax and weighted mean in double precision, if `softmax_precision` is double. A score of −∞ is hidden. A row of
 * hidden scores gives 0.
 *
 * @param scores - [B, Hq, S, T]
 * @param value - [B, Hkv, T, Dv]
 */
export function softmaxInDouble(scores: Float32Tensor, value: Float32Tensor): { output: Floats; probs: Floats } {
  const [B, Hq, S, T] = scores.shape as [number, number, number, number];
  const [, Hkv, , Dv] = value.shape as [number, number, number, number];
  const probs = new Float32Array(scores.data.length);
  const output = new Float32Array(B * Hq * S * Dv);
  for (let row = 0; row < B * Hq * S; ++row) {
    const s = scores.data.subarray(row * T, (row + 1) * T);
    const visible = [...s.keys()].filter((j) => s[j] !== -Infinity);
    const max = visible.reduce((m, j) => Math.max(m, s[j]!), -Infinity);
    const sum = visible.reduce((l, j) => l + Math.exp(s[j]! - max), 0);
    const queryHead = Math.floor(row / S);
    const keyHead = Math.floor(queryHead / Hq) * Hkv + Math.floor((queryHead % Hq) / (Hq / Hkv));
    const mean = new Float64Array(Dv);
    for (const j of visible) {
      const p = Math.exp(s[j]! - max) / sum;
      probs[row * T + j] = p;
      for (let d = 0; d < Dv; ++d) mean[d]! += p * value.data[(keyHead * T + j) * Dv + d]!;
    }
    output.set(mean, row * Dv);
  }
  return {
    output: { data: output, shape: [B, Hq, S, Dv], dtype: "float32" },
    probs: { data: probs, shape: scores.shape, dtype: "float32" },
  };
}
