import type {
  AttentionOptions,
  AttentionResult,
  FloatResult,
  ForwardOptions,
  LayerOptions,
  Report,
  RotaryOptions,
} from "headwise";

import type { Anatomy } from "../../model/anatomy.js";
import type { EncodeOptions, Encoding } from "../../model/encoder.js";
import type { BenchFigure, BenchOrder } from "./bench.js";
import type { Floats } from "./floats.js";
import type { Trouble } from "./trouble.js";

/** The jobs of the worker: what each takes and gives. */
export interface Jobs {
  attention: {
    takes: { query: Floats; key: Floats; value: Floats; options: Omit<AttentionOptions, "location"> };
    gives: AttentionResult;
  };
  layer: {
    takes: { layer: LayerOptions; x: Floats; options: Omit<ForwardOptions, "location"> };
    gives: AttentionResult;
  };
  rotary: { takes: { x: Floats; options: RotaryOptions }; gives: FloatResult };
  /** Runs the sentence encoder. With `exact`, attention is computed by its definition in double precision. */
  encode: { takes: { texts: readonly string[]; options: EncodeOptions; exact?: boolean }; gives: readonly Encoding[] };
  /** Runs the sentence encoder, and measures what a picture needs of its inside. With `exact` as above. */
  anatomy: { takes: { text: string; options: EncodeOptions; exact?: boolean }; gives: Anatomy };
  bench: { takes: BenchOrder; gives: readonly BenchFigure[] };
}
export type JobName = keyof Jobs;

/** Which engine to open. headwise chooses what is absent. */
export interface EngineChoice {
  readonly backend?: "auto" | "wasm" | "webgpu";
  readonly threads?: number;
}

export type Request =
  | { readonly kind: "open"; readonly choice: EngineChoice }
  /** Ends a bench that runs. It is then done, with what it has measured. */
  | { readonly kind: "cancelBench" }
  | { readonly kind: "job"; readonly id: number; readonly name: JobName; readonly takes: Jobs[JobName]["takes"] };

export type Reply =
  | { readonly kind: "report"; readonly report: Report }
  | { readonly kind: "unusable"; readonly reason: Failure }
  | {
      readonly kind: "progress";
      readonly what: string;
      readonly done: number;
      readonly total: number;
      readonly unit: string;
    }
  | {
      readonly kind: "done";
      readonly id: number;
      readonly gives: Jobs[JobName]["gives"];
      readonly milliseconds: number;
    }
  | { readonly kind: "failed"; readonly id: number; readonly reason: Failure };

/** An error as it is sent from the worker. */
export interface Failure {
  readonly message: string;
  readonly hint?: string;
  /** What happened, if the lab itself says it. */
  readonly trouble?: Trouble;
  /** Whether the visitor has chosen an engine, and may choose another one. */
  readonly isOfChoice?: boolean;
}
