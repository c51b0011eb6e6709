import type { HeadwiseError } from "../../web/src/errors/errors.js";

/** What `action` throws; it is an error of its own if it throws nothing. */
export function thrownBy(action: () => unknown): HeadwiseError {
  try {
    action();
  } catch (error) {
    return error as HeadwiseError;
  }
  throw new Error("nothing was thrown");
}
