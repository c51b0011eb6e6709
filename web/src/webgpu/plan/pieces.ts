import { divideUp } from "./limits.js";

/**
 * The longest time that one submit should take. Systems end a submit of some seconds, and lose the device with it; a page
 * cannot draw while a submit runs.
 */
export const MOST_SECONDS = 0.1;

/** Floating-point operations a second of a device that was not measured yet. Phones and integrated GPUs reach about this. */
export const UNKNOWN_SPEED = 1e12;

/** A kernel is listed in so many pieces for each submit that it needs, so that a submit can be filled well. */
const PIECES_PER_SUBMIT = 4;

/** Some of a kernel's workgroups. */
export interface Piece {
  readonly first: number;
  readonly count: number;
  readonly operations: number;
}

/** Splits the workgroups of a kernel into pieces, if the kernel is longer than one submit should be. */
export function piecesOf(workgroups: number, operations: number, speed: number): Piece[] {
  const submits = operations / (speed * MOST_SECONDS);
  const most = Math.max(1, Math.floor(workgroups / Math.max(1, submits * PIECES_PER_SUBMIT)));
  const each = submits <= 1 ? Math.max(workgroups, 1) : most;
  return Array.from({ length: divideUp(workgroups, each) }, (_, n) => {
    const first = n * each;
    const count = Math.min(each, workgroups - first);
    return { first, count, operations: (operations * count) / workgroups };
  });
}

/** The end of the submit that begins with piece `from`: as many pieces as fit the time, at least one. */
export function endOfSubmit(operations: readonly number[], from: number, speed: number): number {
  let end = from;
  let sum = 0;
  while (end < operations.length && (end === from || sum + operations[end]! <= speed * MOST_SECONDS)) {
    sum += operations[end]!;
    ++end;
  }
  return end;
}

/** Work with fewer operations than this, or than half a submit, does not tell how fast the device is. */
const LEAST_OPERATIONS = 1e9;
/** A shorter time is not exact: it can only show that the device is faster. */
const LEAST_SECONDS = 0.005;

/** How fast a device computes, as its long calls have shown. */
export class Speed {
  #measured: number | undefined;

  /** Floating-point operations a second. */
  get now(): number {
    return this.#measured ?? UNKNOWN_SPEED;
  }

  /** Learns from work that took so long. Waiting may be part of it, so a slower time counts for half. */
  learn(operations: number, seconds: number): void {
    if (operations < Math.min(LEAST_OPERATIONS, (this.now * MOST_SECONDS) / 2)) return;
    const isExact = seconds >= LEAST_SECONDS;
    const least = isExact ? (this.#measured ?? 0) / 2 : this.now;
    this.#measured = Math.max(operations / Math.max(seconds, LEAST_SECONDS), least);
  }
}
