import { isObject } from "../foreign/describe.js";

/** Every code that an error may have; troubleshooting.md has a section for each, with causes and cures. */
export const ERROR_CODES = [
  "INVALID_SHAPE",
  "INVALID_OPTION",
  "UNSUPPORTED",
  "EMPTY_ROW",
  "OUT_OF_MEMORY",
  "CORRUPT_DATA",
  "DETACHED_INPUT",
  "DEVICE_LOST",
  "DISPOSED",
  "WORKER_LOST",
  "ASSET_NOT_FOUND",
  "ASSET_INVALID",
  "ASSET_VERSION",
  "ASSET_BLOCKED",
  "ASSET_TIMEOUT",
  "INTERNAL",
] as const;

/** What went wrong, for programs. `hint` says the cure in words. */
export type ErrorCode = (typeof ERROR_CODES)[number];

export interface ErrorDetails {
  readonly code?: ErrorCode;
  /** The cure, in a sentence. */
  readonly hint?: string | undefined;
  readonly cause?: unknown;
}

// A registered symbol, so that copies of this package and other realms know each other's errors.
const BRAND = Symbol.for("headwise.error");

/** The brand that all of them have. */
const ANY = "HeadwiseError";

/**
 * Every error that headwise throws. Messages name operation, argument, rule and values:
 * `scaledDotProductAttention: key.shape[1] (numKvHeads) must divide query.shape[1] (numHeads), got 3 and 8`.
 *
 * Recognise errors by `HeadwiseError.is(error)` or `ShapeError.is(error)`, not by `instanceof`: they also hold for
 * errors of another copy of the package, another realm or a worker.
 */
export class HeadwiseError extends Error {
  readonly code: ErrorCode;
  /** The cure, and the section of the documentation that has more: `…/troubleshooting.md#invalid_shape`. */
  readonly hint: string;

  constructor(message: string, details: ErrorDetails = {}) {
    super(message, details);
    this.code = details.code ?? new.target.usualCode;
    this.hint = linked(details.hint, this.code);
    const { brand } = new.target;
    Object.defineProperties(this, {
      [BRAND]: { value: [brand, ANY] },
      name: { value: brand, configurable: true, writable: true },
    });
  }

  /** @internal The name as a literal: minifiers rename classes. */
  static readonly brand: string = ANY;
  /** @internal */
  static readonly usualCode: ErrorCode = "INTERNAL";

  /** Whether `value` is an error of this class or of one derived from it. */
  static is<E extends HeadwiseError>(this: abstract new (...args: never[]) => E, value: unknown): value is E {
    if (!isObject(value)) return false;
    try {
      const brands = (value as { [BRAND]?: unknown })[BRAND];
      return Array.isArray(brands) && brands.includes((this as unknown as typeof HeadwiseError).brand);
    } catch {
      return false; // a proxy that does not want to be read
    }
  }
}

/** As the package is installed: a path that a reader has. */
const PAGE = "node_modules/headwise/web/docs/troubleshooting.md";

/** A hint that came from another thread has its link already. */
function linked(hint: string | undefined, code: ErrorCode): string {
  if (hint?.includes(PAGE)) return hint;
  const link = `See ${PAGE}#${code.toLowerCase()}.`;
  return hint ? `${hint} ${link}` : link;
}

/** A shape, length or rank breaks a rule, or sizes do not fit each other. */
export class ShapeError extends HeadwiseError {
  /** @internal */ static override readonly brand: string = "ShapeError";
  /** @internal */ static override readonly usualCode: ErrorCode = "INVALID_SHAPE";
}

/** An option is unknown, or an option or argument has a value that its rule forbids. */
export class OptionError extends HeadwiseError {
  /** @internal */ static override readonly brand: string = "OptionError";
  /** @internal */ static override readonly usualCode: ErrorCode = "INVALID_OPTION";
}

/** Legal, but not offered by this engine or on this machine. */
export class UnsupportedError extends HeadwiseError {
  /** @internal */ static override readonly brand: string = "UnsupportedError";
  /** @internal */ static override readonly usualCode: ErrorCode = "UNSUPPORTED";
}

/** A query row that sees no key: its batch (or ragged sequence), head and query position. */
export interface RowIndex {
  readonly batch: number;
  readonly head: number;
  readonly query: number;
}

/** `emptyRows: "throw"` and at least one query row sees no key. */
export class EmptyRowError extends HeadwiseError {
  /** @internal */ static override readonly brand: string = "EmptyRowError";
  /** @internal */ static override readonly usualCode: ErrorCode = "EMPTY_ROW";
  /** Up to 8 of the rows. */
  readonly rows: readonly RowIndex[];
  constructor(message: string, rows: readonly RowIndex[], details: ErrorDetails = {}) {
    super(message, details);
    this.rows = rows;
  }
}

/** The engine's memory, or the machine's, does not hold what a call needs. The instance stays usable. */
export class OutOfMemoryError extends HeadwiseError {
  /** @internal */ static override readonly brand: string = "OutOfMemoryError";
  /** @internal */ static override readonly usualCode: ErrorCode = "OUT_OF_MEMORY";
}

/** The GPU device was lost while a call was pending. */
export class DeviceLostError extends HeadwiseError {
  /** @internal */ static override readonly brand: string = "DeviceLostError";
  /** @internal */ static override readonly usualCode: ErrorCode = "DEVICE_LOST";
}

/** The instance, or an object made by it, was disposed. */
export class DisposedError extends HeadwiseError {
  /** @internal */ static override readonly brand: string = "DisposedError";
  /** @internal */ static override readonly usualCode: ErrorCode = "DISPOSED";
}

/** The engine's files could not be had: not found, not wasm, of another version, blocked by the page's policy. */
export class AssetError extends HeadwiseError {
  /** @internal */ static override readonly brand: string = "AssetError";
  /** @internal */ static override readonly usualCode: ErrorCode = "ASSET_NOT_FOUND";
}
