import type { TokenBatch } from "./tokens.js";

/** What goes into a model. */
export interface ModelInput extends TokenBatch {
  /** The kind of each token, for BERT. */
  readonly tokenTypes?: TokenBatch | undefined;
  /** For each token, whether it may be seen: 1 or 0; undefined: all may. */
  readonly shown?: Uint8Array | undefined;
}

/** Whether token n of all texts is one of a text, and not one that fills up. */
export function isShown({ shape, lengths, shown }: ModelInput, n: number): boolean {
  const length = shape.at(-1)!;
  const isInText = lengths === undefined || n % length < lengths[Math.floor(n / length)]!;
  return isInText && shown?.[n] !== 0;
}
