import {
  AssetError,
  DeviceLostError,
  DisposedError,
  EmptyRowError,
  HeadwiseError,
  OptionError,
  OutOfMemoryError,
  ShapeError,
  UnsupportedError,
  type ErrorCode,
  type RowIndex,
} from "../base/errors.js";
import { thrownText } from "../base/thrown.js";

/** An error as plain data, because structured cloning keeps only its message. */
export interface ErrorParts {
  readonly name: string;
  readonly message: string;
  readonly code: ErrorCode;
  readonly hint: string;
  /** Of an EmptyRowError. */
  readonly rows: readonly RowIndex[] | undefined;
  /** The cause as text. */
  readonly cause: string | undefined;
}

const TYPES = {
  AssetError,
  DeviceLostError,
  DisposedError,
  OptionError,
  OutOfMemoryError,
  ShapeError,
  UnsupportedError,
} as const;

export function errorParts(operation: string, error: unknown): ErrorParts {
  if (!HeadwiseError.is(error))
    return {
      name: HeadwiseError.brand,
      message: `${operation}: the engine's worker failed: ${thrownText(error)}`,
      code: "INTERNAL",
      hint: "This is a bug in headwise.",
      rows: undefined,
      cause: stackOf(error),
    };
  const { name, message, code, hint, cause } = error;
  const rows = EmptyRowError.is(error) ? error.rows : undefined;
  return { name, message, code, hint, rows, cause: cause === undefined ? undefined : stackOf(cause) };
}

/** The stack of a cause, or other text about it if it has none. A cause can be any value. */
function stackOf(error: unknown): string {
  try {
    const { stack } = error as { readonly stack?: unknown };
    if (typeof stack === "string") return stack;
  } catch {
    // null, or an object that throws when it is read
  }
  return thrownText(error);
}

/** Makes the error again, with its own class. */
export function errorOf({ name, message, code, hint, rows, cause }: ErrorParts): HeadwiseError {
  const details = { code, hint, ...(cause !== undefined && { cause: new Error(cause) }) };
  if (rows) return new EmptyRowError(message, rows, details);
  const Type = TYPES[name as keyof typeof TYPES] ?? HeadwiseError;
  return new Type(message, details);
}
