import { isCallable } from "../base/callable.js";
import { describe, isObject } from "../base/describe.js";
import { OptionError } from "../base/errors.js";
import { guarded } from "../base/guarded.js";

/**
 * Checks an argument that must be an instance. It is recognised by its methods, because it may be of another copy of the
 * package.
 *
 * @param argument - The words for the argument in messages.
 */
export function checkInstance(operation: string, argument: string, hw: unknown, methods: readonly string[]): void {
  const has = (method: string) => isCallable((hw as Readonly<Record<string, unknown>>)[method]);
  if (guarded(operation, argument, () => isObject(hw) && methods.every(has))) return;
  throw new OptionError(`${operation}: ${argument} must be an instance, got ${describe(hw)}`, {
    hint: "createAttention makes one.",
  });
}
