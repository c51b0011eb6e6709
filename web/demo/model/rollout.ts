import type { Encoding } from "./encoder.js";

/**
 * Attention rollout (Abnar and Zuidema 2020): from which tokens the information at each token comes, through all
 * layers. Each layer is the mean of two matrices: the average of its heads, and the identity for the residual
 * connection. The matrices of the layers are multiplied. [tokens, tokens], every row sums to 1.
 */
export function rollout({ tokens, layers }: Pick<Encoding, "tokens" | "layers">): Float32Array {
  const size = tokens.length;
  let mixed = identity(size);
  for (const { numHeads, probs } of layers) {
    const layer = identity(size).map((own, i) => {
      let attended = 0;
      for (let head = 0; head < numHeads; head++) attended += probs[head * size * size + i]! / numHeads;
      return (own + attended) / 2;
    });
    mixed = product(layer, mixed, size);
  }
  return mixed;
}

function identity(size: number): Float32Array {
  return Float32Array.from({ length: size * size }, (_, i) => Number(i % (size + 1) === 0));
}

function product(a: Float32Array, b: Float32Array, size: number): Float32Array {
  return Float32Array.from({ length: size * size }, (_, at) => {
    const [row, column] = [Math.floor(at / size), at % size];
    let sum = 0;
    for (let k = 0; k < size; k++) sum += a[row * size + k]! * b[k * size + column]!;
    return sum;
  });
}
