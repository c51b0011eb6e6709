import { HeadwiseError } from "headwise";

import type { Failure } from "./protocol.js";

/** An error as a worker sends it to the page. */
export function asFailure(error: unknown): Failure {
  if (HeadwiseError.is(error)) return { message: error.message, ...(error.hint && { hint: error.hint }) };
  return { message: error instanceof Error ? error.message : String(error) };
}
