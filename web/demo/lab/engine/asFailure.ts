import { adviceOf } from "../shell/advice.js";
import { ChoiceError } from "./openAttention.js";
import type { Failure } from "./protocol.js";
import { TroubleError } from "./trouble.js";

/** An error as a worker sends it to the page. */
export function asFailure(error: unknown): Failure {
  const hint = adviceOf(error);
  return {
    message: error instanceof Error ? error.message : String(error),
    ...(hint && { hint }),
    ...(error instanceof TroubleError && { trouble: error.trouble }),
    ...(error instanceof ChoiceError && { isOfChoice: true }),
  };
}
