import { withDefaults } from "../read/withDefaults.js";
import type { Floats } from "../tensor/plainTensor.js";
import { mixing, MIXING_DEFAULTS, mixingLayers, type MixingOptions } from "./tokenMixing.js";

/**
 * Attention rollout (Abnar & Zuidema 2020, arXiv:2005.00928): how much of each input token is in each token above the
 * last layer, if every layer only mixes tokens:
 *
 *     R = Ã_L · … · Ã_1        Ã = (1 − r)·A + r·I, each row divided by its sum
 *
 * A is the mean, or another fusion, of the layer's heads, and r is the share of the residual connection. A row that sees
 * no key keeps its own token. Values and feed-forward blocks play no part. NaN spreads to the rows that depend on it.
 *
 * The cost is L·S³ products for each sequence; zeros of causal maps are skipped.
 *
 * @param probsPerLayer - For each layer, the first one first, `[B, H, S, S]`, `[H, S, S]` or `[S, S]`. The number of
 *   heads may differ.
 * @returns `[B, S, S]` or `[S, S]`: row i, column j is the share of input j in token i. Rows sum to 1.
 */
export function rollout(probsPerLayer: readonly Floats[], options: MixingOptions = {}): Floats {
  const stack = mixingLayers("rollout", probsPerLayer, withDefaults("rollout", options, MIXING_DEFAULTS));
  const { layers, batch, tokens, outer } = stack;
  const data = new Float32Array(batch * tokens * tokens);
  for (let sequence = 0; sequence < batch; sequence++) {
    const [first, ...later] = layers.map((maps) => () => mixing(stack, maps, sequence));
    const whole = later.reduce((below, next) => product(next(), below, tokens), first!());
    data.set(whole, sequence * tokens * tokens);
  }
  return { data, shape: [...outer, tokens, tokens] };
}

/** a · b of two matrices `[n, n]` */
function product(a: Float64Array, b: Float64Array, n: number): Float64Array {
  const c = new Float64Array(n * n);
  for (let i = 0; i < n; i++)
    for (let k = 0; k < n; k++) {
      const factor = a[i * n + k]!;
      if (factor === 0) continue;
      for (let j = 0; j < n; j++) c[i * n + j]! += factor * b[k * n + j]!;
    }
  return c;
}
