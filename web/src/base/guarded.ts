import { HeadwiseError, OptionError } from "./errors.js";

/**
 * Runs code that reads the caller's objects. If a getter or a proxy of the caller throws, this throws an OptionError.
 */
export function guarded<T>(operation: string, argument: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    if (HeadwiseError.is(cause)) throw cause;
    throw new OptionError(`${operation}: ${argument} could not be read: ${messageOf(cause)}`, { cause });
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
