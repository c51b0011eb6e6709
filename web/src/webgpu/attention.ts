import type { AttentionProblem } from "../attention/attentionProblem.js";
import type { PlacedResult, ResultTensor } from "../attention/attentionResult.js";
import type { AttentionShape } from "../attention/attentionShape.js";
import { selectedExtents, type Selection } from "../attention/returns.js";
import type { CacheDtype, Ring } from "../cache/cacheProblem.js";
import { EmptyRowError, OptionError, type RowIndex } from "../errors/errors.js";
import type { PlacedFloats } from "../tensor/tensor.js";
import { asArray, type Call, type Deliver, type Span } from "./call.js";
import type { GpuCore } from "./core.js";
import { outputRoom, writeOutput } from "./output.js";
import { packRows } from "./pack.js";
import { FEATURE, NO_PARAMS, type Params } from "./params.js";
import { planAttention, ROW_SECTIONS, type AttendPlan, type AttentionPlan, type InspectPlan } from "./plan.js";
import { factsOf, type AttentionFacts } from "./facts.js";
import { divideUp } from "./limits.js";
import { hand } from "./result.js";
import { resolveSequences, SEQUENCE_WORDS, sequenceWords, type Sequence } from "./sequences.js";
import { broadcastStrides, stridesOf, type Strides } from "./strides.js";

/** Sections of the buffer `rows`, as in call.wgsl. */
const SECTION = { lse: 0, entropy: 1, flags: 4 } as const;
const SEEN = 1;
const PADDING = 4;
const EMPTY_ROWS = { zero: 0, nan: 1, uniform: 2, throw: 0 } as const;
const STAGE = { raw: 0, softcapped: 1, biased: 2, probs: 3, ranked: 4 } as const;
const MOST_LISTED_ROWS = 8;

/** A call's arrays on the GPU, by the binding numbers of call.wgsl, and the numbers that all its kernels share. */
interface Arrays {
  readonly plan: AttentionPlan;
  readonly sequences: readonly Sequence[];
  readonly inputs: Readonly<Record<number, Span>>;
  /** Sections of `rowStride` words. */
  readonly rows: Span;
  readonly params: Params;
}

/** Lists the commands of a call. */
export function recordAttention(call: Call, problem: AttentionProblem): Deliver<PlacedResult> {
  const sequences = resolveSequences(problem.shape, problem.settings, problem.ragged);
  return recordPlanned(call, problem, planOf(call.core, problem, sequences), sequences);
}

/** The problem of a call that is recorded for the caller. Its results stay on the GPU. */
export function forEncoder<P extends Pick<AttentionProblem, "operation" | "settings" | "wanted" | "location">>(
  problem: P,
): P {
  const { operation, settings, wanted } = problem;
  if (settings.emptyRows === "throw")
    throw new OptionError(`${operation}: emptyRows must not be "throw": nobody looks at a recorded call's rows`);
  if (!wanted.output && !Object.values(wanted).some((part) => part))
    throw new OptionError(`${operation}: returns must ask for something`);
  return { ...problem, location: "gpu" };
}

/** The keys and values of a cache, by their strides. */
export interface Cached {
  readonly key: Strides;
  readonly value: Strides;
  readonly dtype: CacheDtype;
  /** The first word of the scales of int8 rows. */
  readonly firstScale?: { readonly key: number; readonly value: number };
  readonly ring: Required<Ring> | undefined;
}

/** Inputs that lie in the engine's own arrays; they do not have the call's layout. */
export interface InPlace {
  readonly query?: Strides;
  readonly cached?: Cached;
}

export function planOf(
  core: GpuCore,
  problem: AttentionProblem,
  sequences: readonly Sequence[],
  inPlace: InPlace = {},
): AttentionPlan {
  const { query, cached } = inPlace;
  const facts = factsOf(problem, sequences);
  const there: AttentionFacts = {
    ...facts,
    inPlace: [...(query ? (["query"] as const) : []), ...(cached ? (["key", "value"] as const) : [])],
    ...(cached && { dtypes: { ...facts.dtypes, key: cached.dtype, value: cached.dtype } }),
    ring: cached?.ring !== undefined,
  };
  return planAttention(there, core.device.capabilities);
}

/** Lists the kernels of a planned call. The returned function reads all results, or hands them over on the GPU. */
export function recordPlanned(
  call: Call,
  problem: AttentionProblem,
  plan: AttentionPlan,
  sequences: readonly Sequence[],
  inPlace: InPlace = {},
): Deliver<PlacedResult> {
  const { wide, collect } = attendOn(call, problem, plan, sequences, inPlace);
  const length = outputLength(problem.shape);
  const output = wide && writeOutput(call, problem.output, wide, length, plan.narrow, problem.location);
  return (result) => ({ ...collect(result), ...(output && { output: output(result) }) }) as PlacedResult;
}

/**
 * Places the arrays and lists the kernels. The output is float32 on the GPU: the result itself if it stays there
 * (`outputLocation`). `collect` first throws if a row sees no
 * key and the call forbids that; then it reads all other results.
 */
export function attendOn(
  call: Call,
  problem: AttentionProblem,
  plan: AttentionPlan,
  sequences: readonly Sequence[],
  inPlace: InPlace = {},
  outputLocation = problem.location,
): { readonly wide: Span | undefined; readonly collect: Deliver<Omit<PlacedResult, "output">> } {
  const arrays = placeArrays(call, problem, plan, sequences, inPlace);
  const checkRows = problem.settings.emptyRows === "throw" ? emptyRowCheck(call, problem, arrays) : undefined;
  const { wanted, output, shape } = problem;
  const wide = wanted.output ? outputRoom(call, output, outputLength(shape), plan.narrow, outputLocation) : undefined;
  if (plan.attend) attend(call, problem, arrays, plan.attend, wide);
  const collectors = { ...rowResults(call, problem, arrays), ...inspections(call, problem, arrays) };
  const collect = (result: ArrayBuffer) => {
    checkRows?.(result);
    return Object.fromEntries(Object.entries(collectors).map(([name, read]) => [name, read(result)]));
  };
  return { wide, collect };
}

function outputLength({ batchSize, numHeads, queryLength, valueDim }: AttentionShape): number {
  return batchSize * numHeads * queryLength * valueDim;
}

/** Gives a result [B, H, …] to the caller. */
function handInRank<D extends "float32" | "int32">(
  call: Call,
  { location, keepRank }: AttentionProblem,
  span: Span,
  full: readonly number[],
  dtype: D,
): Deliver<ResultTensor<D>> {
  return hand(call, span, keepRank(full), dtype, location);
}

function placeArrays(
  call: Call,
  problem: AttentionProblem,
  plan: AttentionPlan,
  sequences: readonly Sequence[],
  inPlace: InPlace,
): Arrays {
  const { shape, layout, settings } = problem;
  const { batchSize, numHeads, numKvHeads, queryLength, keyLength, headDim, valueDim } = shape;
  const query = placeFloats(call, problem, "query", plan, inPlace.query, numHeads, queryLength, headDim);
  const key = placeFloats(call, problem, "key", plan, inPlace.cached?.key, numKvHeads, keyLength, headDim);
  const value = placeFloats(call, problem, "value", plan, inPlace.cached?.value, numKvHeads, keyLength, valueDim);
  const output = stridesOf(layout, numHeads, queryLength, valueDim);
  const perLoad = 4 * (plan.stored.perLoad ?? 1);
  const [maskBatch, maskHead, maskQuery, maskKey] = strides4(settings.mask?.extents);
  const [biasBatch, biasHead, biasQuery, biasKey] = strides4(settings.bias?.extents);
  return {
    plan,
    sequences,
    inputs: {
      1: query.span,
      2: key.span,
      3: value.span,
      ...(settings.mask && { 4: call.place(settings.mask.tensor) }),
      ...(settings.bias && { 5: call.place(settings.bias.tensor) }),
    },
    rows: call.room(4 * ROW_SECTIONS * plan.rowStride),
    params: {
      ...NO_PARAMS,
      num_heads: numHeads,
      num_kv_heads: numKvHeads,
      group_size: numHeads / numKvHeads,
      query_length: queryLength,
      key_length: keyLength,
      depth4: divideUp(headDim, 4),
      value4: divideUp(valueDim, 4),
      value_dim: valueDim,
      query_batch: query.strides.batch / 4,
      query_head: query.strides.head / 4,
      query_position: query.strides.position / 4,
      key_batch: key.strides.batch / perLoad,
      key_head: key.strides.head / perLoad,
      key_position: key.strides.position / perLoad,
      value_batch: value.strides.batch / perLoad,
      value_head: value.strides.head / perLoad,
      value_position: value.strides.position / perLoad,
      key_scales: inPlace.cached?.firstScale?.key ?? 0,
      value_scales: inPlace.cached?.firstScale?.value ?? 0,
      output_batch: output.batch,
      output_head: output.head,
      output_position: output.position,
      output_feature: output.feature,
      mask_batch: maskBatch,
      mask_head: maskHead,
      mask_query: maskQuery,
      mask_key: maskKey,
      bias_batch: biasBatch,
      bias_head: biasHead,
      bias_query: biasQuery,
      bias_key: biasKey,
      scale: settings.scale ?? 1 / Math.sqrt(headDim),
      softcap: settings.softcap,
      ring_kept: inPlace.cached?.ring?.keepFirst ?? 0,
      ring_window: inPlace.cached?.ring?.window ?? 0,
      exclude_self: Number(settings.excludeSelf),
      empty_rows: EMPTY_ROWS[settings.emptyRows],
      num_rows: batchSize * numHeads * queryLength,
      row_stride: plan.rowStride,
      num_sequences: sequences.length,
      features: plan.features,
      heads_at: SEQUENCE_WORDS * sequences.length,
      chosen_at: SEQUENCE_WORDS * sequences.length + 3 * numHeads,
    },
  };
}

function strides4(extents: readonly number[] | undefined): [number, number, number, number] {
  return (extents ? broadcastStrides(extents) : [0, 0, 0, 0]) as [number, number, number, number];
}

/**
 * Gives an input the form that the kernels read: the array itself, or a copy packed to [B, H, S, width] with whole
 * vec4.
 */
function placeFloats(
  call: Call,
  { layout, kvLayout, shape, ...problem }: AttentionProblem,
  name: "query" | "key" | "value",
  plan: AttentionPlan,
  inPlace: Strides | undefined,
  heads: number,
  length: number,
  width: number,
): { readonly span: Span; readonly strides: Strides } {
  const tensor: PlacedFloats = problem[name];
  const strides = inPlace ?? stridesOf(name === "query" ? layout : kvLayout, heads, length, width);
  if (!plan.packed[name]) return { span: call.place(tensor), strides };
  const span = packRows(call, call.place(tensor), tensor.dtype, strides, [shape.batchSize, heads, length, width]);
  return { span, strides: stridesOf("BHSD", heads, length, 4 * divideUp(width, 4)) };
}

/** The table: sequences, then slopes, sinks and gains, then the chosen heads and queries. */
function placeTables(
  call: Call,
  { settings, shape }: AttentionProblem,
  { sequences }: Arrays,
  chosen: Int32Array,
): Span {
  const { numHeads } = shape;
  const heads = new Float32Array(3 * numHeads);
  if (settings.alibiSlopes) heads.set(settings.alibiSlopes);
  heads.set(settings.sinks ?? new Float32Array(numHeads).fill(-Infinity), numHeads);
  heads.set(settings.headGain ?? new Float32Array(numHeads).fill(1), 2 * numHeads);
  const words = sequenceWords(sequences, settings);
  const tables = new Int32Array(words.length + heads.length + chosen.length);
  tables.set(words);
  tables.set(new Int32Array(heads.buffer), words.length);
  tables.set(chosen, words.length + heads.length);
  return call.table(tables);
}

const NO_CHOICE = new Int32Array(0);

/** The attention pass. The plan may split the keys into parts. */
function attend(
  call: Call,
  problem: AttentionProblem,
  arrays: Arrays,
  plan: AttendPlan,
  output: Span | undefined,
): void {
  const tables = placeTables(call, problem, arrays, NO_CHOICE);
  const params = {
    ...arrays.params,
    row_tiles: plan.rowTiles,
    value_blocks: plan.valueBlocks,
    block_columns: plan.tiles.valueColumns / (4 * (arrays.plan.stored.perLoad ?? 1)),
    key_parts: plan.keyParts,
    keys_per_part: plan.keysPerPart,
  };
  const results = { ...(output && { 7: output }), 8: arrays.rows };
  const { attend, merge } = plan;
  if (!merge) {
    const uniform = call.params(params, attend.workgroups);
    call.dispatch(attend.kernel, attend.workgroups, { 0: uniform, ...arrays.inputs, 6: tables, ...results });
    return;
  }
  const partOutputs = call.room(Math.max(plan.partBytes.outputs, 4));
  const partRows = call.room(plan.partBytes.statistics);
  call.dispatch(attend.kernel, attend.workgroups, {
    0: call.params(params, attend.workgroups),
    ...arrays.inputs,
    6: tables,
    7: partOutputs,
    8: partRows,
  });
  call.dispatch(merge.kernel, merge.workgroups, {
    0: call.params(params, merge.workgroups),
    3: arrays.inputs[3]!,
    6: tables,
    ...results,
    9: partRows,
    10: partOutputs,
  });
}

type RowResult = "lse" | "entropy";

function rowResults(
  call: Call,
  problem: AttentionProblem,
  arrays: Arrays,
): Partial<Record<RowResult, Deliver<ResultTensor<"float32">>>> {
  const { shape, wanted, location } = problem;
  const full = [shape.batchSize, shape.numHeads, shape.queryLength];
  const section = (name: RowResult) => {
    const span = rowSection(arrays, SECTION[name], shape);
    if (location === "cpu") return handInRank(call, problem, span, full, "float32");
    const own = call.resultRoom(span.bytes, location);
    call.copyOut(span, own);
    return handInRank(call, problem, own, full, "float32");
  };
  return { ...(wanted.lse && { lse: section("lse") }), ...(wanted.entropy && { entropy: section("entropy") }) };
}

function rowSection(
  { rows, plan }: Arrays,
  section: number,
  { batchSize, numHeads, queryLength }: AttentionShape,
): Span {
  const bytes = 4 * batchSize * numHeads * queryLength;
  return { buffer: rows.buffer, offset: rows.offset + 4 * section * plan.rowStride, bytes };
}

/** `emptyRows: "throw"`: reads which rows saw no key in the attention pass. */
function emptyRowCheck(call: Call, problem: AttentionProblem, arrays: Arrays): (result: ArrayBuffer) => void {
  const { operation, shape } = problem;
  const read = call.read(rowSection(arrays, SECTION.flags, shape));
  return (result) => {
    const flags = asArray("int32", read(result));
    const rows: RowIndex[] = [];
    for (const [n, sequence] of arrays.sequences.entries())
      for (let head = 0; head < shape.numHeads; ++head)
        for (let query = 0; query < sequence.numQueries && rows.length < MOST_LISTED_ROWS; ++query) {
          const row = (sequence.batch * shape.numHeads + head) * shape.queryLength + sequence.queryBegin + query;
          if ((flags[row]! & (SEEN | PADDING)) === 0) rows.push({ batch: n, head, query });
        }
    const [first] = rows;
    if (first)
      throw new EmptyRowError(
        `${operation}: batch ${first.batch}, head ${first.head}, query ${first.query} sees no key`,
        rows,
      );
  };
}

function inspections(call: Call, problem: AttentionProblem, arrays: Arrays) {
  const results: Partial<Record<"probs" | "scores" | "topK", Deliver<unknown>>> = {};
  for (const plan of arrays.plan.inspect) {
    if (plan.topK) results.topK = topK(call, problem, arrays, plan);
    else results[plan.stage === "probs" ? "probs" : "scores"] = dense(call, problem, arrays, plan);
  }
  return results;
}

function dense(
  call: Call,
  problem: AttentionProblem,
  arrays: Arrays,
  plan: InspectPlan,
): Deliver<ResultTensor<"float32">> {
  const { shape } = problem;
  const full = [shape.batchSize, plan.heads, plan.queries, shape.keyLength];
  const bytes = 4 * full.reduce((product, extent) => product * extent, 1);
  const target = call.resultRoom(bytes, problem.location);
  inspect(call, problem, arrays, plan, target, 0, plan.queries);
  return handInRank(call, problem, { ...target, bytes }, full, "float32");
}

/** Writes [B, heads, count, Skv] for `count` of the chosen queries, beginning with number `first`. */
function inspect(
  call: Call,
  problem: AttentionProblem,
  arrays: Arrays,
  plan: InspectPlan,
  target: Span,
  first: number,
  count: number,
): void {
  const { shape } = problem;
  const chosen = chosenIndices(plan.selection, shape);
  const rowTiles = divideUp(count, plan.tiles.queryRows);
  const workgroups = shape.batchSize * plan.heads * rowTiles * divideUp(shape.keyLength, plan.tiles.keys);
  const params = {
    ...arrays.params,
    row_tiles: rowTiles,
    chosen_heads: chosen.heads.length,
    chosen_queries: chosen.queries.length,
    first_row: first,
    row_count: count,
    stage: STAGE[plan.stage],
    features: arrays.params.features | (plan.selection.average ? FEATURE.average : 0),
  };
  const tables = placeTables(call, problem, arrays, Int32Array.from([...chosen.heads, ...chosen.queries]));
  call.dispatch(plan.kernel, workgroups, {
    0: call.params(params, workgroups),
    ...arrays.inputs,
    6: tables,
    7: target,
    8: arrays.rows,
  });
}

function chosenIndices({ heads, queries }: Selection, { numHeads, queryLength }: AttentionShape) {
  const all = (count: number) => Int32Array.from({ length: count }, (_, n) => n);
  return { heads: heads ?? all(numHeads), queries: queries ?? all(queryLength) };
}

function topK(call: Call, problem: AttentionProblem, arrays: Arrays, plan: InspectPlan): Deliver<PlacedResult["topK"]> {
  const { shape } = problem;
  const { kernel, k } = plan.topK!;
  const [heads, queries] = selectedExtents(plan.selection, shape);
  const full = [shape.batchSize, heads, queries, k];
  const bytes = 4 * full.reduce((product, extent) => product * extent, 1);
  const room = () => call.resultRoom(bytes, problem.location);
  const [values, indices] = [room(), room()];
  const ranked = call.room(4 * shape.batchSize * heads * plan.rowsPerStep * shape.keyLength);
  for (let first = 0; first < queries; first += plan.rowsPerStep) {
    const count = Math.min(plan.rowsPerStep, queries - first);
    inspect(call, problem, arrays, plan, ranked, first, count);
    const workgroups = shape.batchSize * heads * count;
    const params = { ...arrays.params, chosen_queries: queries, first_row: first, row_count: count, top_k: k };
    call.dispatch(kernel, workgroups, { 0: call.params(params, workgroups), 7: values, 8: indices, 9: ranked });
  }
  const collect = {
    values: handInRank(call, problem, { ...values, bytes }, full, "float32"),
    indices: handInRank(call, problem, { ...indices, bytes }, full, "int32"),
  };
  return (result) => ({ values: collect.values(result), indices: collect.indices(result) });
}
