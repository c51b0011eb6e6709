import { describe } from "../base/describe.js";
import { OptionError, ShapeError } from "../base/errors.js";
import type { ScoreDerivatives } from "../formula/derivatives.js";
import type { Asked, OrAbsent } from "../read/asked.js";
import type { CallArguments } from "../read/callArguments.js";
import { refuseGpu, type LocationChoice, type LocationOption } from "../read/location.js";
import { readOptions, type OptionReader } from "../read/options.js";
import { LOCATION, ofCall, WATCH } from "../read/settingKinds.js";
import { namesIn, readTable, type TableOf } from "../read/settingTable.js";
import type { Watched } from "../read/watched.js";
import type { GpuFloats, GpuResult, GpuTensor, OnGpu } from "../tensor/gpuTensor.js";
import { keepRank, type Layout } from "../tensor/layout.js";
import {
  FLOATS,
  type Dtype,
  type FloatTensorLike,
  type PlacedFloats,
  type PlacedTensor,
  type Tensor,
  type TypedTensor,
} from "../tensor/tensor.js";
import { CALL_NAMES, outputShape, readCall, type AttentionOptions } from "./attentionProblem.js";
import type { ResultTensor } from "./attentionResult.js";
import type { AttentionSettings } from "./attentionSettings.js";
import type { AttentionShape } from "./attentionShape.js";
import { formulaReading } from "./formulaReading.js";
import { noteOf } from "./mergeNotes.js";
import { BACKWARD_OTHERS } from "./otherNames.js";
import type { Ragged } from "./ragged.js";

/** The gradients that attentionBackward can give. */
export const GRADIENTS = [
  "dQuery",
  "dKey",
  "dValue",
  "dBias",
  "dSinks",
  "dHeadGain",
  "dAlibiSlopes",
  "dTables",
] as const;
export type Gradient = (typeof GRADIENTS)[number];

/** Which gradients to compute. */
export type GradientReturns = { readonly [Name in Gradient]?: boolean | undefined };

/** The type of an absent `returns`. */
export type UsualGradients = { readonly dQuery: true; readonly dKey: true; readonly dValue: true };

/**
 * What attentionBackward reads: the inputs and options of the forward call, its results `output` and `lse`, and the
 * gradients of the loss with respect to the output and, if the loss reads it, to lse.
 */
export type AttentionBackwardOptions<R extends GradientReturns | undefined = GradientReturns | undefined> = OnGpu<
  Omit<AttentionOptions, "returns" | "into" | "location">
> & {
  readonly query: FloatTensorLike | GpuFloats;
  readonly key: FloatTensorLike | GpuFloats;
  readonly value: FloatTensorLike | GpuFloats;
  /** The forward's result. */
  readonly output: FloatTensorLike | GpuFloats;
  /** The forward's result, with `returns: { lse: true }`. */
  readonly lse: Tensor<"float32"> | GpuTensor<"float32">;
  /** The gradient of the loss with respect to the output, in the output's shape; float32 or float16. */
  readonly dOutput: FloatTensorLike | GpuFloats;
  /** The gradient of the loss with respect to `lse`, in its shape, of a loss that reads it. Default: 0. */
  readonly dLse?: Tensor<"float32"> | GpuTensor<"float32"> | null | undefined;
  /** Which gradients to compute. Default: `dQuery`, `dKey` and `dValue`. */
  readonly returns?: R;
};

type GradientAt<L extends LocationChoice, Name extends Gradient> = Name extends "dTables"
  ? Readonly<Record<string, L extends "gpu" ? GpuResult<"float32"> : TypedTensor<"float32">>>
  : L extends "gpu"
    ? GpuResult<"float32">
    : TypedTensor<"float32">;

/**
 * The result of attentionBackward: float32, in the shapes and layouts of what they belong to. It has what `returns` asked
 * for. `dTables` has a tensor for each parameter of the score formula, by name; that of a number has the shape `[]`.
 */
export type GradientsAt<
  L extends LocationChoice = "cpu",
  R extends GradientReturns | undefined = UsualGradients,
> = Asked<OrAbsent<R, UsualGradients>, { readonly [Name in Gradient]?: GradientAt<L, Name> }>;

/** A call of attentionBackward that has passed every check. */
export interface BackwardProblem extends Watched {
  readonly operation: string;
  readonly layout: Layout;
  readonly kvLayout: Layout;
  readonly shape: AttentionShape;
  readonly query: PlacedFloats;
  readonly key: PlacedFloats;
  readonly value: PlacedFloats;
  /** The forward's result, in the layout of the query. */
  readonly output: PlacedFloats;
  /** The forward's result, [B, numHeads, Sq]; its shape may have the rank of the inputs. */
  readonly lse: PlacedTensor<"float32">;
  readonly dOutput: PlacedFloats;
  /** Like lse; undefined: 0. */
  readonly dLse: PlacedTensor<"float32"> | undefined;
  readonly settings: AttentionSettings;
  /** Of settings.score. */
  readonly derivatives: ScoreDerivatives | undefined;
  readonly ragged: Ragged | undefined;
  readonly wanted: Readonly<Record<Gradient, boolean>>;
  readonly location: "cpu" | "gpu";
}

/** Gradients as an engine gives them: float32, with the shapes of what they belong to. */
export interface PlacedGradients {
  readonly dQuery?: ResultTensor<"float32">;
  readonly dKey?: ResultTensor<"float32">;
  readonly dValue?: ResultTensor<"float32">;
  /** In the bias's own shape. */
  readonly dBias?: ResultTensor<"float32">;
  /** `[numHeads]`, and so are the next two. */
  readonly dSinks?: ResultTensor<"float32">;
  readonly dHeadGain?: ResultTensor<"float32">;
  readonly dAlibiSlopes?: ResultTensor<"float32">;
  /** By the names of the score formula's parameters, in their shapes; a number has shape []. */
  readonly dTables?: Readonly<Record<string, ResultTensor<"float32">>>;
}

type OwnOptions = Omit<
  AttentionBackwardOptions & LocationOption,
  Exclude<keyof AttentionOptions, "returns" | "location" | "signal" | "onProgress">
>;

/** A row for each option that the forward call does not have. */
export const BACKWARD = {
  query: ofCall(),
  key: ofCall(),
  value: ofCall(),
  output: ofCall(),
  lse: ofCall(),
  dOutput: ofCall(),
  dLse: ofCall(),
  returns: ofCall(),
  location: LOCATION,
  ...WATCH,
} satisfies TableOf<OwnOptions>;

const OPTION_NAMES = [...namesIn(BACKWARD), ...CALL_NAMES];

/** The option that a gradient belongs to. */
const OPTION_OF: Readonly<Partial<Record<Gradient, keyof AttentionSettings>>> = {
  dBias: "bias",
  dSinks: "sinks",
  dAlibiSlopes: "alibiSlopes",
  dTables: "score",
};

/**
 * Reads a call of attentionBackward and does all checks, before anything is allocated.
 *
 * @throws ShapeError, OptionError or UnsupportedError.
 */
export function backwardProblem(call: CallArguments, given: unknown): BackwardProblem {
  const { operation } = call;
  const options = readOptions(call, given, OPTION_NAMES, "", "option", BACKWARD_OTHERS);
  const query = required(options, "query", FLOATS);
  const key = required(options, "key", FLOATS);
  const value = required(options, "value", FLOATS);
  const output = required(options, "output", FLOATS, "The result of the forward call.");
  const lse = required(options, "lse", ["float32"], LSE_HINT);
  const dOutput = required(options, "dOutput", FLOATS, "The gradient of the loss with respect to the output.");
  const dLse = readLseGradient(options);
  if (!call.placement.onGpu) refuseGpu(options);
  const { layout, kvLayout, shape, ragged, settings } = readCall(call, query, key, value, options);
  const rank = query.shape.length;
  const { batchSize, numHeads, queryLength } = shape;
  checkShape(operation, "output", output, outputShape(layout, rank, shape));
  checkShape(operation, "dOutput", dOutput, outputShape(layout, rank, shape));
  const lseShape = keepRank(layout, rank, [batchSize, numHeads, queryLength]);
  checkShape(operation, "lse", lse, lseShape, LSE_HINT);
  if (dLse) checkShape(operation, "dLse", dLse, lseShape, "It has the shape of lse.");
  checkNote(options, lse, settings);
  return {
    operation,
    layout,
    kvLayout,
    shape,
    query,
    key,
    value,
    output,
    lse,
    dOutput,
    dLse,
    settings,
    derivatives: settings.score && formulaReading.code!.readDerivatives(operation, settings.score),
    ragged,
    wanted: readWanted(options, settings),
    ...readTable(options, BACKWARD),
  };
}

const LSE_HINT = "scaledDotProductAttention gives it with `returns: { lse: true }`.";

function required<D extends Dtype>(
  options: OptionReader,
  name: string,
  dtypes: readonly D[],
  hint?: string,
): NonNullable<ReturnType<typeof options.placed<D>>> {
  const tensor = options.placed(name, dtypes);
  if (!tensor) throw new OptionError(`${options.at(name)} must be given`, { hint });
  return tensor;
}

/** The gradient with respect to lse, if there is one. `null` is as absent. */
export function readLseGradient(options: OptionReader): PlacedTensor<"float32"> | undefined {
  return options.value("dLse") === null ? undefined : options.placed("dLse", ["float32"]);
}

export function checkShape(
  operation: string,
  name: string,
  { shape }: PlacedTensor,
  expected: readonly number[],
  hint?: string,
): void {
  if (describe(shape) !== describe(expected))
    throw new ShapeError(`${operation}: ${name}.shape must be ${describe(expected)}, got ${describe(shape)}`, { hint });
}

/** Refuses an lse that is known to be one with sinks, if the call has none: the weights would be wrong. */
function checkNote(options: OptionReader, { data, gpu }: PlacedTensor, { sinks }: AttentionSettings): void {
  const given = options.value("lse") as object;
  const { hasSinks } = noteOf(gpu ? given : (options.call.given(data) ?? data));
  if (hasSinks && !sinks)
    throw new OptionError(`${options.at("lse")} was computed with sinks: give the same sinks to ${options.operation}`);
}

/** Reads which gradients are asked for. */
export function readWanted(options: OptionReader, settings: AttentionSettings): BackwardProblem["wanted"] {
  const returns = options.object("returns", GRADIENTS);
  const isWanted = (name: Gradient) => {
    if (!returns) return name === "dQuery" || name === "dKey" || name === "dValue";
    const option = OPTION_OF[name];
    const wanted = returns.flag(name, false);
    if (wanted && option && settings[option] === undefined)
      throw new OptionError(`${returns.at(name)} needs the option ${option}, which the call does not have`);
    return wanted;
  };
  return Object.fromEntries(GRADIENTS.map((name) => [name, isWanted(name)])) as Record<Gradient, boolean>;
}
