import { describe } from "../base/describe.js";
import { OptionError, ShapeError, UnsupportedError } from "../base/errors.js";
import { arrayKind } from "../base/typedArray.js";
import type { WeightDtype } from "../linear/weight.js";
import type { OptionReader } from "../read/options.js";
import {
  WEIGHT_FLOATS,
  type CheckedTensor,
  type CheckedWeights,
  type FloatTensor,
  type FloatWeightLike,
} from "../tensor/tensor.js";

/**
 * A tensor, or only its data. Data alone has the shape that the layer's sizes require; a Uint16Array is then float16, so
 * bfloat16 needs a tensor.
 */
export type Weight = FloatWeightLike | FloatTensor["data"];

/**
 * Weights of a layer, float32, float16 or bfloat16. Names are the names of the formula, or the names of a state dict of
 * PyTorch's `nn.MultiheadAttention`. D is modelDim / numHeads, Dv is valueHeadDim. Every bias is optional.
 *
 * The shapes of tensors give the layer's widths. Arrays have no shape: then give the widths as options.
 */
export interface LayerWeights {
  /** `[inputDim, numHeads·D]` */
  readonly Wq?: Weight | undefined;
  /** `[numHeads·D]` */
  readonly bq?: Weight | undefined;
  /** `[keyInputDim, numKvHeads·D]` */
  readonly Wk?: Weight | undefined;
  /** `[numKvHeads·D]` */
  readonly bk?: Weight | undefined;
  /** `[valueInputDim, numKvHeads·Dv]` */
  readonly Wv?: Weight | undefined;
  /** `[numKvHeads·Dv]` */
  readonly bv?: Weight | undefined;
  /** `[numHeads·Dv, outputDim]` */
  readonly Wo?: Weight | undefined;
  /** `[outputDim]` */
  readonly bo?: Weight | undefined;
  /** Wq, Wk and Wv side by side: `[inputDim, numHeads·D + numKvHeads·D + numKvHeads·Dv]` */
  readonly Wqkv?: Weight | undefined;
  /** bq, bk and bv one after another. */
  readonly bqkv?: Weight | undefined;

  /** The names of PyTorch. These weights are stored `[out, in]`. */
  readonly in_proj_weight?: Weight | undefined;
  readonly in_proj_bias?: Weight | undefined;
  readonly q_proj_weight?: Weight | undefined;
  readonly k_proj_weight?: Weight | undefined;
  readonly v_proj_weight?: Weight | undefined;
  readonly "out_proj.weight"?: Weight | undefined;
  readonly "out_proj.bias"?: Weight | undefined;
}

/** A weight [in, out] in the memory of its tensor: element (i, o) is at offset + i · inStride + o · outStride. */
export interface LinearWeights {
  /** As it was given: float32, float16 or bfloat16; or int8, if an engine has rounded it. */
  readonly weight: CheckedTensor<WeightDtype>;
  /** Of a weight of int8: one for each output. */
  readonly scales?: CheckedTensor<"float32">;
  readonly offset: number;
  readonly inStride: number;
  readonly outStride: number;
  readonly bias: { readonly tensor: CheckedWeights; readonly offset: number } | undefined;
}

export type Role = "query" | "key" | "value" | "output";

/** The input and output width of a projection. */
export interface Extents {
  readonly in: number;
  readonly out: number;
}

/** The names under which a role's weight and bias may be given. */
const SOURCES: Readonly<Record<Role, { readonly weight: readonly string[]; readonly bias: readonly string[] }>> = {
  query: { weight: ["Wq", "Wqkv", "q_proj_weight", "in_proj_weight"], bias: ["bq", "bqkv", "in_proj_bias"] },
  key: { weight: ["Wk", "Wqkv", "k_proj_weight", "in_proj_weight"], bias: ["bk", "bqkv", "in_proj_bias"] },
  value: { weight: ["Wv", "Wqkv", "v_proj_weight", "in_proj_weight"], bias: ["bv", "bqkv", "in_proj_bias"] },
  output: { weight: ["Wo", "out_proj.weight"], bias: ["bo", "out_proj.bias"] },
};
const PACKED = ["Wqkv", "bqkv", "in_proj_weight", "in_proj_bias"];
const STORED_OUT_IN = ["in_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight", "out_proj.weight"];
const UNSUPPORTED = ["bias_k", "bias_v"];

/** All names that a `weights` object may have. */
export const WEIGHT_NAMES = [
  ...new Set(Object.values(SOURCES).flatMap(({ weight, bias }) => [...weight, ...bias])),
  ...UNSUPPORTED,
];

/** The widths of the three projections in packed weights, in the order in which they are packed. */
export type Packing = Readonly<Record<"query" | "key" | "value", Extents>>;

/** Throws if the weights contain parts of a state dict that this layer does not compute. */
export function refuseUnsupportedWeights(weights: OptionReader): void {
  for (const name of UNSUPPORTED)
    if (weights.has(name))
      throw new UnsupportedError(`${weights.at(name)} (add_bias_kv) is not offered: a layer has no learned extra key`, {
        hint: "Append the row to the key and value contexts yourself.",
      });
}

/**
 * The input and output width of a role's weight, from its shape. For a packed weight these are the widths of all roles
 * together. undefined for an array without a shape.
 */
export function extentsOf(weights: OptionReader, role: Role): (Extents & { readonly isPacked: boolean }) | undefined {
  const name = theOne(weights, role, "weight");
  if (name === undefined || arrayKind(weights.value(name))) return undefined;
  const { shape } = weights.tensor(name, WEIGHT_FLOATS)!;
  if (shape.length !== 2) return undefined; // reading the weight refuses it
  const [first, second] = shape as [number, number];
  refuseTransposed(weights, name, first, second);
  const extents = STORED_OUT_IN.includes(name) ? { in: second, out: first } : { in: first, out: second };
  return { ...extents, isPacked: PACKED.includes(name) };
}

/** A packed weight of three equal parts is three times as long in one direction. */
function refuseTransposed(weights: OptionReader, name: string, first: number, second: number): void {
  if (!PACKED.includes(name)) return;
  const isOutIn = STORED_OUT_IN.includes(name);
  if (isOutIn ? second !== 3 * first : first !== 3 * second) return;
  const wanted = isOutIn ? "[3 · embedDim, embedDim]" : "[embedDim, 3 · embedDim]";
  throw new ShapeError(
    `${weights.at(name)}.shape must be ${wanted}, got ${describe([first, second])}, which is transposed`,
    { hint: `${name} is stored ${isOutIn ? "[out, in]" : "[in, out]"}.` },
  );
}

/** The name under which a role's weight is given. Throws if it is not given. */
export function weightOf(weights: OptionReader, role: Role): string {
  const name = theOne(weights, role, "weight");
  if (name !== undefined) return name;
  throw new OptionError(
    `${weights.operation}: the ${role}'s weight must be given, as one of weights.${SOURCES[role].weight.join(", weights.")}`,
  );
}

/** Reads the weight and the bias of a role. */
export function readLinear(weights: OptionReader, role: Role, extents: Extents, packing: Packing): LinearWeights {
  const weightName = weightOf(weights, role);
  const place = placeOf(weights, weightName, role, extents, packing);
  const whole = { in: extents.in, out: place.out };
  const transposed = STORED_OUT_IN.includes(weightName);
  const weight = readShaped(weights, weightName, transposed ? [whole.out, whole.in] : [whole.in, whole.out]);

  const biasName = theOne(weights, role, "bias");
  const biasPlace = biasName === undefined ? undefined : placeOf(weights, biasName, role, extents, packing);
  return {
    weight,
    offset: transposed ? place.first * whole.in : place.first,
    inStride: transposed ? 1 : whole.out,
    outStride: transposed ? whole.in : 1,
    bias: biasPlace && { tensor: readShaped(weights, biasName!, [biasPlace.out]), offset: biasPlace.first },
  };
}

/** The names under which a role's weight and bias are given. */
export function namesOfRole(weights: OptionReader, role: Role): { readonly weight: string; readonly bias?: string } {
  const bias = theOne(weights, role, "bias");
  return { weight: weightOf(weights, role), ...(bias !== undefined && { bias }) };
}

/** Throws if there is a bias, for a layer with `bias: false`. */
export function refuseBiases(weights: OptionReader): void {
  for (const name of Object.values(SOURCES).flatMap(({ bias }) => bias))
    if (weights.has(name))
      throw new OptionError(`${weights.operation}: bias is false, but ${weights.name(name)} is given`);
}

/** Throws if there is a weight or bias of the output, for a layer with `outputProjection: false`. */
export function refuseOutputWeights(weights: OptionReader): void {
  for (const name of [...SOURCES.output.weight, ...SOURCES.output.bias])
    if (weights.has(name))
      throw new OptionError(`${weights.operation}: outputProjection is false, but ${weights.name(name)} is given`);
}

/** The name under which a part is given, or undefined. Throws if it is given under two names. */
function theOne(weights: OptionReader, role: Role, part: "weight" | "bias"): string | undefined {
  const given = SOURCES[role][part].filter((name) => weights.has(name));
  if (given.length > 1)
    throw new OptionError(
      `${weights.operation}: ${given.map((name) => weights.name(name)).join(" and ")} both give the ${role}'s ${part}`,
    );
  return given[0];
}

/** The first column of the role in a tensor, and the number of columns of the whole tensor. */
function placeOf(
  weights: OptionReader,
  name: string,
  role: Role,
  extents: Extents,
  packing: Packing,
): { readonly first: number; readonly out: number } {
  if (role === "output" || !PACKED.includes(name)) return { first: 0, out: extents.out };
  const { query, key, value } = packing;
  if (STORED_OUT_IN.includes(name) || name === "Wqkv") {
    if (key.in !== query.in || value.in !== query.in)
      throw new ShapeError(
        `${weights.at(name)} needs equal inputDim, keyInputDim and valueInputDim, ` +
          `got ${query.in}, ${key.in} and ${value.in}`,
      );
  }
  const first = { query: 0, key: query.out, value: query.out + key.out }[role];
  return { first, out: query.out + key.out + value.out };
}

/** Reads a tensor that must have this shape, or bare data of it. */
export function readShaped(weights: OptionReader, name: string, shape: readonly number[]): CheckedWeights {
  const tensor = weights.tensor(name, WEIGHT_FLOATS, shape)!;
  if (describe(tensor.shape) !== describe(shape)) {
    const reversed = shape.length === 2 && describe(tensor.shape) === describe([...shape].reverse());
    throw new ShapeError(
      `${weights.at(name)}.shape must be ${describe(shape)}, got ${describe(tensor.shape)}`,
      reversed ? { hint: `${name} is stored ${STORED_OUT_IN.includes(name) ? "[out, in]" : "[in, out]"}.` } : {},
    );
  }
  return tensor;
}
