import type { Encoding } from "./encoder.js";

/** An encoding as JSON. `numbers` are float32 in base64: the embedding, then probs and scores of each layer. */
export interface PackedEncoding extends Omit<Encoding, "embedding" | "layers"> {
  /** Whether the model was told the positions. */
  readonly positions: boolean;
  readonly heads: readonly number[];
  readonly numbers: string;
}

/** How far the stored model is from the original, over sentences with positions and without. */
export interface StorageError {
  /** The size of the stored weights. */
  readonly megabytes: number;
  readonly sentences: number;
  /** The least cosine of an embedding with the original's. */
  readonly cosine: number;
  /** The largest difference of a weight of attention. */
  readonly weight: number;
}

/** What the build has computed for the page. */
export interface PageNumbers {
  readonly encodings: readonly PackedEncoding[];
  readonly storage: StorageError;
}

export function packed({ embedding, layers, ...text }: Encoding, positions: boolean): PackedEncoding {
  const numbers = [embedding, ...layers.flatMap(({ probs, scores }) => [probs, scores])];
  const bytes = numbers.map(({ buffer, byteOffset, byteLength }) => new Uint8Array(buffer, byteOffset, byteLength));
  const letters = bytes.flatMap((part) => Array.from(part, (byte) => String.fromCharCode(byte)));
  return { ...text, positions, heads: layers.map(({ numHeads }) => numHeads), numbers: btoa(letters.join("")) };
}

export function unpacked({ positions: _, heads, numbers, ...text }: PackedEncoding): Encoding {
  const bytes = Uint8Array.from(atob(numbers), (letter) => letter.charCodeAt(0));
  const all = new Float32Array(bytes.buffer);
  const mapSizes = heads.map((numHeads) => numHeads * text.tokens.length ** 2);
  let at = all.length - 2 * mapSizes.reduce((sum, size) => sum + size, 0);
  const embedding = all.subarray(0, at);
  const next = (size: number) => all.subarray(at, (at += size));
  const layers = heads.map((numHeads, layer) => ({
    numHeads,
    probs: next(mapSizes[layer]!),
    scores: next(mapSizes[layer]!),
  }));
  return { ...text, embedding, layers };
}
