import { isObject } from "./describe.js";

/** All error codes. docs/troubleshooting.md has a section for each, with causes and cures. */
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
  "NETWORK",
  "INTERNAL",
] as const;

/** What went wrong, for programs to compare. The error's `hint` says in words what to do. */
export type ErrorCode = (typeof ERROR_CODES)[number];

/** The optional parts of an error. */
export interface ErrorDetails {
  readonly code?: ErrorCode | undefined;
  /** What to do, in one sentence. */
  readonly hint?: string | undefined;
  readonly cause?: unknown;
}

// A registered symbol: copies of this package and other realms recognise each other's errors by it.
const BRAND = Symbol.for("headwise.error");

/** The brand of every headwise error. */
const ANY = "HeadwiseError";

/**
 * The class of every error that headwise throws. A message names the operation, the argument, the rule and the values:
 * `scaledDotProductAttention: key.shape[1] (numKvHeads) must divide query.shape[1] (numHeads), got 3 and 8`.
 *
 * Test errors with `HeadwiseError.is(error)` or `ShapeError.is(error)`, not with `instanceof`. `is` also recognises
 * errors of another copy of the package, of another realm and of a worker.
 */
export class HeadwiseError extends Error {
  readonly code: ErrorCode;
  /** What to do, and the section of the documentation with more: `…/troubleshooting.md#invalid_shape`. */
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

  /** @internal The name as a literal, because minifiers rename classes. */
  static readonly brand: string = ANY;
  /** @internal */
  static readonly usualCode: ErrorCode = "INTERNAL";

  /** Whether `value` is an error of this class or of a class derived from it. */
  static is<E extends HeadwiseError>(this: abstract new (...args: never[]) => E, value: unknown): value is E {
    if (!isObject(value)) return false;
    try {
      const brands = (value as { [BRAND]?: unknown })[BRAND];
      return Array.isArray(brands) && brands.includes((this as unknown as typeof HeadwiseError).brand);
    } catch {
      return false; // `value` is a proxy that throws when it is read
    }
  }
}

/** The page's path in a project that has installed the package. */
const PAGE = "node_modules/headwise/web/docs/troubleshooting.md";

/** Adds the link to a hint. A hint from another thread has its link already. */
function linked(hint: string | undefined, code: ErrorCode): string {
  if (hint?.includes(PAGE)) return hint;
  const link = `See ${PAGE}#${code.toLowerCase()}.`;
  return hint ? `${hint} ${link}` : link;
}

/** A shape, length or rank breaks a rule, or two sizes do not fit together. */
export class ShapeError extends HeadwiseError {
  /** @internal */ static override readonly brand: string = "ShapeError";
  /** @internal */ static override readonly usualCode: ErrorCode = "INVALID_SHAPE";
}

/** An option is unknown, or an option or argument has a value that is not allowed. */
export class OptionError extends HeadwiseError {
  /** @internal */ static override readonly brand: string = "OptionError";
  /** @internal */ static override readonly usualCode: ErrorCode = "INVALID_OPTION";
}

/** The call is valid, but this engine or this machine cannot do it. */
export class UnsupportedError extends HeadwiseError {
  /** @internal */ static override readonly brand: string = "UnsupportedError";
  /** @internal */ static override readonly usualCode: ErrorCode = "UNSUPPORTED";
}

/** A query row that sees no key: its batch (or ragged sequence), head and query position. */
export interface RowIndex {
  /** Index of the batch; for a ragged batch, of the sequence. */
  readonly batch: number;
  /** Index of the query head. */
  readonly head: number;
  /** Index of the query row. */
  readonly query: number;
}

/** `emptyRows` is `"throw"`, and at least one query row sees no key. */
export class EmptyRowError extends HeadwiseError {
  /** @internal */ static override readonly brand: string = "EmptyRowError";
  /** @internal */ static override readonly usualCode: ErrorCode = "EMPTY_ROW";
  /** The first of these rows, at most 8. */
  readonly rows: readonly RowIndex[];
  constructor(message: string, rows: readonly RowIndex[], details: ErrorDetails = {}) {
    super(message, details);
    this.rows = rows;
  }
}

/** The call needs more memory than the engine or the machine has. The instance stays usable. */
export class OutOfMemoryError extends HeadwiseError {
  /** @internal */ static override readonly brand: string = "OutOfMemoryError";
  /** @internal */ static override readonly usualCode: ErrorCode = "OUT_OF_MEMORY";
}

/** The GPU device was lost while a call waited or ran. */
export class DeviceLostError extends HeadwiseError {
  /** @internal */ static override readonly brand: string = "DeviceLostError";
  /** @internal */ static override readonly usualCode: ErrorCode = "DEVICE_LOST";
}

/** The instance, or an object that it made, was disposed. */
export class DisposedError extends HeadwiseError {
  /** @internal */ static override readonly brand: string = "DisposedError";
  /** @internal */ static override readonly usualCode: ErrorCode = "DISPOSED";
}

/**
 * A file of the engine could not be loaded: it was not found, is not wasm, has another version, or the page's policy
 * blocks it.
 */
export class AssetError extends HeadwiseError {
  /** @internal */ static override readonly brand: string = "AssetError";
  /** @internal */ static override readonly usualCode: ErrorCode = "ASSET_NOT_FOUND";
}

/** A server does not give a file that the caller has asked for by its address. */
export class NetworkError extends HeadwiseError {
  /** @internal */ static override readonly brand: string = "NetworkError";
  /** @internal */ static override readonly usualCode: ErrorCode = "NETWORK";
  /** The HTTP status, if the server has answered. */
  readonly status: number | undefined;
  constructor(message: string, { status, ...details }: ErrorDetails & { readonly status?: number | undefined } = {}) {
    super(message, details);
    this.status = status;
  }
}
