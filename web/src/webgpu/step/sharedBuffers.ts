import { lifetimesOf } from "../../step/lifetimes.js";
import type { StepProblem } from "../../step/stepProblem.js";

/** The buffers of a step's arrays. */
export interface SharedBuffers {
  /** By array, the number of its buffer. */
  readonly bufferOf: readonly number[];
  /** By buffer. */
  readonly bytes: readonly number[];
}

interface Buffer {
  bytes: number;
  /** The last part that needs what lies in it. */
  last: number;
}

/**
 * Gives arrays of a step the same buffer if they are never needed at the same time. Arrays that one kernel reads and writes
 * have different buffers, as WebGPU demands.
 */
export function shareBuffers(problem: StepProblem): SharedBuffers {
  const { places } = problem;
  const lifetimes = lifetimesOf(problem);
  const bufferOf = places.map(() => 0);
  const buffers: Buffer[] = [];
  const order = [...places.keys()].sort((a, b) => lifetimes[a]!.first - lifetimes[b]!.first);
  for (const n of order) {
    const { bytes } = places[n]!;
    const { first, last } = lifetimes[n]!;
    const free = buffers.filter((buffer) => buffer.last < first);
    const chosen = closest(free, bytes) ?? buffers[buffers.push({ bytes, last }) - 1]!;
    Object.assign(chosen, { bytes: Math.max(chosen.bytes, bytes), last });
    bufferOf[n] = buffers.indexOf(chosen);
  }
  return { bufferOf, bytes: buffers.map(({ bytes }) => bytes) };
}

/** The smallest buffer that is large enough, or else the largest one, which then grows. */
function closest(buffers: readonly Buffer[], bytes: number): Buffer | undefined {
  const sorted = [...buffers].sort((a, b) => a.bytes - b.bytes);
  return sorted.find((buffer) => buffer.bytes >= bytes) ?? sorted.at(-1);
}
