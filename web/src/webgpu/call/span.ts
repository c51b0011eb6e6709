import type { BufferTensor } from "../../tensor/tensor.js";

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

/** A tensor inside the engine's own memory on the GPU, as an input of another step. */
export function insideTensor(
  argument: string,
  { buffer, offset, bytes }: Span,
  shape: readonly number[] = [],
): BufferTensor<"float32"> {
  return { gpu: { argument, buffer, offset, byteLength: bytes, isOurs: true }, shape, dtype: "float32" };
}
