import type { PlacedResult } from "../attention/attentionResult.js";
import type { PlacedViews } from "../attention/views.js";
import type { Place } from "../tensor/place.js";
import type { Eventually, Recorded } from "../turn/context.js";
import type { Disposing } from "../turn/disposable.js";
import type { AppendProblem } from "./appendProblem.js";
import type { AttendProblem } from "./attendProblem.js";
import type { CacheForm } from "./cacheProblem.js";
import type { KeptTokens } from "./keptTokens.js";

/** A cache of an engine. Its properties show a call's changes after the call has settled. */
export interface EngineCache {
  /** Whether inputs and results may lie on the GPU. */
  readonly onGpu?: boolean;
  /** The engine in whose memory it lies. */
  readonly placement: Place;
  readonly form: CacheForm;
  /** For each batch: how many tokens were appended and not removed. */
  readonly appended: readonly number[];
  readonly bytes: number;
  append(problem: AppendProblem): Eventually<void>;
  attend(problem: AttendProblem): Eventually<PlacedResult & PlacedViews>;
  /** Both in one call. If it fails, nothing was appended, unless a ring has dropped a token for a single new one. */
  step(append: AppendProblem, attend: AttendProblem): Eventually<PlacedResult & PlacedViews>;
  /** Record into a GPUCommandEncoder. `appended` changes with the recording. */
  readonly recordAppend?: ((encoder: object, problem: AppendProblem) => Recorded<Disposing>) | undefined;
  readonly recordAttend?:
    | ((encoder: object, problem: AttendProblem) => Recorded<PlacedResult & PlacedViews & Disposing>)
    | undefined;
  /** @param lengths - For each batch; at most the number of tokens appended. */
  rewind(operation: string, lengths: Int32Array): Eventually<void>;
  /** Batch b then holds what batch indices[b] held. @param indices - `[B]`, each below B. */
  select(operation: string, indices: Int32Array): Eventually<void>;
  /** Removes the tokens that are not named. They are all held, and no ring has dropped tokens of a batch that shrinks. */
  keep(operation: string, tokens: KeptTokens): Eventually<void>;
  fork(operation: string): Eventually<EngineCache>;
  slice(operation: string, from: number, to: number): Eventually<EngineCache>;
  save(operation: string): Eventually<Uint8Array>;
  release(): void;
}
