/**
 * The model's sinusoidal positions: row t is [sin(t·f) …, cos(t·f) …] for its table of frequencies f. They are added to
 * the embeddings before the first layer, so residual and attention both contain them.
 */
export function timingSignal(length: number, frequencies: Float32Array): Float32Array {
  const half = frequencies.length;
  const signal = new Float32Array(length * 2 * half);
  for (let t = 0; t < length; t++) {
    for (let f = 0; f < half; f++) {
      const angle = Math.fround(t * frequencies[f]!); // the model's graph multiplies in single precision
      signal[t * 2 * half + f] = Math.sin(angle);
      signal[t * 2 * half + half + f] = Math.cos(angle);
    }
  }
  return signal;
}
