import { describe } from "../describe.js";
import { OptionError, ShapeError } from "../errors.js";
import type { Attention } from "../attention.js";
import type { FloatResult } from "../backend.js";
import type { OptionReader } from "../options.js";
import {
  asGiven,
  checkFloats,
  checkIntegers,
  checkRank,
  convert,
  widen,
  type Floats,
  type FloatTensor,
  type IntegerTensor,
  type NumericTensor,
} from "./element.js";
import { appendToPast, mergeHeads, splitHeads } from "./heads.js";
import { maskOrBias } from "./mask.js";
import { flag, readOperator, type OperatorOptions, type OperatorRules } from "./operator.js";
import { softmaxInDouble, type Float32Tensor } from "./softmaxInDouble.js";

/** B batch, Hq and Hkv heads, S queries, K keys, P past keys, T = P + K, D and Dv features. */
export interface AttentionInputs {
  /** [B, Hq, S, D] or [B, S, Hq·D] */
  readonly Q: FloatTensor;
  /** [B, Hkv, K, D] or [B, K, Hkv·D] */
  readonly K: FloatTensor;
  /** [B, Hkv, K, Dv] or [B, K, Hkv·Dv] */
  readonly V: FloatTensor;
  /** Broadcasts to [B, Hq, S, T]; bool: true = may attend; numbers are added. The last axis may be shorter than T. */
  readonly attn_mask?: NumericTensor;
  /** [B, Hkv, P, D] */
  readonly past_key?: FloatTensor;
  /** [B, Hkv, P, Dv] */
  readonly past_value?: FloatTensor;
  /** `[B]`: how many keys of each batch entry hold a token, for a cache that the caller keeps. Opset 24. */
  readonly nonpad_kv_seqlen?: IntegerTensor;
}

export interface AttentionAttributes {
  /** 1: a query sees keys up to its own position, which counts from P, else from nonpad_kv_seqlen − S, else from 0. */
  readonly is_causal?: number | boolean;
  /** Hq and Hkv: needed with 3-D inputs. */
  readonly q_num_heads?: number;
  readonly kv_num_heads?: number;
  /** Default 1/√D. */
  readonly scale?: number;
  /** s becomes softcap·tanh(s / softcap), before the mask. Default 0: off. */
  readonly softcap?: number;
  /** `qk_matmul_output` holds: 0 scaled scores, 1 after softcap, 2 after the mask (−∞ where hidden), 3 probabilities. */
  readonly qk_matmul_output_mode?: number;
  /** ONNX's number of a type: 1 float, 10 float16, 16 bfloat16 (all computed in float32), 11 double. */
  readonly softmax_precision?: number;
  /** How many keys before its own position a query sees; −1: all. Opset 25. */
  readonly left_window_size?: number;
  /** How many keys after it; −1: all. Opset 25. */
  readonly right_window_size?: number;
}

/** All in the type of Q, `present_value` in that of V. */
export interface AttentionOutputs {
  /** In the rank of Q: [B, Hq, S, Dv] or [B, S, Hq·Dv]. */
  readonly Y: FloatResult;
  /** [B, Hkv, T, D] */
  readonly present_key: FloatResult;
  /** [B, Hkv, T, Dv] */
  readonly present_value: FloatResult;
  /** [B, Hq, S, T]; absent if not wanted. */
  readonly qk_matmul_output?: FloatResult;
}

export interface AttentionOperatorOptions extends OperatorOptions {
  /** Whether the optional output `qk_matmul_output`, S·T numbers a head, is wanted. Default true. */
  readonly qkMatmulOutput?: boolean;
}

const OPERATOR = "Attention";

const RULES: OperatorRules = {
  operator: OPERATOR,
  since: 23,
  inputs: { Q: 23, K: 23, V: 23, attn_mask: 23, past_key: 23, past_value: 23, nonpad_kv_seqlen: 24 },
  required: ["Q", "K", "V"],
  attributes: {
    is_causal: 23,
    kv_num_heads: 23,
    q_num_heads: 23,
    qk_matmul_output_mode: 23,
    scale: 23,
    softcap: 23,
    softmax_precision: 23,
    left_window_size: 25,
    right_window_size: 25,
  },
};

type Engine = Pick<Attention, "scaledDotProductAttention">;

/**
 * ONNX `Attention` as ONNX 1.22 defines it for every opset: softcap before the mask, the causal diagonal on absolute
 * positions, rows that see no key are zero.
 */
export async function attention(
  hw: Engine,
  inputs: AttentionInputs,
  attributes: AttentionAttributes = {},
  options: AttentionOperatorOptions = {},
): Promise<AttentionOutputs> {
  const { attributes: reader } = readOperator(RULES, inputs, attributes, options);
  const { query, key, value, isPacked } = readHeads(inputs, reader);
  const past = readPast(inputs);
  const present_key = appendToPast(OPERATOR, "past_key", past?.key, key);
  const present_value = appendToPast(OPERATOR, "past_value", past?.value, value);

  const arrays: Triple = [query, present_key, present_value];
  const callOptions = {
    ...numbersOf(reader),
    ...readPositions(inputs, reader, query.shape, past?.key.shape[2]),
    ...(inputs.attn_mask ? maskOrBias(OPERATOR, inputs.attn_mask, present_key.shape[2]!) : {}),
  };
  const show = (options.qkMatmulOutput ?? true) ? readStage(reader) : undefined;
  const compute = isDouble(reader) ? attendWithDoubleSoftmax : attend;
  const { output, shown } = await compute(hw, arrays, callOptions, show);

  const Y = convert(output, query.dtype);
  return {
    Y: asGiven(inputs.Q, isPacked ? mergeHeads(Y) : Y),
    present_key: asGiven(inputs.K, present_key),
    present_value: asGiven(inputs.V, present_value),
    ...(shown ? { qk_matmul_output: asGiven(inputs.Q, convert(shown, query.dtype)) } : {}),
  };
}

type Stage = "raw" | "softcapped" | "biased" | "probs";

function readStage(attributes: OptionReader): Stage {
  const stages: Stage[] = ["raw", "softcapped", "biased", "probs"];
  return stages[attributes.integer("qk_matmul_output_mode", { min: 0, max: 3 }) ?? 0]!;
}

function isDouble(attributes: OptionReader): boolean {
  const [FLOAT, FLOAT16, DOUBLE, BFLOAT16] = [1, 10, 11, 16];
  const type = attributes.value("softmax_precision") ?? FLOAT;
  if (![FLOAT, FLOAT16, DOUBLE, BFLOAT16].includes(type as number))
    throw attributes.refuse("softmax_precision", `be ${FLOAT}, ${FLOAT16}, ${DOUBLE} or ${BFLOAT16}`);
  return type === DOUBLE;
}

/** Query, key and value as [B, H, S, D], whatever their rank. */
function readHeads(
  inputs: AttentionInputs,
  attributes: OptionReader,
): { query: Floats; key: Floats; value: Floats; isPacked: boolean } {
  const [Q, K, V] = (["Q", "K", "V"] as const).map((name) => checkFloats(OPERATOR, name, inputs[name])) as Triple;
  checkRank(OPERATOR, "Q", Q.shape, [3, 4]);
  checkRank(OPERATOR, "K", K.shape, [Q.shape.length]);
  checkRank(OPERATOR, "V", V.shape, [Q.shape.length]);
  const isPacked = Q.shape.length === 3;
  const heads = (name: "Q" | "K" | "V", tensor: Floats) => {
    const attribute = name === "Q" ? "q_num_heads" : "kv_num_heads";
    const count = attributes.integer(attribute, { min: 1 });
    if (!isPacked) {
      if (count !== undefined && count !== tensor.shape[1])
        throw new ShapeError(`${OPERATOR}: ${attribute} must be ${name}.shape[1], got ${count} and ${tensor.shape[1]}`);
      return tensor;
    }
    if (count === undefined) throw attributes.refuse(attribute, "be given with 3-D inputs");
    if (tensor.shape[2]! % count !== 0)
      throw new ShapeError(
        `${OPERATOR}: ${attribute} must divide ${name}.shape[2], got ${count} and ${tensor.shape[2]}`,
      );
    return splitHeads(tensor, count);
  };
  return { query: heads("Q", Q), key: heads("K", K), value: heads("V", V), isPacked };
}

function readPast(inputs: AttentionInputs): { key: Floats; value: Floats } | undefined {
  const { past_key, past_value } = inputs;
  if (past_key === undefined && past_value === undefined) return undefined;
  if (past_key === undefined || past_value === undefined)
    throw new OptionError(`${OPERATOR}: past_key and past_value must be given together, got one of them`);
  const [key, value] = [checkFloats(OPERATOR, "past_key", past_key), checkFloats(OPERATOR, "past_value", past_value)];
  checkRank(OPERATOR, "past_key", key.shape, [4]);
  checkRank(OPERATOR, "past_value", value.shape, [4]);
  return { key, value };
}

/**
 * Which keys a query may see by their position. Query i stands at i + offset, and the offset is the past's length, or
 * that of the caller's cache without the queries themselves, or 0: always given, never left to an alignment.
 */
function readPositions(
  inputs: AttentionInputs,
  attributes: OptionReader,
  queryShape: readonly number[],
  pastLength: number | undefined,
): { queryOffset: number | Int32Array; causal?: true; window?: object; keyLengths?: Int32Array } {
  const [left, right] = (["left_window_size", "right_window_size"] as const).map((name) => {
    const size = attributes.integer(name, { min: -1 }) ?? -1;
    return size < 0 ? undefined : size;
  });
  const keyLengths = readKeyLengths(inputs, queryShape[0]!);
  if (keyLengths && pastLength !== undefined)
    throw new OptionError(`${OPERATOR}: nonpad_kv_seqlen and past_key exclude each other, got both`);
  return {
    queryOffset: keyLengths?.map((length) => length - queryShape[2]!) ?? pastLength ?? 0,
    ...(flag(attributes, "is_causal") ? { causal: true } : {}),
    ...(left === undefined && right === undefined
      ? {}
      : { window: { ...(left === undefined ? {} : { left }), ...(right === undefined ? {} : { right }) } }),
    ...(keyLengths ? { keyLengths } : {}),
  };
}

function readKeyLengths({ nonpad_kv_seqlen }: AttentionInputs, batchSize: number): Int32Array | undefined {
  if (nonpad_kv_seqlen === undefined) return undefined;
  const { data, shape } = checkIntegers(OPERATOR, "nonpad_kv_seqlen", nonpad_kv_seqlen);
  if (shape.length !== 1 || shape[0] !== batchSize)
    throw new ShapeError(`${OPERATOR}: nonpad_kv_seqlen must have shape [${batchSize}], got ${describe(shape)}`);
  return data;
}

function numbersOf(attributes: OptionReader): { scale?: number; softcap?: number } {
  const scale = attributes.number("scale");
  const softcap = attributes.number("softcap");
  return { ...(scale === undefined ? {} : { scale }), ...(softcap === undefined ? {} : { softcap }) };
}

type Triple = [query: Floats, key: Floats, value: Floats];

interface Computed {
  readonly output: Floats;
  readonly shown: Floats | undefined;
}

async function attend(hw: Engine, arrays: Triple, options: object, show: Stage | undefined): Promise<Computed> {
  const seen = !show ? {} : show === "probs" ? { probs: true as const } : { scores: show };
  const result = await hw.scaledDotProductAttention(...arrays, { ...options, returns: { output: true, ...seen } });
  return { output: result.output as Floats, shown: (result.scores ?? result.probs) as Floats | undefined };
}

async function attendWithDoubleSoftmax(
  hw: Engine,
  arrays: Triple,
  options: object,
  show: Stage | undefined,
): Promise<Computed> {
  const scoresAt = async (stage: "raw" | "softcapped" | "biased") => {
    const returns = { output: false, scores: stage };
    return (await hw.scaledDotProductAttention(...arrays, { ...options, returns })).scores as Float32Tensor;
  };
  const biased = await scoresAt("biased");
  const { output, probs } = softmaxInDouble(biased, widen(arrays[2]));
  if (show === "probs") return { output, shown: probs };
  return { output, shown: show === undefined || show === "biased" ? show && biased : await scoresAt(show) };
}
