/** The cosine of the angle between two embeddings. It is their dot product, because they have length 1. */
export function similarity(a: Float32Array, b: Float32Array): number {
  return a.reduce((sum, value, i) => sum + value * b[i]!, 0);
}

export function similarities(embeddings: readonly Float32Array[]): number[][] {
  return embeddings.map((a) => embeddings.map((b) => similarity(a, b)));
}

/** Two decimals, never "-0.00". */
export function similarityText(value: number): string {
  return value.toFixed(2).replace("-0.00", "0.00");
}
