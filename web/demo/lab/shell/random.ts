/** Uniform numbers in [0, 1). The same seed gives the same numbers (mulberry32). */
export function random(seed: number): () => number {
  let state = seed * 0x9e3779b9;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let bits = Math.imul(state ^ (state >>> 15), state | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Numbers with mean 0 and variance 1. The same seed gives the same numbers (Box and Muller). */
export function randomNormal(seed: number, length: number): Float32Array {
  const uniform = random(seed);
  return Float32Array.from(
    { length },
    () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform()),
  );
}
