import type { Floats } from "./floats.js";

export interface Projection {
  readonly heads: number;
  readonly position: "rotary" | "learned" | "none";
  /** The position of the first token. Default 0. */
  readonly start?: number;
}

/** The base of rotary embedding, if a layer is given none. */
const ROTARY_BASE = 1e4;

/**
 * Queries, keys and values of a layer, [heads, tokens, width of a head], as attention sees them: computed in double
 * precision from the layer's input [tokens, width] and its weights.
 */
export function projected(
  input: Floats,
  weights: Readonly<Record<"Wq" | "Wk" | "Wv", Floats>>,
  { heads, position, start = 0 }: Projection,
): Record<"query" | "key" | "value", Floats> {
  const project = (weight: Floats, isTurned: boolean) => {
    const rows = headsFirst(input, weight, heads);
    return isTurned && position === "rotary" ? turned(rows, start) : rows;
  };
  return { query: project(weights.Wq, true), key: project(weights.Wk, true), value: project(weights.Wv, false) };
}

/** x·weight as [heads, tokens, width of a head]. */
function headsFirst(x: Floats, weight: Floats, heads: number): Floats {
  const [inputs, outputs] = weight.shape as [number, number];
  const tokens = x.data.length / inputs;
  const dim = outputs / heads;
  const data = Float32Array.from({ length: tokens * outputs }, (_, at) => {
    const [head, token, d] = [Math.floor(at / (tokens * dim)), Math.floor(at / dim) % tokens, at % dim];
    let sum = 0;
    for (let k = 0; k < inputs; k++) sum += x.data[token * inputs + k]! * weight.data[k * outputs + head * dim + d]!;
    return sum;
  });
  return { data, shape: [heads, tokens, dim] };
}

/** Rotary embedding: features d and d + D/2 of the token at position t are turned by t · base^(−2d/D). */
function turned({ data, shape }: Floats, start: number): Floats {
  const [, tokens, dim] = shape as [number, number, number];
  const half = dim / 2;
  const result = Float32Array.from(data, (value, at) => {
    const [token, d] = [Math.floor(at / dim) % tokens, at % dim];
    const angle = (start + token) * ROTARY_BASE ** ((-2 * (d % half)) / dim);
    const other = d < half ? -data[at + half]! : data[at - half]!;
    return value * Math.cos(angle) + other * Math.sin(angle);
  });
  return { data: result, shape };
}
