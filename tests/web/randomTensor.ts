import type { TypedTensor } from "headwise";

import { word } from "./cases.js";

/** Uniform numbers in ±amplitude. The same seed gives the same numbers. */
export function randomTensor(seed: number, shape: readonly number[], amplitude = 1): TypedTensor<"float32"> {
  const length = shape.reduce((product, extent) => product * extent, 1);
  const data = Float32Array.from({ length }, (_, n) => amplitude * (word(seed, 77, n) / 2 ** 31 - 1));
  return { data, shape, dtype: "float32" };
}
