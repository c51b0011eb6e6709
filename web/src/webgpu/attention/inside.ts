import type { BufferTensor } from "../../tensor/tensor.js";
import type { Span } from "../call/span.js";

/** A tensor inside the engine's own memory on the GPU, as an input of another step. */
export function insideTensor(
  argument: string,
  { buffer, offset, bytes }: Span,
  shape: readonly number[] = [],
): BufferTensor<"float32"> {
  return { gpu: { argument, buffer, offset, byteLength: bytes, isOurs: true }, shape, dtype: "float32" };
}
