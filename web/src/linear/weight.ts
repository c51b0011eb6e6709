import { describe, isObject } from "../base/describe.js";
import { OptionError, ShapeError } from "../base/errors.js";
import { arrayKind, placeOf } from "../base/typedArray.js";
import type { CallArguments } from "../read/callArguments.js";
import type { GpuTensor } from "../tensor/gpuTensor.js";
import type { PlacedTensor, Tensor } from "../tensor/tensor.js";

/** How a weight is stored: `[inputDim, outputDim]`, or `[outputDim, inputDim]` as PyTorch has it. */
export type WeightLayout = "in-out" | "out-in";

export const WEIGHT_LAYOUTS = ["in-out", "out-in"] as const;

/**
 * How `linear` may be given a weight. `"panels"` is the order in which WebAssembly reads a weight from memory without a pause:
 * `[⌈outputDim / 16⌉, inputDim, 16]`, float32, float16 or bfloat16, with zeros past the last output.
 */
export type LinearLayout = WeightLayout | "panels";

export const LINEAR_LAYOUTS = [...WEIGHT_LAYOUTS, "panels"] as const;

/** Outputs of a panel. `panel_width` of cpp/include/headwise/linear.h. */
export const PANEL_WIDTH = 16;

/**
 * A weight of int8. Each output has one scale: a weight is the whole number of `data` times the scale of its output.
 *
 * `data` and `scales` may lie in tensors of `allocate`, or all of it on the GPU. `Object.assign(tensor, { scales })` gives
 * such a tensor its scales.
 */
export type Int8Weight = (Tensor<"int8"> | GpuTensor<"int8">) & {
  /** `[outputDim]`, finite. */
  readonly scales: Float32Array | Tensor<"float32"> | GpuTensor<"float32">;
};

/** A weight of int8 as `quantizeWeight` makes it. */
export interface QuantizedWeight extends Tensor<"int8"> {
  readonly dtype: "int8";
  /** `[outputDim]` */
  readonly scales: Float32Array;
}

/** The dtypes of a weight. */
export const WEIGHTS = ["float32", "float16", "bfloat16", "int8"] as const;

/** The dtype of a weight, or the one in which a layer keeps its weights. */
export type WeightDtype = (typeof WEIGHTS)[number];

/** A checked weight without its scales, wherever it lies. */
export type WeightTensor = PlacedTensor<WeightDtype>;

/**
 * Reads the scales of a weight: undefined for a weight of floats.
 *
 * @param argument - What the weight is called.
 * @throws OptionError if they are missing, if they belong to floats, or if one of them is not finite. Scales on the GPU
 *   are not looked at.
 * @throws ShapeError if there is not one for each output.
 */
export function readScales(
  call: CallArguments,
  given: unknown,
  weight: WeightTensor,
  outputDim: number,
  argument = "weight",
): PlacedTensor<"float32"> | undefined {
  const { operation } = call;
  const value = call.guarded(argument, () =>
    isObject(given) ? (given as { readonly scales?: unknown }).scales : undefined,
  );
  if (weight.dtype !== "int8") {
    if (value === undefined) return undefined;
    throw new OptionError(`${operation}: ${argument}.scales needs a ${argument} of int8, got ${weight.dtype}`);
  }
  if (value === undefined)
    throw new OptionError(`${operation}: ${argument}.scales must be given, because ${argument} is int8`, {
      hint: "`quantizeWeight` makes an int8 weight with its scales.",
    });
  const name = `${argument}.scales`;
  const bare = arrayKind(value) === undefined ? value : { data: value, shape: [placeOf(value as object).length] };
  const scales = call.placed(name, bare, ["float32"]);
  if (describe(scales.shape) !== describe([outputDim]))
    throw new ShapeError(`${operation}: ${name}.shape must be ${describe([outputDim])}, got ${describe(scales.shape)}`);
  const odd = scales.data ? firstOdd(scales.data) : -1;
  if (odd >= 0)
    throw new OptionError(`${operation}: ${name}[${odd}] must be finite, got ${describe(scales.data![odd])}`);
  return scales;
}

/** The place of the first number that is not finite, otherwise -1. `findIndex` would take several times as long. */
function firstOdd(numbers: Float32Array): number {
  for (let n = 0; n < numbers.length; n++) if (!Number.isFinite(numbers[n]!)) return n;
  return -1;
}
