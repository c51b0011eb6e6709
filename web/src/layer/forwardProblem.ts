import {
  checkKeys,
  readSettings,
  refuseDropout,
  refuseMovedDiagonal,
  SETTINGS_NAMES,
  type AttentionSettings,
  type AttentionSettingsOptions,
} from "../attention/attentionSettings.js";
import { withKeyLength, type AttentionShape } from "../attention/attentionShape.js";
import { callPositions, type SequencePositions } from "../attention/callPositions.js";
import { checkedPatches, type GivenPatches, type Patches } from "../attention/patch.js";
import { readRagged, type Ragged } from "../attention/ragged.js";
import { readWanted, type Wanted } from "../attention/returns.js";
import { checkViewedKeys } from "../attention/views.js";
import { cachePositions } from "../cache/cachePositions.js";
import { formWhileGaining, longest, tokensAfter } from "../cache/cacheProblem.js";
import { refuseDropped } from "../cache/droppedKeys.js";
import type { EngineCache } from "../cache/engineCache.js";
import { KvCache } from "../cache/kvCache.js";
import { withLengthsOf } from "../cache/lastAppend.js";
import { grownPositions, ownPositions, withAlibiPositions, type OwnPositions } from "../cache/ownPositions.js";
import { refuseGivenPlaces } from "../cache/ringPlaces.js";
import { refusePlanes } from "../cache/readCachePositions.js";
import type { CallArguments } from "../call/callArguments.js";
import type { Context } from "../call/context.js";
import { ENCODER, encoderOf } from "../call/encoder.js";
import { refuseGpu } from "../call/location.js";
import { namesOf, readOptions, type NumberList, type OptionReader } from "../call/options.js";
import { outputForm, type OutputForm } from "../call/outputForm.js";
import { OptionError, ShapeError, UnsupportedError } from "../errors/errors.js";
import { describe } from "../foreign/describe.js";
import { readDerivatives } from "../formula/derivatives.js";
import { checkTableRows, followsLength, type CheckedAngles } from "../position/rotaryAngles.js";
import { readTokenPositions, type GivenPositions, type TokenPositions } from "../position/tokenPositions.js";
import type { GpuFloats } from "../tensor/gpuTensor.js";
import { FLOATS, type FloatTensor, type FloatTensorLike, type PlacedFloats } from "../tensor/tensor.js";
import type { LayerProblem } from "./layerProblem.js";
import type { LayerShape } from "./layerShape.js";
import { readPatch, type Patch } from "./patch.js";
import { FORWARD_RETURNS, readLayerViews, type ForwardReturns, type LayerViews } from "./views.js";
import type { Watched, WatchOptions } from "../call/watched.js";
import { assertBatch } from "../tensor/layout.js";

/**
 * Options of `layer.forward`. Positions are the positions of attention: query i is at position i + offset; key j is at
 * its row number or, in a cache, at its place there. queryOffset moves masks, rotary embedding and added positions
 * together.
 */
export interface ForwardOptions extends AttentionSettingsOptions, WatchOptions {
  /** The input of the key projection, `[B, Skv, keyInputDim]`. Default x. */
  readonly key?: FloatTensorLike | GpuFloats | undefined;
  /** The input of the value projection, `[B, Skv, valueInputDim]`. Default the input of the key projection. */
  readonly value?: FloatTensorLike | GpuFloats | undefined;
  /**
   * A cache. The projected keys and values are appended to it; then the queries attend to all keys in it. A ring drops
   * tokens only afterwards, as in `KvCache.step`. If the call fails, the cache is as before, unless it is a ring that has
   * dropped a token for a single new one.
   */
  readonly cache?: KvCache | undefined;
  /**
   * With a cache: attend to its keys and append nothing, as cross-attention does after its first step. Default false.
   */
  readonly attendOnly?: boolean | undefined;
  /**
   * `[B]`: how many leading tokens of each batch to append. Default: queryLengths if keys come from x, otherwise all.
   * If keys come from x, the call uses positions and queryOffset is absent, the default of queryLengths is
   * appendLengths.
   */
  readonly appendLengths?: NumberList | undefined;
  /**
   * Where the tokens of x stand, for the layer's positions, those of a rotary cache, and `alibiSlopes`: whole numbers, a
   * list `[S]`, or a tensor `[S]` or `[B, S]`; with sections also `[3, B, S]`. Default: their indices. Queries stand there,
   * and keys that come from x. Masks, windows and causal go on by index, as with `position_ids` in transformers.
   */
  readonly positions?: GivenPositions | undefined;
  /**
   * Where the tokens of `key` stand, if the layer or the cache turns keys, or with `alibiSlopes`: `[S]` or `[B, S]` for
   * the length of `key`; with sections as many planes as `positions`. It needs `positions`.
   */
  readonly keyPositions?: GivenPositions | undefined;
  /** Ragged batch: where each sequence begins in x, and where the last one ends. Needs cuSeqLensKey. */
  readonly cuSeqLensQuery?: NumberList | undefined;
  /** The same for the key context, or for x if there is none. */
  readonly cuSeqLensKey?: NumberList | undefined;
  /**
   * Whether to keep what `layer.backward` needs, as `result.saved`. Not with a cache. Default false.
   */
  readonly save?: boolean | undefined;
  /** What to return. Default: only `output`. */
  readonly returns?: ForwardReturns | undefined;
  /** Overwrites queries, keys, values, weights or results of heads, for this call. Not with save. */
  readonly patch?: Patch | undefined;
  /** Where the results are. `"gpu"` needs a layer on WebGPU. Default `"cpu"`. */
  readonly location?: "cpu" | "gpu" | undefined;
  /** A tensor of the output's shape, to write the output to. It is then also `result.output`. */
  readonly into?: FloatTensor | undefined;
}

/** A call of forward that has passed every check. */
export interface ForwardProblem extends Watched {
  readonly operation: string;
  readonly layout: "BSE" | "BES";
  /** The shape of the attention inside the layer. */
  readonly shape: AttentionShape;
  readonly x: PlacedFloats;
  readonly key: PlacedFloats | undefined;
  readonly value: PlacedFloats | undefined;
  readonly contextLength: number;
  readonly cache: EngineCache | undefined;
  readonly attendOnly: boolean;
  readonly appendLengths: Int32Array | undefined;
  readonly positions: TokenPositions | undefined;
  /** `[planes, B, contextLength]`. */
  readonly keyPositions: TokenPositions | undefined;
  /** Where the tokens of the cache stand after the call, if any was given a position. */
  readonly own: OwnPositions | undefined;
  readonly settings: AttentionSettings;
  readonly ragged: Ragged | undefined;
  readonly wanted: Wanted;
  readonly views: LayerViews;
  readonly patches: Patches | undefined;
  readonly output: OutputForm;
  /** Whether the engine keeps what the gradient needs. */
  readonly save: boolean;
  /** Where the results are. */
  readonly location: "cpu" | "gpu";
  readonly keepRank: (shape: readonly number[]) => number[];
}

const FORWARD_NAMES = [
  ...SETTINGS_NAMES,
  ...namesOf<Omit<ForwardOptions, keyof AttentionSettingsOptions>>({
    key: true,
    value: true,
    cache: true,
    attendOnly: true,
    appendLengths: true,
    positions: true,
    keyPositions: true,
    cuSeqLensQuery: true,
    cuSeqLensKey: true,
    save: true,
    returns: true,
    patch: true,
    location: true,
    into: true,
    signal: true,
    onProgress: true,
  }),
  ENCODER,
];

/** The part of a layer that a call of forward needs. */
export interface LayerForm extends Pick<LayerProblem, "shape" | "layout"> {
  /** How the layer turns queries and keys by their positions (rotary embedding), if it does. */
  readonly turns: CheckedAngles | undefined;
  /** How many rows the layer's table of positions has; undefined: positions have no limit. */
  readonly positionRows: number | undefined;
  /** Whether the layer uses positions at all: it turns queries and keys, or adds something to x. */
  readonly usesPositions: boolean;
}

/** The sizes of x or of a context. */
interface Rows {
  readonly batchSize: number;
  readonly length: number;
}

/** A call of forward that has been read and waits for its turn. */
export interface ForwardRequest {
  readonly signal: AbortSignal | undefined;
  readonly save: boolean;
  /** The caller's encoder, if the call is recorded. */
  readonly encoder: object | undefined;
  /** Does the remaining checks, when it is the call's turn: earlier calls may have changed the cache. */
  inTurn(): ForwardProblem;
}

/** Reads a call of forward, and does all checks that do not depend on the cache's content. */
export function forwardRequest(
  call: CallArguments,
  engine: Context["engine"],
  layer: LayerForm,
  givenX: unknown,
  given: unknown,
): ForwardRequest {
  const { operation } = call;
  const options = readOptions(call, given, FORWARD_NAMES);
  const encoder = encoderOf(options);
  const { layout } = layer;
  const { inputDim, keyInputDim, valueInputDim, outputDim, numHeads, numKvHeads, headDim, valueHeadDim } = layer.shape;
  const x = call.placed("x", givenX, FLOATS);
  const rank = x.shape.length;
  const rows = readRows(operation, "x", x, layout, inputDim, "inputDim");
  if (!call.placement.onGpu)
    refuseGpu(options, engine.onGpu ? "needs a layer on WebGPU, this one is on wasm" : undefined);
  const key = options.placed("key", FLOATS);
  const value = options.placed("value", FLOATS);
  const cache = options.has("cache") ? KvCache.in(engine, operation, "cache", options.value("cache")) : undefined;
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
  const append = attendOnly
    ? { numTokens: 0, lengths: undefined }
    : { numTokens: contextLength, lengths: appendLengths };
  /** The tokens of the cache after the call. */
  const after = () => tokensAfter(cache!.appended, append);
  if (cache) checkCache(operation, cache, layer, rows);
  const extents: Omit<AttentionShape, "keyLength"> = {
    batchSize: rows.batchSize,
    numHeads,
    numKvHeads,
    queryLength: rows.length,
    headDim,
    valueDim: valueHeadDim,
  };
  const ragged = readRagged(options, layout, withKeyLength(extents, contextLength));
  if (ragged && cache) throw new UnsupportedError(`${operation}: a ragged batch cannot attend to a cache`);
  const returns = options.object("returns", FORWARD_RETURNS);
  const numKeys = attendOnly ? undefined : contextLength;
  const patch = readPatch(options, extents, numKeys);
  const views = readLayerViews(returns, extents, cache ? undefined : contextLength, layer.shape.outputProjection);
  if (cache?.form.rotary) refuseTurned(operation, patch, views);
  const givenPositions = readPositions(options, layer, cache, rows);
  const contextRows = { ...rows, length: contextLength };
  const givenKeyPositions = readKeyPositions(options, layer, cache, contextRows, givenPositions);
  const placesKeys = layer.turns !== undefined || cache?.form.rotary === true;
  const positions = layer.usesPositions || placesKeys ? givenPositions : undefined;
  const keyPositions = placesKeys ? givenKeyPositions : undefined;
  const ownKeys = key ? givenKeyPositions : givenPositions;
  const ownAppend = { ...append, own: ownKeys?.planes === 1 ? ownKeys.data : undefined };
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
    positions,
    keyPositions,
    settings: withLengthsOf(
      appends && !key ? { numTokens: contextLength, lengths: appendLengths } : undefined,
      readSettings(options, extents, ragged ? ragged.query.length - 1 : extents.batchSize),
      extents.queryLength,
      layer.usesPositions || cache?.form.rotary === true,
    ),
    ragged,
    wanted: readWanted(returns, extents),
    views,
    output: outputForm(options, outputShape, x),
    save: readSave(options, cache, patch),
    location: options.oneOf("location", ["cpu", "gpu"], "cpu"),
    ...options.watched(),
    keepRank: (full: readonly number[]) => (rank === 2 ? full.slice(1) : [...full]),
  };
  const inTurn = (): ForwardProblem => {
    const form = cache && formWhileGaining(cache.form, cache.appended, append);
    const own = cache && (attendOnly ? ownPositions(cache) : grownPositions(cache, ownAppend));
    const shape = withKeyLength(extents, form ? longest(form, after()) : contextLength);
    const sequences = form
      ? cachePositions(form, after(), read.settings, shape.queryLength)
      : callPositions(shape, read.settings, ragged);
    const settings = form
      ? withAlibiPositions(
          read.settings,
          givenPositions?.data,
          form === cache.form ? own : grownPositions(cache, ownAppend, form),
          { form, appended: after(), sequences, shape },
        )
      : { ...read.settings, ...(read.settings.alibiSlopes && givenAlibi(givenPositions, ownKeys)) };
    if (form) refuseDropped(operation, form, after(), read.settings, sequences);
    checkKeys(operation, read.settings, shape, sequences);
    if (read.positions) checkGiven(operation, layer, sequences, read.positions.data, read);
    else if (layer.turns?.tables) checkTurned(operation, layer.turns, sequences, cache?.appended, read);
    if (read.keyPositions) checkGivenKeys(operation, layer, sequences, read.keyPositions.data, read);
    checkViewedKeys(operation, views, shape.keyLength);
    const patches = checkedPatches(operation, patch, { shape, contextLength, sequences, ragged });
    // Property by property: a copy of `read` by spreading took 4 µs.
    return {
      operation,
      layout,
      shape,
      x,
      key,
      value,
      contextLength,
      cache,
      attendOnly,
      appendLengths: read.appendLengths,
      positions: read.positions,
      keyPositions: read.keyPositions,
      own,
      settings,
      ragged,
      wanted: read.wanted,
      views,
      patches,
      output: read.output,
      save: read.save,
      location: read.location,
      signal: read.signal,
      onProgress: read.onProgress,
      keepRank: read.keepRank,
    };
  };
  if (cache) refuseDropout(operation, read.settings, "a cache");
  if (patch?.probs) refuseDropout(operation, read.settings, "patch.probs");
  if (!ragged && !cache) refuseMovedDiagonal(options, read.settings, extents.queryLength);
  if (read.save && read.settings.score) readDerivatives(operation, read.settings.score);
  if (cache) return { signal: read.signal, save: read.save, encoder, inTurn };
  const problem = inTurn(); // without a cache nothing can change until the call's turn
  return { signal: read.signal, save: read.save, encoder, inTurn: () => problem };
}

/** Reads positions of the caller's own, and refuses what cannot go with them. */
function readPositions(
  options: OptionReader,
  { turns, usesPositions }: LayerForm,
  cache: EngineCache | undefined,
  rows: Rows,
): TokenPositions | undefined {
  const positions = readTokenPositions(options, rows, turns?.sections || cache?.form.sections ? 3 : undefined);
  if (!positions) return undefined;
  const byCache = cache?.form.rotary === true;
  const byAlibi = options.has("alibiSlopes");
  if (!usesPositions && !byCache && !byAlibi)
    throw options.refuse(
      "positions",
      "be absent: neither the layer nor a cache nor alibiSlopes uses them",
      "See the option position.",
    );
  refusePlanes(options, positions);
  if (cache) refuseGivenPlaces(options, cache.form);
  if ((turns || byCache || byAlibi) && options.has("key") && !options.has("keyPositions"))
    throw options.missing(
      "keyPositions",
      `positions are those of x, and ${byAlibi && !turns && !byCache ? "alibiSlopes need those of `key`" : "the keys of `key` are turned"}`,
    );
  return positions;
}

/** Reads the positions of the keys' own tokens, and refuses what cannot go with them. */
function readKeyPositions(
  options: OptionReader,
  { turns }: LayerForm,
  cache: EngineCache | undefined,
  keys: Rows,
  positions: TokenPositions | undefined,
): TokenPositions | undefined {
  const refuse = (why: string, hint: string) => options.refuse("keyPositions", `be absent ${why}`, hint);
  const planes = turns?.sections || cache?.form.sections ? 3 : undefined;
  const keyPositions = readTokenPositions(options, keys, planes, "keyPositions");
  if (!keyPositions) return undefined;
  if (!options.has("key")) throw refuse("without key", "Keys that come from x stand at positions.");
  if (!positions) throw refuse("without positions", "Say with `positions` where the queries stand.");
  if (!turns && !cache?.form.rotary && !options.has("alibiSlopes"))
    throw refuse("where keys are not turned, without alibiSlopes", "Nothing else reads them.");
  if (keyPositions.planes !== positions.planes)
    throw new ShapeError(
      `${options.operation}: keyPositions must have as many planes as positions, ` +
        `got ${keyPositions.planes} and ${positions.planes}`,
    );
  return keyPositions;
}

/** What ALiBi reads in a call without a cache. */
function givenAlibi(queries: TokenPositions | undefined, keys: TokenPositions | undefined) {
  return queries && keys ? { alibiQueryPositions: queries.data, alibiKeyPositions: keys.data } : undefined;
}

/** Throws if the layer's tables of cos and sin have no row for a given position of a key that is no padding. */
function checkGivenKeys(
  operation: string,
  { turns }: LayerForm,
  sequences: readonly SequencePositions[],
  data: Int32Array,
  {
    ragged,
    cache,
    appendLengths,
    contextLength,
  }: Pick<ForwardProblem, "ragged" | "cache" | "appendLengths" | "contextLength">,
): void {
  if (!turns?.tables) return;
  const total = ragged ? contextLength : sequences.length * contextLength;
  sequences.forEach(({ keyLength }, n) => {
    const first = ragged ? ragged.key[n]! : n * contextLength;
    const count = cache ? (appendLengths?.[n] ?? contextLength) : keyLength;
    for (let plane = 0; plane < data.length; plane += total)
      checkTableRows(operation, turns, data.subarray(plane + first, plane + first + count), "keyPositions");
  });
}

/** Throws if a table of the layer has no row for a given position of a token that is no padding. */
function checkGiven(
  operation: string,
  { turns, positionRows }: LayerForm,
  sequences: readonly SequencePositions[],
  data: Int32Array,
  { ragged, appendLengths }: Pick<ForwardProblem, "ragged" | "appendLengths">,
): void {
  if (!turns?.tables && positionRows === undefined) return;
  const planes = turns?.tables ? 3 : 1;
  const { numQueries = 0 } = sequences[0] ?? {};
  const total = ragged ? ragged.query.at(-1)! : sequences.length * numQueries;
  sequences.forEach(({ queryLength }, n) => {
    const first = ragged ? ragged.query[n]! : n * numQueries;
    const count = Math.max(queryLength, appendLengths?.[n] ?? 0);
    for (let plane = 0; plane < planes && plane * total < data.length; ++plane) {
      const given = data.subarray(plane * total + first, plane * total + first + count);
      if (turns?.tables) checkTableRows(operation, turns, given);
      const outside = positionRows === undefined ? undefined : given.find((at) => at < 0 || at >= positionRows);
      if (outside !== undefined)
        throw new OptionError(
          `${operation}: positions must be rows of position.table, 0 to ${positionRows! - 1}, got ${outside}`,
        );
    }
  });
}

/** Throws if the layer's tables of cos and sin have no row for a query or for a new key. */
function checkTurned(
  operation: string,
  angles: CheckedAngles,
  sequences: readonly SequencePositions[],
  appended: readonly number[] | undefined,
  { contextLength, appendLengths, attendOnly }: Pick<ForwardProblem, "contextLength" | "appendLengths" | "attendOnly">,
): void {
  const check = (first: number, count: number) => {
    if (count > 0) checkTableRows(operation, angles, [first, first + count - 1]);
  };
  sequences.forEach(({ offset, queryLength, keyLength }, b) => {
    check(offset, queryLength);
    if (!appended) check(0, keyLength);
    else if (!attendOnly) check(appended[b]!, appendLengths?.[b] ?? contextLength);
  });
}

/** Whether the call is saved. */
function readSave(options: OptionReader, cache: EngineCache | undefined, patch: GivenPatches | undefined): boolean {
  const save = options.flag("save", false);
  if (save && patch) throw new UnsupportedError(`${options.operation}: save is not offered with patch`);
  if (save && cache)
    throw new UnsupportedError(
      `${options.operation}: save is not offered with a cache, whose earlier tokens it needs`,
      {
        hint: "Call forward with all tokens, and without a cache.",
      },
    );
  return save;
}

/** Refuses what needs queries or keys before a cache turns them. */
function refuseTurned(operation: string, patch: GivenPatches | undefined, views: LayerViews): void {
  const refused = [
    ...(["query", "key"] as const).filter((name) => patch?.[name]).map((name) => `patch.${name}`),
    ...(views.query ? ["returns.query"] : []),
  ];
  if (refused.length > 0)
    throw new UnsupportedError(`${operation}: ${refused.join(" and ")} must be absent with a cache that is rotary`, {
      hint: 'Let the layer turn queries and keys: position: { kind: "rotary" }.',
    });
}

function widthAxis(layout: "BSE" | "BES", rank: number): number {
  return layout === "BSE" ? rank - 1 : rank - 2;
}

/** Reads the batch size and length of [B, S, width] or [S, width]; in layout "BES" of [B, width, S] or [width, S]. */
function readRows(
  operation: string,
  name: string,
  { shape }: PlacedFloats,
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
  const batchSize = rank === 3 ? shape[0]! : 1;
  assertBatch(operation, () => `${name}.shape[0]`, batchSize, shape);
  return { batchSize, length: shape[layout === "BSE" ? rank - 2 : rank - 1]! };
}

function refuseWithAttendOnly(options: OptionReader, cache: EngineCache | undefined): void {
  if (!cache) throw new OptionError(`${options.operation}: attendOnly needs a cache to attend to`);
  for (const name of ["key", "value", "appendLengths"])
    if (options.has(name))
      throw new OptionError(`${options.operation}: ${name} must be absent with attendOnly, which reads the cache only`);
}

/** If a context is absent, x is the context. Then x must have the context's width. */
function checkWidths(
  operation: string,
  { inputDim, keyInputDim, valueInputDim }: LayerShape,
  key: PlacedFloats | undefined,
  value: PlacedFloats | undefined,
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

/** How many tokens of each batch the cache gains; undefined means all. */
function readAppendLengths(
  options: OptionReader,
  { batchSize }: Rows,
  contextLength: number,
  key: PlacedFloats | undefined,
): Int32Array | undefined {
  const given = options.integers("appendLengths", { min: 0, max: contextLength }, batchSize);
  if (given && !options.has("cache"))
    throw new OptionError(`${options.operation}: appendLengths needs a cache to append to`);
  return given ?? (key ? undefined : options.integers("queryLengths", { min: 0, max: contextLength }, batchSize));
}

/** Throws if a cache does not fit this layer and batch. */
function checkCache(operation: string, { form }: EngineCache, { shape, turns }: LayerForm, { batchSize }: Rows): void {
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
  const byPlace = form.ring?.positions === "cache";
  if (turns && byPlace && !form.rotary)
    throw new OptionError(
      `${operation}: a cache with ring.positions "cache" must turn the keys of a layer that is rotary`,
      { hint: "`layer.kvCache` makes one, with the layer's own rotary options." },
    );
  if (turns && form.rotary && !byPlace)
    throw new OptionError(`${operation}: layer and cache are both rotary: one of them must turn the keys`);
  if (turns && followsLength(turns))
    throw new OptionError(
      `${operation}: position.scaling.sequenceLength must be given with a cache: keys that were turned stay so`,
    );
}
