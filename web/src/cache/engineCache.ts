import type { AttentionResult } from "../attention/attentionResult.js";
import type { Eventually } from "../call/context.js";
import type { AppendProblem } from "./appendProblem.js";
import type { AttendProblem } from "./attendProblem.js";
import type { CacheForm } from "./cacheProblem.js";

/** A cache in an engine. What calls change shows when they have settled. */
export interface EngineCache {
  /** Whether it lies on the GPU: then tensors may lie there too, and results be left there. */
  readonly onGpu?: boolean;
  readonly form: CacheForm;
  /** Tokens ever appended and not rewound, by batch. */
  readonly appended: readonly number[];
  readonly bytes: number;
  append(problem: AppendProblem): Eventually<void>;
  attend(problem: AttendProblem): Eventually<AttentionResult>;
  /** @param lengths - By batch, none above what was appended. */
  rewind(operation: string, lengths: Int32Array): Eventually<void>;
  fork(operation: string): Eventually<EngineCache>;
  slice(operation: string, from: number, to: number): Eventually<EngineCache>;
  save(operation: string): Eventually<Uint8Array>;
  release(): void;
}
