import type { FloatResult } from "../attention/attentionResult.js";
import { describe } from "../base/describe.js";
import { ShapeError } from "../base/errors.js";
import type { Attention } from "../instance/attention.js";
import type { CallArguments } from "../read/callArguments.js";
import { namesOf, type OptionReader } from "../read/options.js";
import type { Tensor } from "../tensor/tensor.js";
import {
  asGiven,
  checkFloats,
  checkIntegers,
  checkRank,
  copyOf,
  widen,
  type Floats,
  type FloatTensor,
  type IntegerTensor,
} from "./element.js";
import { flag, readOperator, type OperatorOptions, type OperatorRules } from "./operator.js";

/** Inputs of ONNX `RotaryEmbedding`. B batch, H heads, S positions, D features, R features that are turned. */
export interface RotaryEmbeddingInputs {
  /** [B, H, S, D] or [B, S, H·D] */
  readonly X: FloatTensor;
  /** [positions, R/2] if `position_ids` is given, otherwise [B, S, R/2]. sin_cache has the same shape. */
  readonly cos_cache: FloatTensor;
  readonly sin_cache: FloatTensor;
  /** `[B, S]`: the row of each token in the caches. */
  readonly position_ids?: IntegerTensor | undefined;
}

export interface RotaryEmbeddingAttributes {
  /** 1: the two features of a pair are neighbours. 0, the default: they are R/2 apart. */
  readonly interleaved?: number | boolean | undefined;
  /** H. Needed if X has three axes. */
  readonly num_heads?: number | undefined;
  /** R, an even number. Default 0: all of D. */
  readonly rotary_embedding_dim?: number | undefined;
}

const OPERATOR = "RotaryEmbedding";

const RULES: OperatorRules = {
  operator: OPERATOR,
  since: 23,
  method: "rotaryEmbedding",
  inputs: { X: 23, cos_cache: 23, sin_cache: 23, position_ids: 23 },
  required: ["X", "cos_cache", "sin_cache"],
  attributes: { interleaved: 23, num_heads: 23, rotary_embedding_dim: 23 },
  options: namesOf<OperatorOptions>({ opset: true }),
};

/**
 * The operator `RotaryEmbedding`, as ONNX defines it from opset 23 on. Y has the shape and type of X.
 *
 * @param hw - An instance.
 * @param inputs - Shapes are in RotaryEmbeddingInputs; float32 or float16.
 * @throws ShapeError, OptionError or UnsupportedError before it computes; OutOfMemoryError; DisposedError.
 */
export async function rotaryEmbedding(
  hw: Pick<Attention, "rotaryEmbedding">,
  inputs: RotaryEmbeddingInputs,
  attributes: RotaryEmbeddingAttributes = {},
  options: OperatorOptions = {},
): Promise<{ Y: FloatResult }> {
  const { call, inputs: given, attributes: reader } = readOperator(RULES, hw, inputs, attributes, options);
  const X = copyOf(call, "X", checkFloats(call, "X", given.value("X")));
  const { x, layout, batch, length } = readHeads(call, X, reader);
  const rotaryDim = readRotaryDim(X, x.shape[3]!, reader);
  const turned = await hw.rotaryEmbedding(x, {
    layout,
    ...readTables(call, given, batch, length, rotaryDim / 2),
    interleaved: flag(reader, "interleaved"),
    rotaryDim,
  });
  return { Y: asGiven(X, { ...(turned as Floats), shape: X.shape }) };
}

/** The number of features of a head that are turned. */
function readRotaryDim(X: Floats, headSize: number, attributes: OptionReader): number {
  const given = attributes.integer("rotary_embedding_dim", { min: 0 }) ?? 0;
  if (given === 0 && (headSize < 2 || headSize % 2 !== 0))
    throw new ShapeError(
      `${OPERATOR}: ${X.shape.length === 4 ? "X.shape[3]" : "X.shape[2] / num_heads"} must be even and at least 2, ` +
        `got ${headSize}`,
      { hint: "Or say with rotary_embedding_dim how many features turn." },
    );
  if (given % 2 !== 0 || given > headSize)
    throw attributes.refuse("rotary_embedding_dim", `be even and at most ${headSize}`);
  return given || headSize;
}

/** X with four axes. [B, S, H·D] and [B, S, H, D] have the same order in memory. */
function readHeads(
  call: CallArguments,
  X: Floats,
  attributes: OptionReader,
): { x: Floats; layout: "BHSD" | "BSHD"; batch: number; length: number } {
  checkRank(call, "X", X.shape, [3, 4]);
  const heads = attributes.integer("num_heads", { min: 0 }) ?? 0;
  if (X.shape.length === 4) {
    const [batch, H, length] = X.shape as [number, number, number, number];
    if (heads !== 0 && heads !== H)
      throw new ShapeError(`${OPERATOR}: num_heads must be X.shape[1], got ${heads} and ${H}`);
    return { x: X, layout: "BHSD", batch, length };
  }
  const [batch, length, width] = X.shape as [number, number, number];
  if (heads === 0) throw attributes.refuse("num_heads", "be given with 3-D input");
  if (width % heads !== 0)
    throw new ShapeError(`${OPERATOR}: num_heads must divide X.shape[2], got ${heads} and ${width}`);
  return { x: { ...X, shape: [batch, length, heads, width / heads] }, layout: "BSHD", batch, length };
}

/** The caches as tables [rows, R/2], and the row of each token. Without `position_ids` every token has its own row. */
function readTables(
  call: CallArguments,
  inputs: OptionReader,
  batch: number,
  length: number,
  pairs: number,
): { cos: Tensor<"float32">; sin: Tensor<"float32">; positions: Tensor<"int32"> } {
  const byPosition = inputs.has("position_ids");
  const table = (name: "cos_cache" | "sin_cache") => {
    const { data, shape } = widen(copyOf(call, name, checkFloats(call, name, inputs.value(name))));
    checkShape(name, shape, byPosition ? ["positions", pairs] : [batch, length, pairs]);
    return { data, shape: [byPosition ? shape[0]! : batch * length, pairs] };
  };
  const [cos, sin] = [table("cos_cache"), table("sin_cache")];
  const rows = cos.shape[0]!;
  if (sin.shape[0] !== rows)
    throw new ShapeError(
      `${OPERATOR}: sin_cache.shape[0] must equal cos_cache.shape[0], got ${sin.shape[0]} and ${rows}`,
    );
  const data = byPosition
    ? readPositionIds(call, inputs, [batch, length], rows)
    : Int32Array.from({ length: batch * length }, (_, token) => token);
  return { cos, sin, positions: { data, shape: [batch, length] } };
}

function readPositionIds(
  call: CallArguments,
  inputs: OptionReader,
  expected: readonly number[],
  rows: number,
): Int32Array {
  const name = "position_ids";
  const { data, shape } = checkIntegers(call, name, inputs.value(name), { min: 0, max: rows - 1 });
  checkShape(name, shape, expected);
  return data;
}

/** Checks a shape. A name in `rule` allows any extent. */
function checkShape(input: string, shape: readonly number[], rule: readonly (number | string)[]): void {
  const fits =
    shape.length === rule.length && rule.every((extent, axis) => [shape[axis], "positions"].includes(extent));
  if (!fits) throw new ShapeError(`${OPERATOR}: ${input} must have shape [${rule.join(", ")}], got ${describe(shape)}`);
}
