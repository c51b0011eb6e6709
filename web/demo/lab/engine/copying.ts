/** Asks a worker to copy for a while between two halves of so many bytes. */
export interface CopyRequest {
  readonly milliseconds: number;
  readonly bytes: number;
}
/** Bytes read and written a second. */
export type CopyReply = number;

let halves: readonly [Float64Array, Float64Array] | undefined;

/** Copies from one half of `bytes` to the other, at least once. The arrays are kept for the next call. */
export function copyFor(milliseconds: number, bytes: number): number {
  const length = bytes / 2 / Float64Array.BYTES_PER_ELEMENT;
  if (halves?.[0].length !== length) halves = [new Float64Array(length).fill(1), new Float64Array(length).fill(2)];
  const [from, to] = halves;
  const start = performance.now();
  let copied = 0;
  do {
    to.set(from);
    copied += 2 * from.byteLength;
  } while (performance.now() < start + milliseconds);
  return (1000 * copied) / (performance.now() - start);
}
