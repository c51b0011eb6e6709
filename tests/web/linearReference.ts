import type { QuantizedWeight, Tensor } from "headwise";

import { valuesOf } from "./close.js";
import { EPSILON, type Expected } from "../attention-conformance/reference/reference.js";

/** How a weight is stored. */
export type Weight = { readonly layout: "in-out" | "out-in"; readonly inputDim: number; readonly outputDim: number };

/** The index of element (i, o) of a weight. */
export const place = ({ layout, inputDim, outputDim }: Weight, i: number, o: number) =>
  layout === "in-out" ? i * outputDim + o : o * inputDim + i;

export const shapeOf = ({ layout, inputDim, outputDim }: Weight) =>
  layout === "in-out" ? [inputDim, outputDim] : [outputDim, inputDim];

/**
 * Sums of products in double. A sum of n products errs by one rounding for each product and each addition:
 * (n + 2) ε Σ|terms|.
 */
function sums(count: number, terms: (n: number) => readonly (readonly [number, number])[]): Expected {
  const values = new Float64Array(count);
  const tolerance = new Float64Array(count);
  for (let n = 0; n < count; ++n) {
    const products = terms(n).map(([a, b]) => a * b);
    values[n] = products.reduce((sum, product) => sum + product, 0);
    tolerance[n] = (products.length + 2) * EPSILON * products.reduce((sum, product) => sum + Math.abs(product), 0);
  }
  return { values, tolerance };
}

const range = (length: number) => Array.from({ length }, (_, n) => n);

/** y, dInput, dWeight and dBias in double. */
export function referenceLinear(w: Weight, x: Tensor, weight: Tensor, bias: Tensor | undefined, dOutput: Tensor) {
  const { inputDim, outputDim } = w;
  const [X, W, G] = [valuesOf(x), valuesOf(weight), valuesOf(dOutput)];
  const B = bias && valuesOf(bias);
  const rows = X.length / inputDim;
  const at = (n: number, width: number) => [Math.floor(n / width), n % width] as const;
  return {
    y: sums(rows * outputDim, (n) => {
      const [r, o] = at(n, outputDim);
      const products = range(inputDim).map((i) => [X[r * inputDim + i]!, W[place(w, i, o)]!] as const);
      return B ? [[B[o]!, 1], ...products] : products;
    }),
    dInput: sums(rows * inputDim, (n) => {
      const [r, i] = at(n, inputDim);
      return range(outputDim).map((o) => [G[r * outputDim + o]!, W[place(w, i, o)]!]);
    }),
    dWeight: sums(inputDim * outputDim, (n) => {
      const [a, b] = at(n, w.layout === "in-out" ? outputDim : inputDim);
      const [i, o] = w.layout === "in-out" ? [a, b] : [b, a];
      return range(rows).map((r) => [X[r * inputDim + i]!, G[r * outputDim + o]!]);
    }),
    dBias: sums(outputDim, (o) => range(rows).map((r) => [G[r * outputDim + o]!, 1])),
  };
}

/** The numbers that a weight of int8 means, exactly. */
export function dequantized(w: Weight, { data, shape, scales }: QuantizedWeight): Tensor<"float32"> {
  const output = (n: number) => (w.layout === "in-out" ? n % w.outputDim : Math.floor(n / w.inputDim));
  // a float64 array: a byte times a scale has up to 31 bits
  return { data: Float64Array.from(data, (q, n) => q * scales[output(n)]!) as never, shape };
}
