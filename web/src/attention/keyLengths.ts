import { OptionError } from "../base/errors.js";

/**
 * Checks keyLengths.
 *
 * @param mostOf - The number of keys that a batch has.
 */
export function checkKeyLengths(
  operation: string,
  keyLengths: ArrayLike<number> | undefined,
  mostOf: (batch: number) => number,
): void {
  for (let batch = 0; keyLengths && batch < keyLengths.length; ++batch) {
    const most = mostOf(batch);
    if (keyLengths[batch]! > most)
      throw new OptionError(
        `${operation}: keyLengths[${batch}] must be an integer from 0 to ${most}, got ${keyLengths[batch]}`,
      );
  }
}
