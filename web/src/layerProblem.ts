import type { AttentionSettings, AttentionShape, Wanted } from "./attentionOptions.js";
import type { CallArguments } from "./callArguments.js";
import {
  checkKeys,
  readReturns,
  readSettings,
  SETTINGS_NAMES,
  type AttentionSettingsOptions,
  type Returns,
} from "./attentionOptions.js";
import { outputForm, refuseGpu, type CheckedFloats, type FloatTensor, type OutputForm } from "./attentionProblem.js";
import type { Backend, BackendCache } from "./backend.js";
import { heldLength, KvCache } from "./cache.js";
import { describe, isObject } from "./describe.js";
import { OptionError, ShapeError, UnsupportedError } from "./errors.js";
import { withLengthsOf } from "./lastAppend.js";
import { readLayerShape } from "./layerShape.js";
import {
  readLinear,
  refuseBiases,
  refuseOutputWeights,
  refuseUnsupportedWeights,
  WEIGHT_NAMES,
  type LayerWeights,
  type LinearWeights,
} from "./layerWeights.js";
import { isList, namesOf, readOptions, type NumberList, type OptionReader } from "./options.js";
import { readRagged, type Ragged } from "./ragged.js";
import { ANGLE_NAMES, readAngles, type CheckedAngles, type RotaryAngles } from "./rotary.js";
import type { CheckedTensor, Tensor } from "./tensor.js";

/** A norm of every head's queries and keys, before they are turned. */
export interface QkNorm {
  /** `"rms"`: x / √(mean(x²) + epsilon) · gain. `"l2"`: x / max(‖x‖, epsilon) · gain. */
  readonly kind: "rms" | "l2";
  /** Default 1e-6 for `"rms"`, 1e-12 for `"l2"`. */
  readonly epsilon?: number;
  /** `[headDim]`, for both or for each; default 1. */
  readonly gain?: NumberList | { readonly query?: NumberList; readonly key?: NumberList };
}

/** How a layer knows where its tokens stand. */
export type LayerPosition =
  | {
      /** Row p of the table is added to the token at position p. */
      readonly kind: "learned";
      /** `[rows, inputDim]` */
      readonly table: Tensor<"float32">;
    }
  | {
      /** Sines and cosines are added to the tokens; see `sinusoidalPositions`. */
      readonly kind: "sinusoidal";
      readonly split?: "interleaved" | "halves";
      readonly base?: number;
    }
  | ({ /** Queries and keys are turned. */ readonly kind: "rotary" } & RotaryAngles);

/** Options of `multiHeadAttention`. */
export interface LayerOptions {
  /** Width of x. Default: that of the query weight, else modelDim. */
  readonly inputDim?: number;
  /** Width of the key context. Default: that of the key weight, else inputDim. */
  readonly keyInputDim?: number;
  /** Width of the value context. Default: that of the value weight, else keyInputDim. */
  readonly valueInputDim?: number;
  /** Width of all queries together, a multiple of numHeads. Default: that of the query weight, if packed inputDim. */
  readonly modelDim?: number;
  /** Width of one head's values. Default: that of the value weight or the output weight, else modelDim / numHeads. */
  readonly valueHeadDim?: number;
  /** Width of the output. Default: that of the output weight; without output projection numHeads · valueHeadDim. */
  readonly outputDim?: number;
  readonly numHeads: number;
  /** It divides numHeads. Default: as many as the key weight has, else numHeads. */
  readonly numKvHeads?: number;
  /** Memory order of x, contexts and output: `[B, S, width]`, or `[B, width, S]`. Default `"BSE"`. */
  readonly layout?: "BSE" | "BES";
  /** false refuses biases among the weights. Default true: those that are given are added. */
  readonly bias?: boolean;
  /** Multiply the concatenated heads by Wo. Default true. */
  readonly outputProjection?: boolean;
  readonly qkNorm?: QkNorm;
  readonly position?: LayerPosition;
  readonly weights: LayerWeights;
  /** Aborts the call while it waits in the queue. */
  readonly signal?: AbortSignal;
}

/**
 * Options of `layer.forward`. Positions are those of attention: query i stands at i + offset, key j at its row number or
 * its place in the cache; queryOffset moves masks, rotary embedding and added positions together.
 */
export interface ForwardOptions extends AttentionSettingsOptions {
  /** What keys are projected from, `[B, Skv, keyInputDim]`. Default x. */
  readonly key?: FloatTensor;
  /** What values are projected from, `[B, Skv, valueInputDim]`. Default the key context. */
  readonly value?: FloatTensor;
  /**
   * The projected keys and values are appended to this cache, then all that it holds is attended to. If the call fails
   * the cache is as before, unless it is a ring that has dropped tokens for the new ones.
   */
  readonly cache?: KvCache;
  /** With a cache: attend to what it holds and append nothing, as cross-attention does after its first step. */
  readonly attendOnly?: boolean;
  /**
   * `[B]`: leading tokens of each batch to append. Default queryLengths if keys come from x, otherwise all. If keys come
   * from x and the call asks for positions, queryLengths defaults to it in turn, unless queryOffset is given.
   */
  readonly appendLengths?: NumberList;
  readonly cuSeqLensQuery?: NumberList;
  readonly cuSeqLensKey?: NumberList;
  readonly returns?: Returns;
  /** Layers leave their results nowhere else. */
  readonly location?: "cpu";
  /** A tensor of the output's shape to write the output to; it is then `result.output`. */
  readonly into?: FloatTensor;
  /** Aborts the call while it waits in the queue. */
  readonly signal?: AbortSignal;
}

/** Extents of a layer. */
export interface LayerShape {
  readonly inputDim: number;
  readonly keyInputDim: number;
  readonly valueInputDim: number;
  readonly numHeads: number;
  readonly numKvHeads: number;
  readonly headDim: number;
  readonly valueHeadDim: number;
  readonly outputDim: number;
  readonly outputProjection: boolean;
}

export type CheckedPosition =
  | { readonly kind: "none" }
  | { readonly kind: "learned"; readonly table: CheckedTensor<"float32"> }
  | { readonly kind: "sinusoidal"; readonly split: "interleaved" | "halves"; readonly base: number }
  | { readonly kind: "rotary"; readonly angles: CheckedAngles };

/** A call of multiHeadAttention that passed every check. */
export interface LayerProblem {
  readonly operation: string;
  readonly shape: LayerShape;
  readonly layout: "BSE" | "BES";
  readonly weights: {
    readonly query: LinearWeights;
    readonly key: LinearWeights;
    readonly value: LinearWeights;
    readonly output: LinearWeights | undefined;
  };
  readonly qkNorm:
    | {
        readonly kind: "rms" | "l2";
        readonly epsilon: number;
        readonly queryGain: Float32Array | undefined;
        readonly keyGain: Float32Array | undefined;
      }
    | undefined;
  readonly position: CheckedPosition;
  readonly signal: AbortSignal | undefined;
}

/** A call of forward that passed every check. */
export interface ForwardProblem {
  readonly operation: string;
  readonly layout: "BSE" | "BES";
  /** Of the attention inside. */
  readonly shape: AttentionShape;
  readonly x: CheckedFloats;
  readonly key: CheckedFloats | undefined;
  readonly value: CheckedFloats | undefined;
  readonly contextLength: number;
  readonly cache: BackendCache | undefined;
  readonly attendOnly: boolean;
  readonly appendLengths: Int32Array | undefined;
  readonly settings: AttentionSettings;
  readonly ragged: Ragged | undefined;
  readonly wanted: Wanted;
  readonly output: OutputForm;
  readonly signal: AbortSignal | undefined;
  readonly keepRank: (shape: readonly number[]) => number[];
}

const FLOATS = ["float32", "float16"] as const;

const LAYER_NAMES = namesOf<LayerOptions>({
  inputDim: true,
  keyInputDim: true,
  valueInputDim: true,
  modelDim: true,
  valueHeadDim: true,
  outputDim: true,
  numHeads: true,
  numKvHeads: true,
  layout: true,
  bias: true,
  outputProjection: true,
  qkNorm: true,
  position: true,
  weights: true,
  signal: true,
});

/** Reads and checks a whole call of multiHeadAttention. */
export function layerProblem(call: CallArguments, given: unknown): LayerProblem {
  const { operation } = call;
  const options = readOptions(call, given, LAYER_NAMES);
  const weights = options.object("weights", WEIGHT_NAMES);
  if (!weights) throw options.refuse("weights", "be given");
  refuseUnsupportedWeights(weights);
  const shape = readLayerShape(options, weights);
  if (!options.flag("bias", true)) refuseBiases(weights);
  if (!shape.outputProjection) refuseOutputWeights(weights);
  const packing = {
    query: { in: shape.inputDim, out: shape.numHeads * shape.headDim },
    key: { in: shape.keyInputDim, out: shape.numKvHeads * shape.headDim },
    value: { in: shape.valueInputDim, out: shape.numKvHeads * shape.valueHeadDim },
  };
  const output = { in: shape.numHeads * shape.valueHeadDim, out: shape.outputDim };
  return {
    operation,
    shape,
    layout: options.oneOf("layout", ["BSE", "BES"], "BSE"),
    weights: {
      query: readLinear(weights, "query", packing.query, packing),
      key: readLinear(weights, "key", packing.key, packing),
      value: readLinear(weights, "value", packing.value, packing),
      output: shape.outputProjection ? readLinear(weights, "output", output, packing) : undefined,
    },
    qkNorm: readQkNorm(options, shape.headDim),
    position: readPosition(options, shape),
    signal: options.signal(),
  };
}

function readQkNorm(options: OptionReader, headDim: number): LayerProblem["qkNorm"] {
  const norm = options.object("qkNorm", namesOf<QkNorm>({ kind: true, epsilon: true, gain: true }));
  if (!norm) return undefined;
  if (!norm.has("kind")) throw norm.refuse("kind", 'be given: "rms" or "l2"');
  const kind = norm.oneOf("kind", ["rms", "l2"], "rms");
  const epsilon = norm.number("epsilon") ?? (kind === "rms" ? 1e-6 : 1e-12);
  if (epsilon < 0) throw norm.refuse("epsilon", "be at least 0");
  const each = isGainOfEach(norm.value("gain")) ? norm.object("gain", ["query", "key"]) : undefined;
  const gain = each ? undefined : norm.floats("gain", headDim);
  return {
    kind,
    epsilon,
    queryGain: each ? each.floats("query", headDim) : gain,
    keyGain: each ? each.floats("key", headDim) : gain,
  };
}

/** A list, or a tensor of rank 1, is for both. */
function isGainOfEach(gain: unknown): boolean {
  return isObject(gain) && !isList(gain) && !("data" in gain);
}

/** Options of each kind of position, beside `kind`. */
const POSITION_NAMES = {
  learned: namesOf<PositionOf<"learned">>({ table: true }),
  sinusoidal: namesOf<PositionOf<"sinusoidal">>({ split: true, base: true }),
  rotary: ANGLE_NAMES,
} as const;
type PositionOf<K extends LayerPosition["kind"]> = Omit<Extract<LayerPosition, { readonly kind: K }>, "kind">;

function readPosition(options: OptionReader, shape: LayerShape): CheckedPosition {
  const kinds = Object.keys(POSITION_NAMES) as (keyof typeof POSITION_NAMES)[];
  const all = options.object("position", ["kind", ...Object.values(POSITION_NAMES).flat()]);
  if (!all) return { kind: "none" };
  if (!all.has("kind")) throw all.refuse("kind", `be given: ${kinds.join(", ")}`);
  const kind = all.oneOf("kind", kinds, "learned");
  const position = all.narrowed(["kind", ...POSITION_NAMES[kind]]);
  switch (kind) {
    case "learned":
      return { kind, table: readTable(position, shape.inputDim) };
    case "sinusoidal": {
      const base = position.number("base") ?? 10000;
      if (base <= 0) throw position.refuse("base", "be greater than 0");
      return { kind, base, split: position.oneOf("split", ["interleaved", "halves"], "interleaved") };
    }
    case "rotary":
      return { kind, angles: readAngles(position, shape.headDim) };
  }
}

function readTable(position: OptionReader, inputDim: number): CheckedTensor<"float32"> {
  const table = position.tensor("table", ["float32"]);
  if (!table) throw position.refuse("table", "be given: a tensor [rows, inputDim]");
  if (table.shape.length !== 2 || table.shape[0] === 0 || table.shape[1] !== inputDim)
    throw new ShapeError(
      `${position.at("table")}.shape must be [rows, ${inputDim}] with at least one row, ` +
        `got ${describe(table.shape)}`,
    );
  return table;
}

// ---- forward -----------------------------------------------------------------------------------------------------------

const FORWARD_NAMES = [
  ...SETTINGS_NAMES,
  ...namesOf<Omit<ForwardOptions, keyof AttentionSettingsOptions>>({
    key: true,
    value: true,
    cache: true,
    attendOnly: true,
    appendLengths: true,
    cuSeqLensQuery: true,
    cuSeqLensKey: true,
    returns: true,
    location: true,
    into: true,
    signal: true,
  }),
];

/** The layer that a call of forward is made on. */
export interface LayerForm extends Pick<LayerProblem, "shape" | "layout"> {
  /** Whether it turns queries and keys by their positions. */
  readonly turns: boolean;
  /** Whether it does that, or adds something to x by its positions. */
  readonly usesPositions: boolean;
}

/** The extents of x or of a context. */
interface Rows {
  readonly batchSize: number;
  readonly length: number;
}

/** A call of forward that has been read, and waits for its turn. */
export interface ForwardRequest {
  readonly signal: AbortSignal | undefined;
  /** Checks the rest: calls ahead of this one may have filled the cache. */
  inTurn(): ForwardProblem;
}

/** Reads and checks a call of forward, as far as that does not depend on what the cache holds. */
export function forwardRequest(
  call: CallArguments,
  backend: Backend,
  layer: LayerForm,
  givenX: unknown,
  given: unknown,
): ForwardRequest {
  const { operation } = call;
  const options = readOptions(call, given, FORWARD_NAMES);
  const { layout } = layer;
  const { inputDim, keyInputDim, valueInputDim, outputDim, numHeads, numKvHeads, headDim, valueHeadDim } = layer.shape;
  const x = call.tensor("x", givenX, FLOATS);
  const rank = x.shape.length;
  const rows = readRows(operation, "x", x, layout, inputDim, "inputDim");
  refuseGpu(options, backend.onGpu ? "is not offered by layers: their results come to the CPU" : undefined);
  const key = options.tensor("key", FLOATS);
  const value = options.tensor("value", FLOATS);
  const cache = options.has("cache") ? KvCache.in(backend, operation, "cache", options.value("cache")) : undefined;
  const attendOnly = options.flag("attendOnly", false);
  if (attendOnly) refuseWithAttendOnly(options, cache);
  else checkWidths(operation, layer.shape, key, value);

  const contexts = { key, value };
  let contextLength = rows.length;
  for (const [name, context] of Object.entries(contexts)) {
    if (!context) continue;
    if (context.shape.length !== rank)
      throw new ShapeError(`${operation}: ${name} must have the rank of x, got shape ${describe(context.shape)}`);
    const [width, option] = name === "key" ? [keyInputDim, "keyInputDim"] : [valueInputDim, "valueInputDim"];
    const read = readRows(operation, name, context, layout, width, option);
    if (read.batchSize !== rows.batchSize)
      throw new ShapeError(
        `${operation}: ${name} must have the batch size of x, got ${read.batchSize} and ${rows.batchSize}`,
      );
    if (name === "value" && read.length !== contextLength)
      throw new ShapeError(`${operation}: value must be as long as its keys, got ${read.length} and ${contextLength}`);
    contextLength = read.length;
  }
  const appends = cache !== undefined && !attendOnly;
  const appendLengths = readAppendLengths(options, rows, contextLength, key);
  const gain = attendOnly ? 0 : (appendLengths ?? contextLength);
  if (cache) checkCache(operation, cache, layer, rows);
  const extents: Omit<AttentionShape, "keyLength"> = {
    batchSize: rows.batchSize,
    numHeads,
    numKvHeads,
    queryLength: rows.length,
    headDim,
    valueDim: valueHeadDim,
  };
  const ragged = readRagged(options, layout, { ...extents, keyLength: contextLength });
  if (ragged && cache) throw new UnsupportedError(`${operation}: a ragged batch cannot attend to a cache`);
  const outputShape = x.shape.map((extent, axis) => (axis === widthAxis(layout, rank) ? outputDim : extent));
  const read = {
    operation,
    layout,
    x,
    key,
    value,
    contextLength,
    cache,
    attendOnly,
    appendLengths: appends ? appendLengths : undefined,
    settings: withLengthsOf(
      appends && !key ? { numTokens: contextLength, lengths: appendLengths } : undefined,
      readSettings(options, extents, ragged ? ragged.query.length - 1 : extents.batchSize),
      extents.queryLength,
      layer.usesPositions || cache?.form.rotary === true,
    ),
    ragged,
    wanted: readReturns(options, extents),
    output: outputForm(options, outputShape, x),
    signal: options.signal(),
    keepRank: (full: readonly number[]) => (rank === 2 ? full.slice(1) : [...full]),
  };
  const inTurn = (): ForwardProblem => {
    const shape: AttentionShape = { ...extents, keyLength: cache ? lengthAfter(cache, gain) : contextLength };
    checkKeys(operation, read.settings, shape);
    return { ...read, shape };
  };
  if (!cache) inTurn(); // nothing of it can change
  return { signal: read.signal, inTurn };
}

function widthAxis(layout: "BSE" | "BES", rank: number): number {
  return layout === "BSE" ? rank - 1 : rank - 2;
}

/** [B, S, width] or [S, width], in columns [B, width, S] or [width, S]. */
function readRows(
  operation: string,
  name: string,
  { shape }: CheckedFloats,
  layout: "BSE" | "BES",
  width: number,
  option: string,
): Rows {
  const rank = shape.length;
  if (rank !== 2 && rank !== 3)
    throw new ShapeError(`${operation}: ${name} must have rank 3, or 2 for one batch, got shape ${describe(shape)}`);
  const axis = widthAxis(layout, rank);
  if (shape[axis] !== width)
    throw new ShapeError(`${operation}: ${name}.shape[${axis}] must be ${option}, got ${shape[axis]} and ${width}`);
  return { batchSize: rank === 3 ? shape[0]! : 1, length: shape[layout === "BSE" ? rank - 2 : rank - 1]! };
}

function refuseWithAttendOnly(options: OptionReader, cache: BackendCache | undefined): void {
  if (!cache) throw new OptionError(`${options.operation}: attendOnly needs a cache to attend to`);
  for (const name of ["key", "value", "appendLengths"])
    if (options.has(name))
      throw new OptionError(`${options.operation}: ${name} must be absent with attendOnly, which reads the cache only`);
}

/** Without contexts x takes their place, and must have their width. */
function checkWidths(
  operation: string,
  { inputDim, keyInputDim, valueInputDim }: LayerShape,
  key: CheckedFloats | undefined,
  value: CheckedFloats | undefined,
): void {
  if (!key && keyInputDim !== inputDim)
    throw new ShapeError(
      `${operation}: key must be given, since keyInputDim is not inputDim: ${keyInputDim} and ${inputDim}`,
    );
  if (!value && valueInputDim !== keyInputDim)
    throw new ShapeError(
      `${operation}: value must be given, since valueInputDim is not keyInputDim: ${valueInputDim} and ${keyInputDim}`,
    );
}

/** How many tokens of each batch a cache gains; undefined means all. */
function readAppendLengths(
  options: OptionReader,
  { batchSize }: Rows,
  contextLength: number,
  key: CheckedFloats | undefined,
): Int32Array | undefined {
  const given = options.integers("appendLengths", { min: 0, max: contextLength }, batchSize);
  if (given && !options.has("cache"))
    throw new OptionError(`${options.operation}: appendLengths needs a cache to append to`);
  return given ?? (key ? undefined : options.integers("queryLengths", { min: 0, max: contextLength }, batchSize));
}

/** Checks that a cache is for this layer and batch. */
function checkCache(operation: string, { form }: BackendCache, { shape, turns }: LayerForm, { batchSize }: Rows): void {
  const fits = (name: "batchSize" | "numKvHeads" | "headDim" | "valueDim", expected: number) => {
    if (form[name] !== expected)
      throw new ShapeError(
        `${operation}: cache.${name} must be that of the layer and x, got ${form[name]} and ${expected}`,
      );
  };
  fits("batchSize", batchSize);
  fits("numKvHeads", shape.numKvHeads);
  fits("headDim", shape.headDim);
  fits("valueDim", shape.valueHeadDim);
  if (turns && form.rotary)
    throw new OptionError(`${operation}: layer and cache are both rotary: one of them must turn the keys`);
}

/** Tokens that the fullest batch holds when those of the call are in. */
function lengthAfter({ form, appended }: BackendCache, gain: number | Int32Array): number {
  return appended.reduce(
    (longest, tokens, b) => Math.max(longest, heldLength(form, tokens + (typeof gain === "number" ? gain : gain[b]!))),
    0,
  );
}
