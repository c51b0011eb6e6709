import type { ResultTensor } from "../attention/attentionResult.js";
import { checkShape, readLseGradient, type Gradient, type PlacedGradients } from "../attention/backwardProblem.js";
import { describe } from "../base/describe.js";
import { OptionError, ShapeError } from "../base/errors.js";
import type { Asked, OrAbsent } from "../read/asked.js";
import type { CallArguments } from "../read/callArguments.js";
import { refuseGpu, type LocationChoice } from "../read/location.js";
import { namesOf, readOptions, type OptionReader } from "../read/options.js";
import { flag, LOCATION, ofCall, WATCH } from "../read/settingKinds.js";
import { namesIn, readTable, type TableOf } from "../read/settingTable.js";
import type { Watched, WatchOptions } from "../read/watched.js";
import type { GpuResult, GpuTensor } from "../tensor/gpuTensor.js";
import { FLOATS, type PlacedFloats, type PlacedTensor, type Tensor, type TypedTensor } from "../tensor/tensor.js";
import type { EngineSaved } from "./engineSaved.js";
import type { SavedForm, Savings } from "./saved.js";
import type { WeightGradients } from "./weightGradients.js";

export type { EngineSaved } from "./engineSaved.js";
export type { LayerUpdate } from "./layerUpdate.js";
export type { GradientPlace, WeightGradients } from "./weightGradients.js";

/** Gradients of the attention inside of a layer that the caller may ask for. */
export type InnerGradient = Exclude<Gradient, "dQuery" | "dKey" | "dValue">;

/** Everything that `layer.backward` can give. */
export type LayerGradient = "dInput" | "dContext" | "dValueContext" | "gradients" | InnerGradient;

/** Which gradients to compute. */
export type LayerReturns = { readonly [Name in LayerGradient]?: boolean | undefined };

/** The type of an absent `returns`: `dContext` and `dValueContext` are there too, if the call had such contexts. */
export interface UsualLayerGradients {
  readonly dInput: true;
  readonly gradients: true;
}

/** Options of `layer.backward`. */
export interface LayerBackwardOptions<
  R extends LayerReturns | undefined = LayerReturns | undefined,
> extends WatchOptions {
  /**
   * Which gradients to compute. Default: `dInput`, `gradients`, and `dContext` and `dValueContext` if the call had such
   * contexts. `dBias`, `dSinks`, `dAlibiSlopes` and `dTables` need the options bias, sinks, alibiSlopes and score.
   */
  readonly returns?: R;
  /**
   * `gradients` of an earlier call. The new ones are added to its tensors in place, and it is then
   * `result.gradients`.
   */
  readonly accumulate?: Readonly<Record<string, Tensor<"float32">>> | undefined;
  /** Whether `saved` can be used again. Default false: the call releases it. */
  readonly keep?: boolean | undefined;
  /**
   * The gradient of the loss with respect to the `lse` of the forward call, `[B, numHeads, Sq]` (of a call without batch
   * `[numHeads, Sq]`), of a loss that reads it. Default: 0.
   */
  readonly dLse?: Tensor<"float32"> | GpuTensor<"float32"> | null | undefined;
}

type GradientAt<L extends LocationChoice> = L extends "gpu" ? GpuResult<"float32"> : TypedTensor<"float32">;

type LayerGradientAt<L extends LocationChoice, Name extends LayerGradient> = Name extends "dTables" | "gradients"
  ? Readonly<Record<string, GradientAt<L>>>
  : GradientAt<L>;

/**
 * The result of `layer.backward`: float32, with the shapes of what they belong to. It has what `returns` asked for.
 *
 * `gradients` has a tensor for each weight, by the name and in the storage under which it was given, and
 * `"position.table"`, `"qkNorm.gain"` or `"qkNorm.gain.query"` and `"qkNorm.gain.key"` if the layer has them. `dContext`
 * is the gradient of the key context; it includes the part of the values if they had no context of their own.
 */
export type LayerGradientsAt<
  L extends LocationChoice = "cpu",
  R extends LayerReturns | undefined = UsualLayerGradients,
> = Asked<OrAbsent<R, UsualLayerGradients>, { readonly [Name in LayerGradient]?: LayerGradientAt<L, Name> }>;

/** A call of backward that has passed every check. */
export interface LayerBackwardProblem extends Watched {
  readonly operation: string;
  readonly saved: EngineSaved;
  /** Like the forward's output. */
  readonly dOutput: PlacedFloats;
  /** Of the forward's lse, [B, numHeads, Sq]; undefined: 0. */
  readonly dLse: PlacedTensor<"float32"> | undefined;
  /** The shapes of x and of the contexts that the forward call was given. */
  readonly shapes: {
    readonly dInput: readonly number[];
    readonly dContext: readonly number[] | undefined;
    readonly dValueContext: readonly number[] | undefined;
  };
  readonly wanted: Readonly<Record<LayerGradient, boolean>>;
  readonly gradients: WeightGradients;
  /** Gradients of earlier calls by name; the new ones are added to them in place. */
  readonly accumulate: Readonly<Record<string, TypedTensor<"float32">>> | undefined;
  readonly location: "cpu" | "gpu";
}

/** float32, with the shapes of what they belong to. */
export interface PlacedLayerGradients extends Omit<PlacedGradients, "dQuery" | "dKey" | "dValue"> {
  readonly dInput?: ResultTensor<"float32">;
  /** Of the key context. It includes the values' part if there is no value context. */
  readonly dContext?: ResultTensor<"float32">;
  readonly dValueContext?: ResultTensor<"float32">;
  readonly gradients?: Readonly<Record<string, ResultTensor<"float32">>>;
}

/** A row for each option. */
export const LAYER_BACKWARD = {
  returns: ofCall(),
  accumulate: ofCall(),
  keep: flag(),
  dLse: ofCall(),
  location: LOCATION,
  ...WATCH,
} satisfies TableOf<LayerBackwardOptions & { location: string }>;

const RETURN_NAMES = namesOf<LayerReturns>({
  dInput: true,
  dContext: true,
  dValueContext: true,
  gradients: true,
  dBias: true,
  dSinks: true,
  dHeadGain: true,
  dAlibiSlopes: true,
  dTables: true,
});

/** The options of forward that gradients belong to. */
const OPTION_OF: Readonly<Partial<Record<LayerGradient, keyof SavedForm["has"]>>> = {
  dContext: "key",
  dValueContext: "value",
  dBias: "bias",
  dSinks: "sinks",
  dAlibiSlopes: "alibiSlopes",
  dTables: "score",
};

/** A call of backward that has been read. */
export interface BackwardRequest extends LayerBackwardProblem {
  /** Whether `saved` can be used again. */
  readonly keep: boolean;
  /** The caller's object, which is also the result's. */
  readonly accumulated: unknown;
}

/** Reads and checks a call of backward. */
export function layerBackwardProblem(
  call: CallArguments,
  { saved, form }: Savings,
  gradients: WeightGradients,
  givenOutput: unknown,
  givenOptions: unknown,
): BackwardRequest {
  const { operation } = call;
  const options = readOptions(call, givenOptions, namesIn(LAYER_BACKWARD));
  const dOutput = call.placed("dOutput", givenOutput, FLOATS);
  if (describe(dOutput.shape) !== describe(form.output))
    throw new ShapeError(
      `${operation}: dOutput.shape must be that of the output, ${describe(form.output)}, got ${describe(dOutput.shape)}`,
    );
  const dLse = readLseGradient(options);
  if (dLse) checkShape(operation, "dLse", dLse, form.lse, "It has the shape of the forward call's lse.");
  if (!call.placement.onGpu) refuseGpu(options, "needs a layer on WebGPU, this one is on wasm");
  const wanted = readReturns(options, form);
  const read = readTable(options, LAYER_BACKWARD);
  return {
    operation,
    saved,
    dOutput,
    dLse,
    shapes: form,
    wanted,
    gradients,
    accumulate: readAccumulate(options, wanted.gradients, read.location, gradients),
    ...read,
    accumulated: options.value("accumulate"),
  };
}

function readReturns(options: OptionReader, { has }: SavedForm): Record<LayerGradient, boolean> {
  const returns = options.object("returns", RETURN_NAMES);
  const usual: readonly LayerGradient[] = ["dInput", "gradients", "dContext", "dValueContext"];
  const isThere = (name: LayerGradient) => {
    const option = OPTION_OF[name];
    return option === undefined || has[option];
  };
  const wanted = (name: LayerGradient) => {
    if (!returns) return usual.includes(name) && isThere(name);
    const asked = returns.flag(name, false);
    if (asked && !isThere(name))
      throw new OptionError(`${returns.at(name)} needs a call of forward with ${OPTION_OF[name]}, this had none`);
    return asked;
  };
  return Object.fromEntries(RETURN_NAMES.map((name) => [name, wanted(name)])) as Record<LayerGradient, boolean>;
}

function readAccumulate(
  options: OptionReader,
  isWanted: boolean,
  location: "cpu" | "gpu",
  { shapes }: WeightGradients,
): LayerBackwardProblem["accumulate"] {
  const names = Object.keys(shapes);
  const given = options.object("accumulate", names);
  if (!given) return undefined;
  if (!isWanted) throw new OptionError(`${options.at("accumulate")} needs returns.gradients`);
  if (location === "gpu")
    throw new OptionError(`${options.at("accumulate")} needs location "cpu": it adds to arrays in JavaScript`);
  const read = (name: string) => {
    if (!given.has(name)) throw given.missing(name, "accumulate takes all gradients of an earlier call");
    const tensor = given.tensor(name, ["float32"])!;
    if (tensor.isCopy) throw given.refuse(name, "hold its numbers in a Float32Array, which the call can write to");
    if (describe(tensor.shape) !== describe(shapes[name]))
      throw new ShapeError(`${given.at(name)}.shape must be ${describe(shapes[name])}, got ${describe(tensor.shape)}`);
    return tensor;
  };
  return Object.fromEntries(names.map((name) => [name, read(name)]));
}
