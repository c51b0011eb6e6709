import { adviceOf } from "../shell/advice.js";
import type { Failure } from "./protocol.js";

/** An error as a worker sends it to the page. */
export function asFailure(error: unknown): Failure {
  const hint = adviceOf(error);
  return { message: error instanceof Error ? error.message : String(error), ...(hint && { hint }) };
}
