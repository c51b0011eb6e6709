import type { ResultTensor } from "../attention/attentionResult.js";
import { describe } from "../base/describe.js";
import { OptionError, ShapeError, UnsupportedError } from "../base/errors.js";
import type { Asked, OrAbsent } from "../read/asked.js";
import type { CallArguments } from "../read/callArguments.js";
import { refuseGpu, type LocationChoice } from "../read/location.js";
import { namesOf, readOptions, type OptionReader } from "../read/options.js";
import { outputForm, type OutputForm } from "../read/outputForm.js";
import type { GpuFloats, GpuFloatWeight, GpuResult } from "../tensor/gpuTensor.js";
import { product } from "../tensor/product.js";
import {
  FLOATS,
  WEIGHT_FLOATS,
  type FloatTensor,
  type FloatTensorLike,
  type FloatWeightLike,
  type PlacedFloats,
  type PlacedTensor,
  type PlacedWeights,
  type TypedTensor,
} from "../tensor/tensor.js";
import { UploadedWeight, type EngineWeight, type Uploaded } from "./uploadedWeight.js";
import {
  LINEAR_LAYOUTS,
  PANEL_WIDTH,
  readScales,
  WEIGHT_LAYOUTS,
  WEIGHTS,
  type LinearLayout,
  type WeightTensor,
  type WeightLayout,
} from "./weight.js";

/** Options of `linear`. */
export interface LinearOptions {
  /**
   * How the weight is stored. Default: as an UploadedWeight says; otherwise `"in-out"`: `[inputDim, outputDim]`. Only wasm
   * reads `"panels"`: `[⌈outputDim / 16⌉, inputDim, 16]`, not int8. Its outputDim is the bias's length, or without a bias all that
   * the panels hold.
   */
  readonly weightLayout?: LinearLayout | undefined;
  /** A tensor of the output's shape, to write the output to. */
  readonly into?: FloatTensor | GpuFloats | undefined;
  /** Aborts the call while it waits in the queue. */
  readonly signal?: AbortSignal | undefined;
}

/** Options of `uploadWeight`. */
export interface UploadWeightOptions {
  /** How the weight is stored. Default `"in-out"`: `[inputDim, outputDim]`. */
  readonly weightLayout?: WeightLayout | undefined;
  /** Aborts the call while it waits in the queue. */
  readonly signal?: AbortSignal | undefined;
}

/** The gradients that `linearBackward` can give. */
export type LinearGradient = "dInput" | "dWeight" | "dBias";

/** Which gradients to compute. */
export type LinearReturns = { readonly [Name in LinearGradient]?: boolean | undefined };

/** The type of an absent `returns`: all gradients. */
export type AllLinearGradients = { readonly [Name in LinearGradient]: true };

/** What `linearBackward` reads. */
export interface LinearBackwardOptions<R extends LinearReturns | undefined = LinearReturns | undefined> {
  /** As `linear` had it, `[…, inputDim]`. */
  readonly x: FloatTensorLike | GpuFloats;
  /** As `linear` had it, but not int8. */
  readonly weight: FloatWeightLike | GpuFloatWeight;
  /** The gradient of the loss with respect to the output, `[…, outputDim]`. */
  readonly dOutput: FloatTensorLike | GpuFloats;
  /** How the weight is stored, and so its gradient. Default `"in-out"`: `[inputDim, outputDim]`. */
  readonly weightLayout?: WeightLayout | undefined;
  /** Which gradients to compute. Default: all. */
  readonly returns?: R;
  /** Aborts the call while it waits in the queue. */
  readonly signal?: AbortSignal | undefined;
}

type GradientAt<L extends LocationChoice> = L extends "gpu" ? GpuResult<"float32"> : TypedTensor<"float32">;

/** The result of `linearBackward`: float32, with the shapes of x, weight and bias. It has what `returns` asked for. */
export type LinearGradientsAt<
  L extends LocationChoice = "cpu",
  R extends LinearReturns | undefined = AllLinearGradients,
> = Asked<OrAbsent<R, AllLinearGradients>, { readonly [Name in LinearGradient]?: GradientAt<L> }>;

/** A weight and its layout. */
interface Weighted<Layout extends LinearLayout = WeightLayout> {
  readonly inputDim: number;
  readonly outputDim: number;
  /** `[inputDim, outputDim]`, or `[outputDim, inputDim]` if `weightLayout` is `"out-in"`; panels as `LinearLayout` says. */
  readonly weight: WeightTensor;
  readonly weightLayout: Layout;
}

/** A call of uploadWeight that has passed every check. */
export interface UploadWeightProblem extends Weighted {
  readonly operation: string;
  /** Of a weight of int8: `[outputDim]`. */
  readonly scales: PlacedTensor<"float32"> | undefined;
  readonly signal: AbortSignal | undefined;
}

/** What a call of `linear` and one of `linearBackward` have in common. */
interface LinearMap<Layout extends LinearLayout = WeightLayout> extends Weighted<Layout> {
  readonly operation: string;
  /** The product of all extents of x but the last. */
  readonly rows: number;
  /** `[…, inputDim]` */
  readonly x: PlacedFloats;
  readonly location: "cpu" | "gpu";
  readonly signal: AbortSignal | undefined;
}

/** A call of linear that has passed every check: Y = X W + b over `rows` rows. */
export interface LinearProblem extends LinearMap<LinearLayout> {
  /** The weight as the engine has it, if it was uploaded; the numbers of `weight` are then in another order. */
  readonly uploaded: EngineWeight | undefined;
  /** Of a weight of int8: `[outputDim]`. */
  readonly scales: PlacedTensor<"float32"> | undefined;
  /** `[outputDim]` */
  readonly bias: PlacedWeights | undefined;
  /** `[…, outputDim]` */
  readonly output: OutputForm;
}

/** A call of linearBackward that has passed every check. */
export interface LinearBackwardProblem extends LinearMap {
  readonly weight: PlacedWeights;
  /** `[…, outputDim]` */
  readonly dOutput: PlacedFloats;
  readonly wanted: Readonly<Record<LinearGradient, boolean>>;
}

/** float32, with the shapes of what they belong to. */
export type PlacedLinearGradients = { readonly [Name in LinearGradient]?: ResultTensor<"float32"> };

const OPTION_NAMES = namesOf<LinearOptions & { location: string }>({
  weightLayout: true,
  location: true,
  into: true,
  signal: true,
});

/** Reads and checks a call of linear on an engine. */
export function linearProblem(
  call: CallArguments,
  engine: object,
  givenX: unknown,
  givenWeight: unknown,
  givenBias: unknown,
  givenOptions: unknown,
): LinearProblem {
  const { operation } = call;
  const options = readOptions(call, givenOptions, OPTION_NAMES);
  const x = call.placed("x", givenX, FLOATS);
  const there = call.needs(() => UploadedWeight.in(engine, operation, givenWeight));
  const weight = there?.weight ?? call.placed("weight", givenWeight, WEIGHTS);
  const bias = givenBias === undefined ? undefined : call.placed("bias", givenBias, WEIGHT_FLOATS);
  const map = readMap(call, options, x, readLinearWeight(options, weight, bias, there));
  const scales = there ? undefined : readScales(call, givenWeight, weight, map.outputDim);
  if (bias) checkShape(operation, "bias", bias, [map.outputDim]);
  const { rows, inputDim, outputDim, weightLayout, location, signal } = map;
  return {
    operation,
    x,
    weight,
    weightLayout,
    rows,
    inputDim,
    outputDim,
    scales,
    bias,
    uploaded: there?.uploaded,
    output: outputForm(options, outputShape(map), x),
    location,
    signal,
  };
}

/** Reads and checks a call of uploadWeight. */
export function uploadWeightProblem(call: CallArguments, given: unknown, givenOptions: unknown): UploadWeightProblem {
  const { operation } = call;
  const options = readOptions(call, givenOptions, ["weightLayout", "signal"]);
  const weighted = readWeight(options, call.placed("weight", given, WEIGHTS));
  const scales = readScales(call, given, weighted.weight, weighted.outputDim);
  return { operation, ...weighted, scales, signal: options.signal() };
}

const BACKWARD_NAMES = namesOf<LinearBackwardOptions & { location: string }>({
  x: true,
  weight: true,
  dOutput: true,
  weightLayout: true,
  returns: true,
  location: true,
  signal: true,
});
const GRADIENT_NAMES = namesOf<LinearReturns>({ dInput: true, dWeight: true, dBias: true });

/** Reads and checks a call of linearBackward. */
export function linearBackwardProblem(call: CallArguments, given: unknown): LinearBackwardProblem {
  const options = readOptions(call, given, BACKWARD_NAMES);
  const x = required(options, "x", "the input of `linear`");
  const weight = floatWeight(options);
  const dOutput = required(options, "dOutput", "the gradient with respect to the output");
  const map = readMap(call, options, x, readWeight(options, weight));
  checkShape(call.operation, "dOutput", dOutput, outputShape(map));
  const returns = options.object("returns", GRADIENT_NAMES);
  const isWanted = (name: LinearGradient) => (returns ? returns.flag(name, false) : true);
  const wanted = { dInput: isWanted("dInput"), dWeight: isWanted("dWeight"), dBias: isWanted("dBias") };
  return { ...map, weight, dOutput, wanted };
}

function floatWeight(options: OptionReader): PlacedWeights {
  if (UploadedWeight.is(options.value("weight")))
    throw new UnsupportedError(`${options.operation}: weight must be a tensor, got an UploadedWeight`, {
      hint: "Give the tensor that `uploadWeight` was given.",
    });
  const weight = options.placed("weight", WEIGHTS);
  if (!weight) throw options.missing("weight", "the weight of `linear`");
  if (weight.dtype !== "int8") return weight as PlacedWeights;
  throw new UnsupportedError(`${options.operation}: weight must be float32, float16 or bfloat16, got int8`, {
    hint: "Keep the weight that `quantizeWeight` was given, and train that.",
  });
}

function required(options: OptionReader, name: string, meaning: string): PlacedFloats {
  const tensor = options.placed(name, FLOATS);
  if (!tensor) throw options.missing(name, meaning);
  return tensor;
}

/** Reads the layout of the weight of `linear`, and with it the widths. */
function readLinearWeight(
  options: OptionReader,
  weight: WeightTensor,
  bias: PlacedWeights | undefined,
  there: Uploaded | undefined,
): Weighted<LinearLayout> {
  const { operation } = options;
  const weightLayout = options.oneOf("weightLayout", LINEAR_LAYOUTS, there?.weightLayout ?? "in-out");
  if (there && weightLayout !== there.weightLayout)
    throw new OptionError(
      `${operation}: weightLayout must be "${there.weightLayout}", as \`uploadWeight\` was told, got "${weightLayout}"`,
    );
  return weightLayout === "panels" ? panelsOf(operation, weight, bias) : weighted(operation, weight, weightLayout);
}

function panelsOf(operation: string, weight: WeightTensor, bias: PlacedWeights | undefined): Weighted<"panels"> {
  const { shape, dtype } = weight;
  if (shape.length !== 3 || shape.includes(0) || shape[2] !== PANEL_WIDTH)
    throw new ShapeError(
      `${operation}: weight.shape must be [panels, inputDim, ${PANEL_WIDTH}] with weightLayout "panels", got ${describe(shape)}`,
    );
  if (dtype === "int8")
    throw new UnsupportedError(`${operation}: weight must not be int8 with weightLayout "panels"`, {
      hint: 'WebAssembly reads int8 best with weightLayout "out-in".',
    });
  const all = PANEL_WIDTH * shape[0]!;
  const [outputDim = 0, ...more] = bias?.shape ?? [all];
  if (more.length > 0 || outputDim > all || outputDim <= all - PANEL_WIDTH)
    throw new ShapeError(
      `${operation}: bias.shape must be [outputDim] with ${all - PANEL_WIDTH} < outputDim <= ${all}, which the weight's panels hold, got ${describe(bias!.shape)}`,
    );
  return { weight, weightLayout: "panels", inputDim: shape[1]!, outputDim };
}

/** Reads the layout of a weight, and with it the widths. */
function readWeight(options: OptionReader, weight: WeightTensor): Weighted {
  return weighted(options.operation, weight, options.oneOf("weightLayout", WEIGHT_LAYOUTS, "in-out"));
}

function weighted(operation: string, weight: WeightTensor, weightLayout: WeightLayout): Weighted {
  if (weight.shape.length !== 2 || weight.shape.includes(0))
    throw new ShapeError(
      `${operation}: weight.shape must be ${weightLayout === "in-out" ? "[inputDim, outputDim]" : "[outputDim, inputDim]"}` +
        ` with extents of at least 1, got ${describe(weight.shape)}`,
    );
  const [inputAxis, outputAxis] = weightLayout === "in-out" ? [0, 1] : [1, 0];
  return { weight, weightLayout, inputDim: weight.shape[inputAxis]!, outputDim: weight.shape[outputAxis]! };
}

function readMap<Layout extends LinearLayout>(
  call: CallArguments,
  options: OptionReader,
  x: PlacedFloats,
  weighted: Weighted<Layout>,
): LinearMap<Layout> {
  const { operation } = call;
  const { weightLayout, inputDim, outputDim } = weighted;
  if (!call.placement.onGpu) refuseGpu(options);
  const last = x.shape.length - 1;
  if (last < 0) throw new ShapeError(`${operation}: x must have rank 1 or more, got shape []`);
  if (x.shape[last] !== inputDim)
    throw new ShapeError(
      `${operation}: x.shape[${last}] must be weight.shape[${weightLayout === "in-out" ? 0 : 1}] (inputDim), got ${x.shape[last]} and ${inputDim}`,
      weightLayout !== "panels" && x.shape[last] === outputDim
        ? { hint: `Is the weight stored the other way? Give weightLayout: "${other(weightLayout)}".` }
        : {},
    );
  return {
    operation,
    ...weighted,
    rows: product(x.shape.slice(0, last)),
    x,
    location: options.oneOf("location", ["cpu", "gpu"], "cpu"),
    signal: options.signal(),
  };
}

function other(layout: WeightLayout): WeightLayout {
  return layout === "in-out" ? "out-in" : "in-out";
}

function outputShape({ x, outputDim }: LinearMap<LinearLayout>): number[] {
  return [...x.shape.slice(0, -1), outputDim];
}

function checkShape(operation: string, name: string, { shape }: PlacedWeights, expected: readonly number[]): void {
  if (describe(shape) !== describe(expected))
    throw new ShapeError(`${operation}: ${name}.shape must be ${describe(expected)}, got ${describe(shape)}`);
}
