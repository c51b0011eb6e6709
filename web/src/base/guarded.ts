import { DisposedError, HeadwiseError, OptionError } from "./errors.js";

/**
 * Runs code that reads the caller's objects. If a getter or a proxy of the caller throws, this throws an OptionError. A
 * disposed tensor throws a DisposedError, which cannot name the operation and the argument: this names them.
 */
export function guarded<T>(operation: string, argument: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    const isNamed = HeadwiseError.is(cause) && cause.message.startsWith(`${operation}: `);
    if (isNamed || (HeadwiseError.is(cause) && !DisposedError.is(cause))) throw cause;
    const Type = DisposedError.is(cause) ? DisposedError : OptionError;
    throw new Type(`${operation}: ${argument} could not be read: ${messageOf(cause)}`, { cause });
  }
}

/** The message of what was thrown. Any value can be thrown. */
function messageOf(cause: unknown): string {
  try {
    return String((cause as { readonly message?: unknown } | undefined)?.message ?? cause);
  } catch {
    return "its error cannot be read either";
  }
}
