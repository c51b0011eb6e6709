import type { HeadwiseError } from "../../web/src/base/errors.js";

/** The error that `action` throws. If it throws nothing, this throws. */
export function thrownBy(action: () => unknown): HeadwiseError {
  try {
    action();
  } catch (error) {
    return error as HeadwiseError;
  }
  throw new Error("nothing was thrown");
}

/** What a promise rejects with, or a sentence that it did not. */
export function thrown(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => "it was computed",
    (reason: unknown) => reason,
  );
}
