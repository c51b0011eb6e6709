import { describe } from "../base/describe.js";
import { OptionError, OutOfMemoryError } from "../base/errors.js";
import type { Attention } from "../instance/attention.js";
import { usableMemory } from "../instance/usableMemory.js";
import { keepsMatrices, keepsPanels } from "./partBytes.js";
import { PRECISIONS, type Parts, type Precision } from "./parts.js";

/** The memory that a model may have. */
export interface ModelRoom {
  /** Bytes; undefined if the limit is not known: on a GPU. */
  readonly limit: number | undefined;
  /** Whether matrices lie in it. */
  readonly isInInstance: boolean;
  /** Whether matrices of floats are kept in panels, see `keptLayout`. */
  readonly hasPanels: boolean;
}

/** The memory of an instance that a model may have. */
export function roomOf(hw: Attention): ModelRoom {
  const { backend, maximumMemory, threads } = hw.report;
  const isLimited = backend === "wasm" && maximumMemory !== undefined;
  const limit = isLimited ? usableMemory(maximumMemory, threads) : undefined;
  return { limit, isInInstance: keepsMatrices(hw), hasPanels: keepsPanels(hw) };
}

/** The memory of an instance with `maximumMemory` bytes and one thread. */
export function roomOfMemory(operation: string, maximumMemory: unknown): ModelRoom {
  if (!Number.isSafeInteger(maximumMemory) || (maximumMemory as number) <= 0)
    throw new OptionError(
      `${operation}: maximumMemory must be an integer of 1 or more, got ${describe(maximumMemory)}`,
    );
  return { limit: usableMemory(maximumMemory as number, 1), isInInstance: true, hasPanels: true };
}

/** A number for each precision. */
export type EachPrecision = Readonly<Record<Precision, number>>;

/** What a number is with each precision. */
export function eachPrecision(value: (precision: Precision) => number): EachPrecision {
  return Object.fromEntries(PRECISIONS.map((precision) => [precision, value(precision)])) as EachPrecision;
}

/** The most bytes of the instance's memory that loading needs at a time, for each precision. */
export function neededBytes(parts: Parts, room: ModelRoom): EachPrecision {
  return eachPrecision((precision) => parts.bytesWith({ precision, ...room }).needed);
}

/** Throws if a model does not fit. The message says what would. */
export function assertRoom(operation: string, parts: Parts, precision: Precision, room: ModelRoom): void {
  const { limit } = room;
  const needed = neededBytes(parts, room);
  if (limit === undefined || needed[precision] <= limit) return;
  const others = PRECISIONS.filter((other) => other !== "as-stored" && needed[other] < needed[precision]);
  const less = others.map((other) => `precision ${describe(other)} needs ${gigabytes(needed[other])}`);
  const fits = others.some((other) => needed[other] <= limit);
  throw new OutOfMemoryError(
    `${operation}: the model needs ${gigabytes(needed[precision])} with precision ${describe(precision)}, ` +
      `and the limit is ${gigabytes(limit)}${less.length ? `; ${less.join(", ")}` : ""}`,
    {
      hint: fits
        ? "Choose a precision that fits, or raise `maximumMemory` of createAttention."
        : "Raise `maximumMemory` of createAttention: at most 4 GiB.",
    },
  );
}

/** Bytes in units for readers: `1.98 GB`, of 10⁹ bytes, and `4.51 MB` below 100 MB. */
function gigabytes(bytes: number): string {
  const [unit, size] = bytes < 1e8 ? ["MB", 1e6] : ["GB", 1e9];
  return `${(bytes / Number(size)).toFixed(2)} ${unit}`;
}
