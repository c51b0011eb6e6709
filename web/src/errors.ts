/** Every code that an error may have; troubleshooting.md has a section for each, with causes and cures. */
export const ERROR_CODES = [
  "INVALID_SHAPE",
  "INVALID_OPTION",
  "UNSUPPORTED",
  "EMPTY_ROW",
  "OUT_OF_MEMORY",
  "CORRUPT_DATA",
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
  readonly hint?: string;
  readonly cause?: unknown;
}

// A registered symbol, so that copies of this package and other realms know each other's errors.
const BRAND = Symbol.for("headwise.error");

/**
 * Every error that headwise throws. Messages name operation, argument, rule and values:
 * `scaledDotProductAttention: key.shape[1] (numKvHeads) must divide query.shape[1] (numHeads), got 3 and 8`.
 *
 * Recognise errors by `HeadwiseError.is(error)` or `ShapeError.is(error)`, not by `instanceof`: they also hold for
 * errors of another copy of the package, another realm or a worker.
 */
export class HeadwiseError extends Error {
  readonly code: ErrorCode;
  /** The cure, and the section of the documentation that has more: `troubleshooting.md#invalid_shape`. */
  readonly hint: string;

  constructor(message: string, details: ErrorDetails = {}) {
    super(message, "cause" in details ? { cause: details.cause } : undefined);
    this.code = details.code ?? "INTERNAL";
    this.hint = linked(details.hint, this.code);
    const brands = [...brandsOf(new.target)];
    Object.defineProperty(this, BRAND, { value: brands });
    Object.defineProperty(this, "name", { value: brands[0], configurable: true, writable: true });
  }

  /** @internal The name as a literal: minifiers rename classes. */
  static readonly brand: string = "HeadwiseError";

  /** Whether `value` is an error of this class or of one derived from it. */
  static is<E extends HeadwiseError>(this: abstract new (...args: never[]) => E, value: unknown): value is E {
    if (typeof value !== "object" || value === null) return false;
    const brands = (value as { [BRAND]?: unknown })[BRAND];
    return Array.isArray(brands) && brands.includes((this as unknown as typeof HeadwiseError).brand);
  }
}

const PAGE = "troubleshooting.md";

/** A hint that came from another thread has its link already. */
function linked(hint: string | undefined, code: ErrorCode): string {
  if (hint?.includes(PAGE)) return hint;
  const link = `See ${PAGE}#${code.toLowerCase()}.`;
  return hint ? `${hint} ${link}` : link;
}

function* brandsOf(type: typeof HeadwiseError): Generator<string> {
  for (let current = type; current?.brand; current = Object.getPrototypeOf(current) as typeof HeadwiseError)
    if (Object.hasOwn(current, "brand")) yield current.brand;
}

/** A shape, length or rank breaks a rule, or sizes do not fit each other. */
export class ShapeError extends HeadwiseError {
  static override readonly brand: string = "ShapeError";
  constructor(message: string, details: ErrorDetails = {}) {
    super(message, { code: "INVALID_SHAPE", ...details });
  }
}

/** An option is unknown, or an option or argument has a value that its rule forbids. */
export class OptionError extends HeadwiseError {
  static override readonly brand: string = "OptionError";
  constructor(message: string, details: ErrorDetails = {}) {
    super(message, { code: "INVALID_OPTION", ...details });
  }
}

/** Legal, but not offered by this engine or on this machine. */
export class UnsupportedError extends HeadwiseError {
  static override readonly brand: string = "UnsupportedError";
  constructor(message: string, details: ErrorDetails = {}) {
    super(message, { code: "UNSUPPORTED", ...details });
  }
}

/** A query row that sees no key: its batch (or ragged sequence), head and query position. */
export interface RowIndex {
  readonly batch: number;
  readonly head: number;
  readonly query: number;
}

/** `emptyRows: "throw"` and at least one query row sees no key. */
export class EmptyRowError extends HeadwiseError {
  static override readonly brand: string = "EmptyRowError";
  /** Up to 8 of the rows. */
  readonly rows: readonly RowIndex[];
  constructor(message: string, rows: readonly RowIndex[], details: ErrorDetails = {}) {
    super(message, { code: "EMPTY_ROW", ...details });
    this.rows = rows;
  }
}

/** The engine's memory, or the machine's, does not hold what a call needs. The instance stays usable. */
export class OutOfMemoryError extends HeadwiseError {
  static override readonly brand: string = "OutOfMemoryError";
  constructor(message: string, details: ErrorDetails = {}) {
    super(message, { code: "OUT_OF_MEMORY", ...details });
  }
}

/** The GPU device was lost while a call was pending. */
export class DeviceLostError extends HeadwiseError {
  static override readonly brand: string = "DeviceLostError";
  constructor(message: string, details: ErrorDetails = {}) {
    super(message, { code: "DEVICE_LOST", ...details });
  }
}

/** The instance, or an object made by it, was disposed. */
export class DisposedError extends HeadwiseError {
  static override readonly brand: string = "DisposedError";
  constructor(message: string, details: ErrorDetails = {}) {
    super(message, { code: "DISPOSED", ...details });
  }
}

/** The engine's files could not be had: not found, not wasm, of another version, blocked by the page's policy. */
export class AssetError extends HeadwiseError {
  static override readonly brand: string = "AssetError";
  constructor(message: string, details: ErrorDetails = {}) {
    super(message, { code: "ASSET_NOT_FOUND", ...details });
  }
}
