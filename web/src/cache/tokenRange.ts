import { isObject } from "../base/describe.js";
import { OptionError, ShapeError } from "../base/errors.js";
import type { CallArguments } from "../read/callArguments.js";
import { argument } from "../read/options.js";
import { largestOf } from "../tensor/largest.js";

/**
 * Reads numbers of tokens: one for all batches, or one for each. The function it returns gives a number for every batch,
 * and throws if one is above the number of tokens appended. One number for all may be above that of a shorter batch: then
 * that batch gets its own. Call it when it is the call's turn.
 */
export function tokenCounts(
  call: CallArguments,
  name: string,
  given: unknown,
): (appended: readonly number[]) => Int32Array {
  const { operation } = call;
  const reader = argument(call, name, given);
  if (given === undefined || typeof given === "number") {
    const count = reader.requiredInteger(name, { min: 0 });
    return (appended) => {
      const longest = largestOf(appended);
      if (count > longest) throw reader.refuse(name, `be an integer from 0 to ${longest}`);
      return Int32Array.from(appended, (tokens) => Math.min(count, tokens));
    };
  }
  if (!isObject(given)) throw reader.refuse(name, "be an integer or a list of integers");
  const counts = reader.integers(name, { min: 0 })!;
  return (appended) => {
    if (counts.length !== appended.length)
      throw new ShapeError(`${operation}: ${name} must have length ${appended.length}, got ${counts.length}`);
    const outside = counts.findIndex((count, b) => count > appended[b]!);
    if (outside >= 0)
      throw new OptionError(
        `${operation}: ${name}[${outside}] must be at most the tokens appended, ` +
          `got ${counts[outside]} and ${appended[outside]}`,
      );
    return counts;
  };
}

/** Reads a range of tokens. The function it returns checks the range against the number of tokens in the cache. */
export function tokenRange(
  call: CallArguments,
  givenFrom: unknown,
  givenTo: unknown,
): (held: number) => [number, number] {
  const from = argument(call, "from", givenFrom);
  const to = argument(call, "to", givenTo);
  const start = from.requiredInteger("from", { min: 0 });
  const end = to.integer("to", { min: 0 });
  return (held) => {
    if (start > held) throw from.refuse("from", `be an integer from 0 to ${held}`);
    if (end !== undefined && (end < start || end > held))
      throw to.refuse("to", `be an integer from ${start} to ${held}`);
    return [start, end ?? held];
  };
}
