/** What an adapter makes of an engine. */

import type { CaseGradient } from "../reference/caseTable.js";
import type { OnnxCase } from "../reference/onnxTensors.js";
import type { Call } from "./call.js";
import type { Category, Offered } from "./features.js";
import type { Numbers } from "./judge.js";

export interface Engine {
  /** As the engine itself names it. */
  readonly version: string;
  readonly offers: readonly Offered[];
  /** How the adapter wants its tensors: [B, H, S, D] or [B, S, H, D]. */
  readonly layout?: "BHSD" | "BSHD";
  /** Headings of which the engine's documents promise nothing: a check of theirs that does not pass is refused. */
  readonly unpromised?: readonly Category[];
  /** What the engine's documents say of a row that sees no key. */
  readonly emptyRows?: "zero" | "nan" | "uniform";
  attention(call: Call): Promise<Readonly<Record<string, Numbers>>>;
  gradients?(call: Call): Promise<Readonly<Partial<Record<CaseGradient, Numbers>>>>;
  onnx?(example: OnnxCase, inputs: object): Promise<Readonly<Record<string, Numbers>>>;
  close?(): unknown;
}
