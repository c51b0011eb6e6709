/** An engine of plain loops, right or with one fault that engines are known to have. It shows what the measure catches. */

import type { Input } from "./reference/reference.js";
import type { Call } from "./measure/call.js";
import type { Engine } from "./measure/engine.js";

export type Fault =
  | "no maximum is subtracted"
  | "hidden values are multiplied by zero"
  | "the mask is ignored"
  | "causality is off by one"
  | "heads of a group are taken in turns"
  | "the scale is left out"
  | "empty rows are the mean"
  | "the output has one number too few"
  | "weights are rounded to 16 bits";

export function seededEngine(fault?: Fault): Engine {
  return {
    version: "seeded",
    offers: ["gqa", "causal", "causal upper-left", "boolean mask"],
    attention: (call) => Promise.resolve({ output: { data: attend(call, fault) } }),
  };
}

const { exp, fround, max } = Math;

function attend({ query, key, value, options }: Call, fault: Fault | undefined): Float32Array {
  const [B, H, S, D] = query.shape as [number, number, number, number];
  const [, G, T, Dv] = value.shape as [number, number, number, number];
  const output = new Float32Array(B * H * S * Dv);
  const scale = fault === "the scale is left out" ? 1 : 1 / Math.sqrt(D);
  for (let b = 0; b < B; ++b)
    for (let h = 0; h < H; ++h) {
      const g = fault === "heads of a group are taken in turns" ? h % G : Math.floor((h * G) / H);
      for (let i = 0; i < S; ++i) {
        const scores = Array.from({ length: T }, (_, j) => {
          if (!isVisible(options, fault, [b, h, i, j])) return -Infinity;
          let dot = 0;
          for (let d = 0; d < D; ++d)
            dot += query.data[((b * H + h) * S + i) * D + d]! * key.data[((b * G + g) * T + j) * D + d]!;
          return dot * scale;
        });
        const p = weights(scores, fault);
        for (let d = 0; d < Dv; ++d) {
          let sum = 0;
          for (let j = 0; j < T; ++j)
            if (p[j] !== 0 || fault === "hidden values are multiplied by zero")
              sum += p[j]! * value.data[((b * G + g) * T + j) * Dv + d]!;
          output[((b * H + h) * S + i) * Dv + d] = sum;
        }
      }
    }
  return fault === "the output has one number too few" ? output.subarray(1) : output;
}

function weights(scores: readonly number[], fault: Fault | undefined): number[] {
  const highest = scores.reduce((a, b) => max(a, b), -Infinity);
  if (highest === -Infinity) return scores.map(() => (fault === "empty rows are the mean" ? 1 / scores.length : 0));
  const shift = fault === "no maximum is subtracted" ? 0 : highest;
  const powers = scores.map((s) => fround(exp(s - shift)));
  const sum = fround(powers.reduce((a, b) => a + b, 0));
  return powers.map((power) => {
    const p = power / sum;
    return fault === "weights are rounded to 16 bits" ? Math.round(p * 65536) / 65536 : p;
  });
}

function isVisible({ mask, causal }: Call["options"], fault: Fault | undefined, at: readonly number[]): boolean {
  const [, , i, j] = at as [number, number, number, number];
  if (causal && j > i + (fault === "causality is off by one" ? 1 : 0)) return false;
  if (!mask || fault === "the mask is ignored") return true;
  const { data, shape } = mask as Input;
  const padded = [...Array<number>(4 - shape.length).fill(1), ...shape];
  return data[at.reduce((flat, x, axis) => flat * padded[axis]! + (padded[axis] === 1 ? 0 : x), 0)] !== 0;
}
