import type { FloatResult } from "../attention/attentionResult.js";
import { describe } from "../base/describe.js";
import { OptionError, ShapeError } from "../base/errors.js";
import type { Attention } from "../instance/attention.js";
import type { CallArguments } from "../read/callArguments.js";
import { namesOf, type OptionReader } from "../read/options.js";
import { elementCount } from "../tensor/tensor.js";
import {
  asGiven,
  checkFloats,
  checkIntegers,
  checkRank,
  convert,
  copyOf,
  widen,
  type Floats,
  type FloatTensor,
  type GivenFloats,
  type IntegerTensor,
  type NumericTensor,
} from "./element.js";
import { appendToPast, mergeHeads, splitHeads } from "./heads.js";
import { maskOrBias } from "./mask.js";
import { flag, readOperator, type OperatorArguments, type OperatorOptions, type OperatorRules } from "./operator.js";
import { softmaxInDouble, type Float32Tensor } from "./softmaxInDouble.js";

/**
 * Inputs of ONNX `Attention`. B batch, Hq query heads, Hkv key and value heads, S queries, K keys, P past keys, T = P +
 * K, D and Dv features.
 */
export interface AttentionInputs {
  /** [B, Hq, S, D] or [B, S, Hq·D] */
  readonly Q: FloatTensor;
  /** [B, Hkv, K, D] or [B, K, Hkv·D] */
  readonly K: FloatTensor;
  /** [B, Hkv, K, Dv] or [B, K, Hkv·Dv] */
  readonly V: FloatTensor;
  /**
   * Broadcasts to [B, Hq, S, T]. bool: true = may attend; numbers are added to the scores. The last axis may be shorter
   * than T, also 1; then the keys after it are hidden.
   */
  readonly attn_mask?: NumericTensor | undefined;
  /** [B, Hkv, P, D] */
  readonly past_key?: FloatTensor | undefined;
  /** [B, Hkv, P, Dv] */
  readonly past_value?: FloatTensor | undefined;
  /**
   * `[B]`: how many keys of each batch are tokens. It is for a cache that the caller keeps in K and V, so not together
   * with past_key. From opset 24.
   */
  readonly nonpad_kv_seqlen?: IntegerTensor | undefined;
}

export interface AttentionAttributes {
  /**
   * 1: a query sees the keys up to its own position. Query i is at position i + P if there is a past, at i +
   * nonpad_kv_seqlen − S if that is given, otherwise at i. Default 0.
   */
  readonly is_causal?: number | boolean | undefined;
  /** Hq; kv_num_heads is Hkv. Both are needed with 3-D inputs. */
  readonly q_num_heads?: number | undefined;
  readonly kv_num_heads?: number | undefined;
  /** Default 1/√D. */
  readonly scale?: number | undefined;
  /** Scores s become softcap·tanh(s / softcap), before the mask. Default 0: off. */
  readonly softcap?: number | undefined;
  /**
   * Which stage `qk_matmul_output` holds. 0, the default: scaled scores; 1: after softcap; 2: after the mask (−∞ where
   * hidden); 3: probabilities.
   */
  readonly qk_matmul_output_mode?: number | undefined;
  /** The ONNX number of a type: 1 float, 10 float16 or 16 bfloat16 (all computed in float32); 11 double. Default 1. */
  readonly softmax_precision?: number | undefined;
  /** How many keys before its own position a query sees. −1, the default: all. From opset 25. */
  readonly left_window_size?: number | undefined;
  /** How many keys after its own position a query sees. −1, the default: all. From opset 25. */
  readonly right_window_size?: number | undefined;
}

/**
 * Outputs of ONNX `Attention`. Y and qk_matmul_output have the type of Q, present_key that of K, present_value that of
 * V.
 */
export interface AttentionOutputs {
  /** In the rank of Q: [B, Hq, S, Dv] or [B, S, Hq·Dv]. */
  readonly Y: FloatResult;
  /** [B, Hkv, T, D] */
  readonly present_key: FloatResult;
  /** [B, Hkv, T, Dv] */
  readonly present_value: FloatResult;
  /** [B, Hq, S, T]; absent if the option qkMatmulOutput is false. */
  readonly qk_matmul_output?: FloatResult;
}

export interface AttentionOperatorOptions extends OperatorOptions {
  /** Whether to return the optional output `qk_matmul_output`. It has S·T numbers for each head. Default true. */
  readonly qkMatmulOutput?: boolean | undefined;
}

const OPERATOR = "Attention";

const RULES: OperatorRules = {
  operator: OPERATOR,
  since: 23,
  method: "scaledDotProductAttention",
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
  options: namesOf<AttentionOperatorOptions>({ opset: true, qkMatmulOutput: true }),
};

type Engine = Pick<Attention, "scaledDotProductAttention">;

/**
 * The operator `Attention`, as ONNX 1.22 defines it for every opset from 23 on. The order is softcap, then mask, then
 * softmax. Causal masks and windows use positions. A row that sees no key gives 0.
 *
 * @param hw - An instance.
 * @param inputs - Shapes are in AttentionInputs; float32 or float16.
 * @throws ShapeError, OptionError or UnsupportedError before it computes; OutOfMemoryError; DisposedError.
 */
export async function attention(
  hw: Engine,
  inputs: AttentionInputs,
  attributes: AttentionAttributes = {},
  options: AttentionOperatorOptions = {},
): Promise<AttentionOutputs> {
  const args = readOperator(RULES, hw, inputs, attributes, options);
  const { call } = args;
  const { query, key, value, given, isPacked } = readHeads(args);
  const past = readPast(args);
  const present_key = appendToPast(call, { past: "past_key", present: "present_key" }, past?.key, key);
  const present_value = appendToPast(call, { past: "past_value", present: "present_value" }, past?.value, value);

  const [B, Hq, S] = query.shape as [number, number, number, number];
  const full = [B, Hq, S, present_key.shape[2]!];
  const arrays: Triple = [query, present_key, present_value];
  const callOptions = {
    ...readNumbers(args.attributes),
    ...readPositions(args, full, past?.key.shape[2]),
    ...(args.inputs.has("attn_mask") ? maskOrBias(call, args.inputs.value("attn_mask"), full) : {}),
  };
  const stage = readStage(args.attributes);
  const show = args.options.flag("qkMatmulOutput", true) ? stage : undefined;
  if (show) elementCount(OPERATOR, "qk_matmul_output", full);
  const compute = isDouble(args.attributes) ? attendWithDoubleSoftmax : attend;
  const { output, shown } = await compute(hw, arrays, callOptions, show);

  const Y = convert(output, query.dtype);
  return {
    Y: asGiven(given.Q, isPacked ? mergeHeads(call, "Y", Y) : Y),
    present_key: asGiven(given.K, present_key),
    present_value: asGiven(given.V, present_value),
    ...(shown ? { qk_matmul_output: asGiven(given.Q, convert(shown, query.dtype)) } : {}),
  };
}

type Stage = "raw" | "softcapped" | "biased" | "probs";

function readStage(attributes: OptionReader): Stage {
  const stages: Stage[] = ["raw", "softcapped", "biased", "probs"];
  return stages[attributes.integer("qk_matmul_output_mode", { min: 0, max: 3 }) ?? 0]!;
}

function isDouble(attributes: OptionReader): boolean {
  const [FLOAT, FLOAT16, DOUBLE, BFLOAT16] = [1, 10, 11, 16];
  const type = attributes.has("softmax_precision") ? attributes.value("softmax_precision") : FLOAT;
  if (![FLOAT, FLOAT16, DOUBLE, BFLOAT16].includes(type as number))
    throw attributes.refuse("softmax_precision", `be ${FLOAT}, ${FLOAT16}, ${DOUBLE} or ${BFLOAT16}`);
  return type === DOUBLE;
}

type InputName = "Q" | "K" | "V";

/** Query, key and value as [B, H, S, D]. The inputs may have three or four axes. */
interface Heads {
  readonly query: Floats;
  readonly key: Floats;
  readonly value: Floats;
  readonly given: Readonly<Record<InputName, GivenFloats>>;
  /** Whether the inputs had three axes. */
  readonly isPacked: boolean;
}

function readHeads({ call, inputs, attributes }: OperatorArguments): Heads {
  const read = (name: InputName) => checkFloats(call, name, inputs.value(name));
  const [Q, K, V] = [read("Q"), read("K"), read("V")];
  checkRank(call, "Q", Q.shape, [3, 4]);
  checkRank(call, "K", K.shape, [Q.shape.length]);
  checkRank(call, "V", V.shape, [Q.shape.length]);
  const isPacked = Q.shape.length === 3;
  const unpack = (name: InputName, tensor: GivenFloats) => {
    const attribute = countOf(name);
    const count = attributes.integer(attribute, { min: 1 });
    if (!isPacked) {
      if (count !== undefined && count !== tensor.shape[1])
        throw new ShapeError(`${OPERATOR}: ${attribute} must be ${name}.shape[1], got ${count} and ${tensor.shape[1]}`);
      return name === "Q" ? copyOf(call, name, tensor) : tensor; // K and V are copied later, to present_key and present_value
    }
    if (count === undefined) throw attributes.refuse(attribute, "be given with 3-D inputs");
    if (tensor.shape[2]! % count !== 0)
      throw new ShapeError(
        `${OPERATOR}: ${attribute} must divide ${name}.shape[2], got ${count} and ${tensor.shape[2]}`,
      );
    return splitHeads(call, name, tensor, count);
  };
  const heads = {
    query: unpack("Q", Q),
    key: unpack("K", K),
    value: unpack("V", V),
    given: { Q, K, V },
    isPacked,
  };
  checkFit(heads);
  return heads;
}

const AXES = { batch: 0, heads: 1, length: 2, width: 3 } as const;
type Extent = keyof typeof AXES;

/** The name of an extent in messages: `K.shape[2]`, or `K.shape[1]` if heads are packed. */
function nameOf(input: InputName, extent: Extent, isPacked: boolean): string {
  if (!isPacked) return `${input}.shape[${AXES[extent]}]`;
  return {
    batch: `${input}.shape[0]`,
    heads: countOf(input),
    length: `${input}.shape[1]`,
    width: `${input}.shape[2] / ${countOf(input)}`,
  }[extent];
}

function countOf(input: InputName): "q_num_heads" | "kv_num_heads" {
  return input === "Q" ? "q_num_heads" : "kv_num_heads";
}

function checkFit({ query, key, value, isPacked }: Omit<Heads, "given">): void {
  const tensors: Readonly<Record<InputName, Floats>> = { Q: query, K: key, V: value };
  const extentOf = (input: InputName, extent: Extent) => tensors[input].shape[AXES[extent]]!;
  const name = (input: InputName, extent: Extent) => nameOf(input, extent, isPacked);
  const refuse = (what: string, rule: string, ...values: number[]) =>
    new ShapeError(`${OPERATOR}: ${what} must ${rule}, got ${values.join(" and ")}`);
  const equal = (a: InputName, b: InputName, extent: Extent) => {
    if (extentOf(a, extent) !== extentOf(b, extent))
      throw refuse(name(a, extent), `equal ${name(b, extent)}`, extentOf(a, extent), extentOf(b, extent));
  };
  equal("K", "Q", "batch");
  equal("V", "K", "batch");
  equal("V", "K", "heads");
  equal("V", "K", "length");
  equal("K", "Q", "width");
  for (const [input, extent] of [
    ["K", "heads"],
    ["Q", "width"],
    ["V", "width"],
  ] as const)
    if (extentOf(input, extent) < 1) throw refuse(name(input, extent), "be at least 1", extentOf(input, extent));
  if (extentOf("Q", "heads") % extentOf("K", "heads") !== 0)
    throw refuse(name("K", "heads"), `divide ${name("Q", "heads")}`, extentOf("K", "heads"), extentOf("Q", "heads"));
}

function readPast({ call, inputs }: OperatorArguments): { key: Floats; value: Floats } | undefined {
  const [hasKey, hasValue] = [inputs.has("past_key"), inputs.has("past_value")];
  if (!hasKey && !hasValue) return undefined;
  if (!hasKey || !hasValue)
    throw new OptionError(`${OPERATOR}: past_key and past_value must be given together, got one of them`);
  const read = (name: "past_key" | "past_value") => {
    const past = checkFloats(call, name, inputs.value(name));
    checkRank(call, name, past.shape, [4]);
    return past;
  };
  const [key, value] = [read("past_key"), read("past_value")];
  if (value.shape[2] !== key.shape[2])
    throw new ShapeError(
      `${OPERATOR}: past_value.shape[2] must equal past_key.shape[2], got ${value.shape[2]} and ${key.shape[2]}`,
    );
  return { key, value };
}

/**
 * Which keys a query may see by its position. Query i is at i + queryOffset. queryOffset is nonpad_kv_seqlen − S, or
 * the length of the past, or 0. It is always given, so it does not depend on an alignment.
 */
function readPositions(
  { call, inputs, attributes }: OperatorArguments,
  [batchSize, , queryLength, totalLength]: readonly number[],
  pastLength: number | undefined,
): { queryOffset: number | Int32Array; causal?: true; window?: object; keyLengths?: Int32Array } {
  const [left, right] = (["left_window_size", "right_window_size"] as const).map((name) => {
    const size = attributes.integer(name, { min: -1 }) ?? -1;
    return size < 0 ? undefined : size;
  });
  if (inputs.has("nonpad_kv_seqlen") && pastLength !== undefined)
    throw new OptionError(`${OPERATOR}: nonpad_kv_seqlen and past_key exclude each other, got both`);
  const keyLengths = readKeyLengths(call, inputs, batchSize!, totalLength!);
  return {
    queryOffset: keyLengths?.map((length) => length - queryLength!) ?? pastLength ?? 0,
    ...(flag(attributes, "is_causal") ? { causal: true } : {}),
    ...(left === undefined && right === undefined
      ? {}
      : { window: { ...(left === undefined ? {} : { left }), ...(right === undefined ? {} : { right }) } }),
    ...(keyLengths ? { keyLengths } : {}),
  };
}

function readKeyLengths(
  call: CallArguments,
  inputs: OptionReader,
  batchSize: number,
  totalLength: number,
): Int32Array | undefined {
  const name = "nonpad_kv_seqlen";
  if (!inputs.has(name)) return undefined;
  const { data, shape } = checkIntegers(call, name, inputs.value(name), { min: 0, max: totalLength });
  if (shape.length !== 1 || shape[0] !== batchSize)
    throw new ShapeError(`${OPERATOR}: ${name} must have shape [${batchSize}], got ${describe(shape)}`);
  return data;
}

function readNumbers(attributes: OptionReader): { scale?: number; softcap?: number } {
  const scale = attributes.number("scale");
  const softcap = attributes.number("softcap");
  if (softcap !== undefined && softcap < 0) throw attributes.refuse("softcap", "be at least 0");
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
