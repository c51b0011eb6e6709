import type { PlacedResult } from "../attention/attentionResult.js";
import type { Eventually, Recorded } from "../call/context.js";
import type { Disposing } from "../call/disposable.js";
import type { AppendProblem } from "./appendProblem.js";
import type { AttendProblem } from "./attendProblem.js";
import type { CacheForm } from "./cacheProblem.js";

/** A cache of an engine. Its properties show a call's changes after the call has settled. */
export interface EngineCache {
  /** Whether the cache lies on the GPU. Then inputs and results may lie there too. */
  readonly onGpu?: boolean;
  readonly form: CacheForm;
  /** For each batch: how many tokens were appended and not rewound. */
  readonly appended: readonly number[];
  readonly bytes: number;
  append(problem: AppendProblem): Eventually<void>;
  attend(problem: AttendProblem): Eventually<PlacedResult>;
  /** Both in one call. If it fails, nothing was appended, unless a ring has dropped tokens. */
  step?(append: AppendProblem, attend: AttendProblem): Eventually<PlacedResult>;
  /** Record into a GPUCommandEncoder. `appended` changes with the recording. */
  recordAppend?(encoder: object, problem: AppendProblem): Recorded<Disposing>;
  recordAttend?(encoder: object, problem: AttendProblem): Recorded<PlacedResult & Disposing>;
  /** @param lengths - For each batch; at most the number of tokens appended. */
  rewind(operation: string, lengths: Int32Array): Eventually<void>;
  fork(operation: string): Eventually<EngineCache>;
  slice(operation: string, from: number, to: number): Eventually<EngineCache>;
  save(operation: string): Eventually<Uint8Array>;
  release(): void;
}
