import { OptionError } from "./errors.js";
import { isIntact } from "./typedArray.js";

/**
 * Throws if an array of the caller has lost its memory since the call was made.
 *
 * @throws OptionError with code `"DETACHED_INPUT"`.
 */
export function assertIntact(operation: string, argument: string, array: object): void {
  if (!isIntact(array)) throw detachedError(operation, argument, "after the call was made");
}

/** The same for an array that is read at once. */
export function assertIntactNow(operation: string, argument: string, array: object): void {
  if (!isIntact(array)) throw detachedError(operation, argument, "when the call was made");
}

function detachedError(operation: string, argument: string, when: string): OptionError {
  return new OptionError(`${operation}: the memory of ${argument} was transferred, shrunk or detached ${when}`, {
    code: "DETACHED_INPUT",
    hint: "Leave arrays as they are until the call that reads them has settled, or pass copies.",
  });
}
