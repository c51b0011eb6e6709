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
} from "../errors/errors.js";
import { thrownText } from "../foreign/thrown.js";

/** An error as plain data: what structured cloning keeps of one is its message. */
export interface ErrorParts {
  readonly name: string;
  readonly message: string;
  readonly code: ErrorCode;
  readonly hint: string;
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

/** Anything can be a cause: its stack, or what else is known of it. */
function stackOf(error: unknown): string {
  try {
    const { stack } = error as { readonly stack?: unknown };
    if (typeof stack === "string") return stack;
  } catch {
    // null, or an object that does not want to be read
  }
  return thrownText(error);
}

/** The error again, of its own class. */
export function errorOf({ name, message, code, hint, rows, cause }: ErrorParts): HeadwiseError {
  const details = { code, hint, ...(cause !== undefined && { cause: new Error(cause) }) };
  if (rows) return new EmptyRowError(message, rows, details);
  const Type = TYPES[name as keyof typeof TYPES] ?? HeadwiseError;
  return new Type(message, details);
}
