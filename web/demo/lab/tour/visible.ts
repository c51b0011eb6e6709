import type { Engine } from "../engine/engine.js";
import { randomNormal } from "../shell/random.js";

const DIM = 16;

/** The weights of random tokens under a causal mask, [tokens, tokens]. A hidden pair has weight 0. */
export async function causalWeights(engine: Engine, tokens: number): Promise<Float32Array> {
  const tensor = (seed: number) => ({ data: randomNormal(seed, tokens * DIM), shape: [tokens, DIM] });
  const { probs } = await engine.scaledDotProductAttention(tensor(1), tensor(2), tensor(3), {
    causal: true,
    returns: { output: false, probs: true },
  });
  return probs.data;
}
