import { attentionDifferences, type Difference } from "../../engine/difference.js";
import type { Floats } from "../../engine/floats.js";
import { exactAttention } from "../../engine/exact.js";
import { difference } from "../../engine/difference.js";
import type { AttentionCall, LayerCall } from "./problem.js";
import { t } from "../../../texts/t.js";

interface Result {
  readonly output: Floats;
  readonly probs: Floats;
}

/** Compares headwise's result with the definition in double precision. */
export function callDifferences(call: AttentionCall | LayerCall, result: Result): readonly Difference[] {
  if (call.kind === "layer") return layerDifferences(call, result);
  const { layout = "BHSD", numHeads = 1, numKvHeads = numHeads, causal = false, scale } = call.options;
  const query = headsFirst(call.query, layout, numHeads);
  const key = headsFirst(call.key, layout, numKvHeads);
  const value = headsFirst(call.value, layout, numKvHeads);
  const options = { causal, ...(scale !== undefined && { scale }) };
  return attentionDifferences(
    { query, key, value, options },
    { output: headsFirst(result.output, layout, numHeads), probs: result.probs },
  );
}

function layerDifferences({ layer, x, options }: LayerCall, { output, probs }: Result): Difference[] {
  const { numHeads, numKvHeads = numHeads } = layer;
  const weights = layer.weights as Readonly<Record<string, Floats | undefined>>;
  const project = (weight: string, bias: string, heads: number) =>
    headsFirst(linear(x, weights[weight]!, weights[bias]), "BSE", heads);
  const exact = exactAttention(
    project("Wq", "bq", numHeads),
    project("Wk", "bk", numKvHeads),
    project("Wv", "bv", numKvHeads),
    { causal: options.causal ?? false },
  );
  const [, length] = x.shape as [number, number];
  const width = exact.output.length / length / x.shape[0]!;
  const joined = tokensFirst(exact.output, x.shape[0]!, numHeads, length);
  const heads = { data: joined, shape: [x.shape[0]!, length, width] };
  const whole = weights["Wo"] ? linear(heads, weights["Wo"], weights["bo"]) : heads;
  return [difference(t`output`, output.data, whole.data), difference(t`probabilities`, probs.data, exact.probs)];
}

interface Doubles {
  readonly data: ArrayLike<number>;
  readonly shape: readonly number[];
}

/** Multiplies the last axis by a matrix [in, out] and adds a bias. */
function linear(x: Doubles, weight: Floats, bias: Floats | undefined): { data: Float64Array; shape: number[] } {
  const [inputs, outputs] = weight.shape as [number, number];
  const data = new Float64Array((x.data.length / inputs) * outputs);
  for (let at = 0; at < data.length; at++) {
    const [row, column] = [Math.floor(at / outputs), at % outputs];
    let sum = bias ? bias.data[column]! : 0;
    for (let k = 0; k < inputs; k++) sum += x.data[row * inputs + k]! * weight.data[k * outputs + column]!;
    data[at] = sum;
  }
  return { data, shape: [...x.shape.slice(0, -1), outputs] };
}

/** A tensor of any layout and rank as [B, H, S, D]. */
function headsFirst<T extends Doubles>({ data, shape }: T, layout: string, numHeads: number): Floats {
  const [extents, strides] = axes(shape, layout, shape.length === 2 ? 1 : numHeads);
  const [, H, S, D] = extents as [number, number, number, number];
  const ordered = Float64Array.from({ length: data.length }, (_, at) => {
    const place = [Math.floor(at / (H * S * D)), Math.floor(at / (S * D)) % H, Math.floor(at / D) % S, at % D];
    return data[place.reduce((sum, index, axis) => sum + index * strides[axis]!, 0)]!;
  });
  return { data: ordered as unknown as Float32Array, shape: extents }; // the definition accepts any array of numbers
}

/** The extents of B, H, S, D and the strides of these axes. */
function axes(shape: readonly number[], layout: string, numHeads: number): [number[], number[]] {
  const isPacked = layout === "BSE" || layout === "BES";
  const full = [...Array<number>(Math.max((isPacked ? 3 : 4) - shape.length, 0)).fill(1), ...shape];
  switch (layout) {
    case "BSHD": {
      const [B, S, H, D] = full as [number, number, number, number];
      return [
        [B, H, S, D],
        [S * H * D, D, H * D, 1],
      ];
    }
    case "BSE": {
      const [B, S, E] = full as [number, number, number];
      return [
        [B, numHeads, S, E / numHeads],
        [S * E, E / numHeads, E, 1],
      ];
    }
    case "BES": {
      const [B, E, S] = full as [number, number, number];
      return [
        [B, numHeads, S, E / numHeads],
        [S * E, (E / numHeads) * S, 1, S],
      ];
    }
    default: {
      const [B, H, S, D] = full as [number, number, number, number];
      return [
        [B, H, S, D],
        [H * S * D, S * D, D, 1],
      ];
    }
  }
}

/** [B, H, S, D] → [B, S, H · D] */
function tokensFirst(data: Float64Array, batch: number, heads: number, length: number): Float64Array {
  const dim = data.length / (batch * heads * length);
  return Float64Array.from(data, (_, at) => {
    const [b, s] = [Math.floor(at / (length * heads * dim)), Math.floor(at / (heads * dim)) % length];
    const [h, d] = [Math.floor(at / dim) % heads, at % dim];
    return data[((b * heads + h) * length + s) * dim + d]!;
  });
}
