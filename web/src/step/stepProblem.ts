import type { Eventually } from "../call/context.js";
import type { EngineLayer } from "../layer/engineLayer.js";
import type { ForwardProblem } from "../layer/forwardProblem.js";
import type { LinearProblem } from "../linear/linearProblem.js";
import type { WeightTensor } from "../linear/weight.js";
import type { CheckedTensor, PlacedTensor } from "../tensor/tensor.js";

/** Rows of float32 in the engine. */
export interface Rows {
  readonly tensor: CheckedTensor<"float32">;
  /** The element of the tensor at which the first row begins. */
  readonly offset: number;
  /** How many elements lie between the beginnings of two rows; 0: all rows are the same one. */
  readonly stride: number;
}

/** What one row operation reads and writes: `rows` rows of `width` numbers. */
interface RowPart {
  readonly rows: number;
  readonly width: number;
  /** The result, without gaps. */
  readonly y: CheckedTensor<"float32">;
}

/** y = norm(x) · gain + shift */
export interface NormPart extends RowPart {
  readonly kind: "norm";
  readonly norm: "layer" | "rms";
  readonly x: Rows;
  readonly gain: PlacedTensor<"float32">;
  readonly shift: PlacedTensor<"float32"> | undefined;
  readonly epsilon: number;
}

/** The functions of numbers that a step has. */
export const ACTIVATIONS = ["gelu", "geluTanh", "quickGelu", "silu", "relu", "tanh"] as const;

/** A function of numbers. */
export type StepActivation = (typeof ACTIVATIONS)[number];

/** y = scale · f(x / divisor) · times + plus */
export interface MapPart extends RowPart {
  readonly kind: "map";
  /** undefined: f(x) = x */
  readonly f: StepActivation | undefined;
  readonly x: Rows;
  readonly divisor: number;
  readonly scale: number;
  readonly times: Rows | undefined;
  readonly plus: Rows | undefined;
}

/** y[n] = scale · table[numbers[n]] */
export interface TakePart extends RowPart {
  readonly kind: "take";
  readonly numbers: CheckedTensor<"int32">;
  readonly table: WeightTensor;
  /** Of a table of int8: one for each row. */
  readonly scales: PlacedTensor<"float32"> | undefined;
  readonly scale: number;
}

export interface LinearPart {
  readonly kind: "linear";
  readonly problem: LinearProblem;
}

export interface LayerPart {
  readonly kind: "layer";
  readonly layer: EngineLayer;
  readonly problem: ForwardProblem;
}

/** One operation of a step. All that it reads and writes has its place. */
export type StepPart = NormPart | MapPart | TakePart | LinearPart | LayerPart;

/** A step that has passed every check. */
export interface StepProblem {
  readonly operation: string;
  readonly parts: readonly StepPart[];
}

/** A step in an engine. */
export interface EngineStep {
  /** Bytes that it has in addition to the tensors of its parts. */
  readonly bytes: number;
  /** Runs all parts, in order. If one fails, the caches of the step are as before. */
  run(operation: string): Eventually<void>;
  release(): Eventually<void>;
}
