import { describe } from "../describe.js";
import { ShapeError } from "../errors.js";
import {
  checkFloats,
  checkIntegers,
  checkRank,
  convert,
  widen,
  type Floats,
  type FloatTensor,
  type IntegerTensor,
} from "./element.js";
import type { Tensor } from "../tensor.js";
import { flag, readOperator, type OperatorOptions, type OperatorRules } from "./operator.js";

/** B batch, H heads, S positions, D features, R features that turn. */
export interface RotaryEmbeddingInputs {
  /** [B, H, S, D] or [B, S, H·D] */
  readonly X: FloatTensor;
  /** [positions, R/2] with `position_ids`, else [B, S, R/2] */
  readonly cos_cache: FloatTensor;
  readonly sin_cache: FloatTensor;
  /** [B, S]: rows of the caches. */
  readonly position_ids?: IntegerTensor;
}

export interface RotaryEmbeddingAttributes {
  /** 1: pairs are neighbours. Default 0: pairs are R/2 apart. */
  readonly interleaved?: number | boolean;
  /** H: needed with 3-D input. */
  readonly num_heads?: number;
  /** R. Default 0: all of D. */
  readonly rotary_embedding_dim?: number;
}

const OPERATOR = "RotaryEmbedding";

const RULES: OperatorRules = {
  operator: OPERATOR,
  since: 23,
  inputs: { X: 23, cos_cache: 23, sin_cache: 23, position_ids: 23 },
  required: ["X", "cos_cache", "sin_cache"],
  attributes: { interleaved: 23, num_heads: 23, rotary_embedding_dim: 23 },
};

/** What the adapter needs of an instance. */
interface RotaryEngine {
  rotaryEmbedding(x: Tensor<"float32" | "float16">, options: object): Promise<Tensor<"float32" | "float16">>;
}

/** ONNX `RotaryEmbedding`; Y has the shape and type of X. */
export async function rotaryEmbedding(
  hw: RotaryEngine,
  inputs: RotaryEmbeddingInputs,
  attributes: RotaryEmbeddingAttributes = {},
  options: OperatorOptions = {},
): Promise<{ Y: Floats }> {
  const { attributes: reader } = readOperator(RULES, inputs, attributes, options);
  const X = checkFloats(OPERATOR, "X", inputs.X);
  checkRank(OPERATOR, "X", X.shape, [3, 4]);
  const isPacked = X.shape.length === 3;
  const heads = reader.integer("num_heads", { min: 0 }) || undefined;
  if (isPacked && heads === undefined) throw reader.refuse("num_heads", "be given with 3-D input");
  if (isPacked && X.shape[2]! % heads! !== 0)
    throw new ShapeError(`${OPERATOR}: num_heads must divide X.shape[2], got ${heads} and ${X.shape[2]}`);
  const [batch, length] = [X.shape[0]!, X.shape[isPacked ? 1 : 2]!];
  // [B, S, H·D] lies in memory as [B, S, H, D] does
  const x = isPacked ? { ...X, shape: [batch, length, heads!, X.shape[2]! / heads!] } : X;
  const rotaryDim = reader.integer("rotary_embedding_dim", { min: 0 }) || x.shape[3]!;

  const cos = widen(checkFloats(OPERATOR, "cos_cache", inputs.cos_cache));
  const sin = widen(checkFloats(OPERATOR, "sin_cache", inputs.sin_cache));
  const positions = inputs.position_ids && checkIntegers(OPERATOR, "position_ids", inputs.position_ids);
  const shapes = positions ? ["positions", rotaryDim / 2] : [batch, length, rotaryDim / 2];
  for (const [name, { shape }] of Object.entries({ cos_cache: cos, sin_cache: sin }))
    if (
      shape.length !== shapes.length ||
      shapes.some((extent, axis) => extent !== "positions" && extent !== shape[axis])
    )
      throw new ShapeError(`${OPERATOR}: ${name} must have shape [${shapes.join(", ")}], got ${describe(shape)}`);
  if (positions && (positions.shape.length !== 2 || positions.shape[0] !== batch || positions.shape[1] !== length))
    throw new ShapeError(
      `${OPERATOR}: position_ids must have shape [${batch}, ${length}], got ${describe(positions.shape)}`,
    );

  const table = (cache: Floats) => ({
    data: cache.data as Float32Array,
    shape: [cache.data.length / (rotaryDim / 2), rotaryDim / 2],
  });
  const y = await hw.rotaryEmbedding(x, {
    layout: isPacked ? "BSHD" : "BHSD",
    cos: table(cos),
    sin: table(sin),
    positions: {
      data: positions?.data ?? Int32Array.from({ length: batch * length }, (_, k) => k),
      shape: [batch, length],
    },
    interleaved: flag(reader, "interleaved"),
    rotaryDim,
  });
  return { Y: { ...convert(y as Floats, X.dtype), shape: X.shape } };
}
