/** A range of bytes in a buffer. */
export interface Span {
  readonly buffer: GPUBuffer;
  readonly offset: number;
  readonly bytes: number;
}

/** Copies take whole words. At the end of a buffer the last half-word has no second half. */
export function wholeWords(bytes: number, { size }: GPUBuffer, offset: number): number {
  return Math.min(Math.ceil(bytes / 4) * 4, size - offset);
}
