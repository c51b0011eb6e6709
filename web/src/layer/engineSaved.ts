import type { Eventually } from "../turn/context.js";

/** What an engine kept of a call of forward, for its gradient. It does not refer to the caller's arrays. */
export interface EngineSaved {
  readonly bytes: number;
  release(): Eventually<void>;
}
