import type { AttentionProblem } from "../attention/attentionProblem.js";
import type { AttentionSettings } from "../attention/attentionSettings.js";
import type { EngineLayer } from "../layer/engineLayer.js";
import type { ForwardProblem } from "../layer/forwardProblem.js";
import type { LinearProblem } from "../linear/linearProblem.js";
import type { WeightTensor } from "../linear/weight.js";
import type { RotaryProblem } from "../position/rotaryProblem.js";
import type { OutputForm } from "../read/outputForm.js";
import type { PlacedTensor } from "../tensor/tensor.js";
import type { Eventually } from "../turn/context.js";

/**
 * Addresses from here on are places in the memory of a step, which the engine allocates when it makes the step. Those of
 * real memory are lower.
 */
export const STEP_MEMORY = 2 ** 40;

/** Where an array of a step lies. */
export interface ArrayPlace {
  readonly address: number;
  readonly bytes: number;
}

/** Rows in the engine. */
export interface Rows<D extends "float32" | "int32" = "float32"> {
  readonly tensor: PlacedTensor<D>;
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
  readonly y: PlacedTensor<"float32">;
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

/** What a map makes of each number of x. */
export type NumberMap = Pick<MapPart, "f" | "divisor" | "scale" | "times" | "plus">;

/** y[n] = scale · table[numbers[n]] */
export interface TakePart extends RowPart {
  readonly kind: "take";
  readonly numbers: PlacedTensor<"int32">;
  readonly table: WeightTensor;
  /** Of a table of int8: one for each row. */
  readonly scales: PlacedTensor<"float32"> | undefined;
  readonly scale: number;
}

/** y = softmax(scale · x) */
export interface SoftmaxPart extends RowPart {
  readonly kind: "softmax";
  readonly x: Rows;
  readonly scale: number;
}

/** The k largest numbers of each row, and their columns. */
export interface TopPart {
  readonly kind: "top";
  readonly rows: number;
  readonly width: number;
  readonly x: Rows;
  readonly k: number;
  readonly values: PlacedTensor<"float32">;
  readonly indices: PlacedTensor<"int32">;
}

/** A rotary embedding. */
export interface TurnPart {
  readonly kind: "turn";
  readonly problem: RotaryProblem;
  /** The positions `[B, S]` that each run has; undefined: those of the problem. */
  readonly numbers: PlacedTensor<"int32"> | undefined;
}

/** Attention without a layer. */
export interface AttentionPart {
  readonly kind: "attention";
  readonly problem: AttentionProblem;
}

/** A part that ends with a product. */
interface EndsWithProduct {
  /** What is made of each number of the result. Recorders give none; joinedMaps.ts does. */
  readonly map?: NumberMap | undefined;
}

export interface LinearPart extends EndsWithProduct {
  readonly kind: "linear";
  readonly problem: LinearProblem;
}

export interface LayerPart extends EndsWithProduct {
  readonly kind: "layer";
  readonly layer: EngineLayer;
  readonly problem: ForwardProblem;
}

/** One operation of a step. All that it reads and writes has its place. */
export type StepPart =
  | NormPart
  | MapPart
  | TakePart
  | SoftmaxPart
  | TopPart
  | TurnPart
  | AttentionPart
  | LinearPart
  | LayerPart;

/** What a run gives: rows, side by side. */
export interface StepOutput {
  readonly rows: number;
  readonly width: number;
  readonly x: Rows | Rows<"int32">;
}

/** A step that has passed every check. */
export interface StepProblem {
  readonly operation: string;
  readonly parts: readonly StepPart[];
  /** Where the arrays of the step lie, one after another. */
  readonly places: readonly ArrayPlace[];
  /** What each run writes first. */
  readonly inputs: readonly PlacedTensor<"float32" | "int32">[];
  readonly outputs: readonly StepOutput[];
  readonly signal: AbortSignal | undefined;
}

/** The numbers of an input or an output. */
export type StepArray = Float32Array | Int32Array;

/** A step in an engine. */
export interface EngineStep {
  /** Bytes of its memory, and of the weights that it has copied. */
  readonly bytes: number;
  /**
   * Runs all parts, in order. If one fails, the caches of the step are as before.
   *
   * @param inputs - The numbers of each input.
   * @returns The numbers of each output.
   */
  run(operation: string, inputs: readonly StepArray[]): Eventually<readonly StepArray[]>;
  release(): Eventually<void>;
}

/** Changes a tensor. */
type Change = <T extends PlacedTensor>(tensor: T) => T;

/** A part with other tensors. */
export function withTensors<P extends StepPart>(part: P, change: Change): P {
  return partWith(part, change) as P;
}

function partWith(part: StepPart, change: Change): StepPart {
  const some = <T extends PlacedTensor | undefined>(tensor: T): T => tensor && change(tensor);
  const rows = <R extends Rows | undefined>(x: R): R => x && { ...x, tensor: change(x.tensor) };
  const mapWith = <M extends NumberMap | undefined>(map: M): M =>
    map && { ...map, times: rows(map.times), plus: rows(map.plus) };
  switch (part.kind) {
    case "norm":
      return { ...part, x: rows(part.x), gain: change(part.gain), shift: some(part.shift), y: change(part.y) };
    case "map":
      return { ...mapWith(part), x: rows(part.x), y: change(part.y) };
    case "take":
      return {
        ...part,
        numbers: change(part.numbers),
        table: change(part.table),
        scales: some(part.scales),
        y: change(part.y),
      };
    case "softmax":
      return { ...part, x: rows(part.x), y: change(part.y) };
    case "top":
      return { ...part, x: rows(part.x), values: change(part.values), indices: change(part.indices) };
    case "turn": {
      const { x, output } = part.problem;
      const problem = { ...part.problem, x: change(x), output: withInto(output, change) };
      return { ...part, numbers: some(part.numbers), problem };
    }
    case "attention": {
      const { query, key, value, settings, output } = part.problem;
      const tensors = { query: change(query), key: change(key), value: change(value) };
      const changed = { settings: withMasks(settings, change), output: withInto(output, change) };
      return { ...part, problem: { ...part.problem, ...tensors, ...changed } };
    }
    case "linear": {
      const { x, weight, scales, bias, output } = part.problem;
      const tensors = { x: change(x), weight: change(weight), scales: some(scales), bias: some(bias) };
      return {
        ...part,
        map: mapWith(part.map),
        problem: { ...part.problem, ...tensors, output: withInto(output, change) },
      };
    }
    case "layer": {
      const { x, settings, output } = part.problem;
      const changed = { x: change(x), settings: withMasks(settings, change), output: withInto(output, change) };
      return { ...part, map: mapWith(part.map), problem: { ...part.problem, ...changed } };
    }
  }
}

function withMasks<S extends Pick<AttentionSettings, "mask" | "bias">>(settings: S, change: Change): S {
  const { mask, bias } = settings;
  const changed = {
    mask: mask && { ...mask, tensor: change(mask.tensor) },
    bias: bias && { ...bias, tensor: change(bias.tensor) },
  };
  return { ...settings, ...changed };
}

function withInto(output: OutputForm, change: Change): OutputForm {
  const { into } = output;
  return { ...output, into: into && { ...into, place: change(into.place) } };
}
