import type { AttentionProblem } from "../../attention/attentionProblem.js";
import type { CacheDtype } from "../../cache/cacheDtype.js";
import type { HeldRing } from "../../cache/cacheProblem.js";
import { formulaWordCount } from "../formula/formulaWords.js";
import { divideUp } from "./limits.js";
import { NO_PARAMS, type Params } from "../kernels/params.js";
import type { AttentionPlan } from "./plan.js";
import { SEQUENCE_WORDS, sequenceWords, type Sequence } from "./sequences.js";
import { HEAD_WORDS, headNumbers, writeSettings } from "./settings.js";
import { stridesOf, type Strides } from "./strides.js";

/** The keys and values of a cache, by their strides. */
export interface Cached {
  readonly key: Strides;
  readonly value: Strides;
  readonly dtype: CacheDtype;
  /** The first word of the scales of int8 rows. */
  readonly firstScale?: { readonly key: number; readonly value: number };
  /** The first word of the means of int8 keys. */
  readonly firstMean?: number;
  readonly ring: HeldRing | undefined;
}

/** Inputs that lie in the engine's own arrays; they do not have the call's layout. */
export interface InPlace {
  readonly query?: Strides;
  /** How far behind the queries those for the first keys of a ring lie, in vec4; undefined: they are the same. */
  readonly keptQueries?: number | undefined;
  readonly cached?: Cached;
}

/** The strides of an input: of the array that was given, and of what the kernels read: that array, or a packed copy. */
export interface InputStrides {
  readonly given: Strides;
  readonly read: Strides;
  /** [B, H, S, width] of the input. */
  readonly extents: readonly [number, number, number, number];
}

export type AllStrides = Readonly<Record<"query" | "key" | "value", InputStrides>>;

export function inputStrides(
  { layout, kvLayout, shape }: Pick<AttentionProblem, "layout" | "kvLayout" | "shape">,
  { packed }: Pick<AttentionPlan, "packed">,
  inPlace: InPlace,
): AllStrides {
  const { batchSize, numHeads, numKvHeads, queryLength, keyLength, headDim, valueDim } = shape;
  const strides = (
    name: "query" | "key" | "value",
    own: Strides | undefined,
    heads: number,
    length: number,
    width: number,
  ): InputStrides => {
    const given = own ?? stridesOf(name === "query" ? layout : kvLayout, heads, length, width);
    const read = packed[name] ? stridesOf("BHSD", heads, length, 4 * divideUp(width, 4)) : given;
    return { given, read, extents: [batchSize, heads, length, width] };
  };
  return {
    query: strides("query", inPlace.query, numHeads, queryLength, headDim),
    key: strides("key", inPlace.cached?.key, numKvHeads, keyLength, headDim),
    value: strides("value", inPlace.cached?.value, numKvHeads, keyLength, valueDim),
  };
}

/** The numbers that all kernels of a call share. */
export function paramsOf(
  { shape, layout, settings }: Pick<AttentionProblem, "shape" | "layout" | "settings">,
  plan: Pick<AttentionPlan, "stored" | "rowStride" | "features">,
  sequences: readonly Sequence[],
  strides: AllStrides,
  { cached, keptQueries = 0 }: Pick<InPlace, "cached" | "keptQueries"> = {},
): Params {
  const { batchSize, numHeads, numKvHeads, queryLength, keyLength, headDim, valueDim } = shape;
  const [query, key, value] = [strides.query.read, strides.key.read, strides.value.read];
  const output = stridesOf(layout, numHeads, queryLength, valueDim);
  const perLoad = 4 * (plan.stored.perLoad ?? 1);
  const positionsAt = SEQUENCE_WORDS * sequences.length + HEAD_WORDS * numHeads + formulaWordCount(settings);
  const params = {
    ...NO_PARAMS,
    num_heads: numHeads,
    num_kv_heads: numKvHeads,
    group_size: numHeads / numKvHeads,
    query_length: queryLength,
    key_length: keyLength,
    depth4: divideUp(headDim, 4),
    value4: divideUp(valueDim, 4),
    value_dim: valueDim,
    query_batch: query.batch / 4,
    query_head: query.head / 4,
    query_position: query.position / 4,
    key_batch: key.batch / perLoad,
    key_head: key.head / perLoad,
    key_position: key.position / perLoad,
    value_batch: value.batch / perLoad,
    value_head: value.head / perLoad,
    value_position: value.position / perLoad,
    key_scales: cached?.firstScale?.key ?? 0,
    value_scales: cached?.firstScale?.value ?? 0,
    key_means: cached?.firstMean ?? 0,
    output_batch: output.batch,
    output_head: output.head,
    output_position: output.position,
    output_feature: output.feature,
    ring_kept: cached?.ring?.keepFirst ?? 0,
    ring_window: cached?.ring?.window ?? 0,
    ring_sight: cached?.ring?.sight ?? 0,
    kept_queries: keptQueries,
    key_to: keyLength,
    num_rows: batchSize * numHeads * queryLength,
    row_stride: plan.rowStride,
    num_sequences: sequences.length,
    features: plan.features,
    heads_at: SEQUENCE_WORDS * sequences.length,
    positions_at: settings.alibiQueryPositions ? positionsAt : 0,
    ring_places: cached?.ring?.positions === "cache" ? 1 : 0,
    chosen_at: positionsAt + (settings.alibiQueryPositions?.length ?? 0) + (settings.alibiKeyPositions?.length ?? 0),
  };
  writeSettings(params, settings, shape);
  return params;
}

/**
 * The table: sequences, then slopes, sinks and gains, then the formulas' words, the positions of ALiBi, and the chosen
 * heads and queries.
 */
export function tablesOf(
  { settings, shape }: Pick<AttentionProblem, "settings" | "shape">,
  sequences: readonly Sequence[],
  formulaWords: Float32Array,
  chosen: readonly number[] = [],
): Int32Array {
  const heads = headNumbers(settings, shape.numHeads);
  const words = sequenceWords(sequences, settings);
  const { alibiQueryPositions = new Int32Array(), alibiKeyPositions = new Int32Array() } = settings;
  const positionsAt = words.length + heads.length + formulaWords.length;
  const chosenAt = positionsAt + alibiQueryPositions.length + alibiKeyPositions.length;
  const tables = new Int32Array(chosenAt + chosen.length);
  tables.set(words);
  tables.set(new Int32Array(heads.buffer), words.length);
  tables.set(new Int32Array(formulaWords.buffer), words.length + heads.length);
  tables.set(alibiQueryPositions, positionsAt);
  tables.set(alibiKeyPositions, positionsAt + alibiQueryPositions.length);
  tables.set(chosen, chosenAt);
  return tables;
}
