import { checkKeys, readSettings, refuseDropout, refuseMovedDiagonal } from "../attention/attentionSettings.js";
import { withKeyLength, type AttentionShape } from "../attention/attentionShape.js";
import { callPositions, type SequencePositions } from "../attention/callPositions.js";
import { formulaReading } from "../attention/formulaReading.js";
import { checkedPatches, type GivenPatches } from "../attention/patch.js";
import { readRagged } from "../attention/ragged.js";
import { readWanted } from "../attention/returns.js";
import { checkViewedKeys } from "../attention/views.js";
import { OptionError, ShapeError, UnsupportedError } from "../base/errors.js";
import { cachePositions } from "../cache/cachePositions.js";
import { refuseDropped } from "../cache/droppedKeys.js";
import type { EngineCache } from "../cache/engineCache.js";
import { formWhileGaining, longest, tokensAfter } from "../cache/heldTokens.js";
import { KvCache } from "../cache/kvCache.js";
import { withLengthsOf } from "../cache/lastAppend.js";
import { grownPositions, originsOf, ownOf, ownPositions, withAlibiPositions } from "../cache/ownPositions.js";
import { followsLength } from "../position/checkedAngles.js";
import type { CallArguments } from "../read/callArguments.js";
import { encoderOf } from "../read/encoder.js";
import { refuseGpu } from "../read/location.js";
import { readOptions, type OptionReader } from "../read/options.js";
import { outputForm } from "../read/outputForm.js";
import { readRow, readTable } from "../read/settingTable.js";
import { FLOATS } from "../tensor/tensor.js";
import type { Context } from "../turn/context.js";
import { checkWidths, readContexts, readRows, widthAxis, type Rows } from "./contexts.js";
import { FORWARD, FORWARD_NAMES } from "./forwardOptions.js";
import { checkPlaces, givenAlibi, readPlaces, type Places } from "./forwardPositions.js";
import type { ForwardProblem } from "./forwardProblem.js";
import type { LayerForm } from "./layerForm.js";
import type { LayerShape } from "./layerShape.js";
import { readPatch } from "./patch.js";
import { FORWARD_RETURNS, readLayerViews, type LayerViews } from "./views.js";

/** A call of forward that has been read and waits for its turn. */
export interface ForwardRequest {
  readonly signal: AbortSignal | undefined;
  readonly save: boolean;
  /** The caller's encoder, if the call is recorded. */
  readonly encoder: object | undefined;
  /**
   * Does the remaining checks, when it is the call's turn: earlier calls may have changed the cache.
   *
   * @param operation - What messages begin with. Default: the call's own.
   */
  inTurn(operation?: string): ForwardProblem;
}

/** Reads a call of forward, and does all checks that do not depend on the cache's content. */
export function forwardRequest(
  call: CallArguments,
  engine: Context["engine"],
  layer: LayerForm,
  x: unknown,
  given: unknown,
): ForwardRequest {
  const options = readOptions(call, given, FORWARD_NAMES);
  return readRequest(call, engine, layer, options, [x, cacheIn(call, engine, options)]);
}

/** The cache that a call of forward names. */
export function cacheIn(
  call: CallArguments,
  engine: Context["engine"],
  options: OptionReader,
): EngineCache | undefined {
  if (!options.has("cache")) return undefined;
  const given = options.value("cache");
  return call.needs(() => KvCache.in(engine, call.operation, "cache", given));
}

/** The same for options that have been read, and a cache that has been found. */
export function readRequest(
  call: CallArguments,
  engine: Context["engine"],
  layer: LayerForm,
  options: OptionReader,
  [x, cache]: readonly [x: unknown, cache: EngineCache | undefined],
): ForwardRequest {
  const encoder = encoderOf(options);
  const read = readForward(call, options, engine, layer, x, cache);
  refuseTogether(options, read);
  const { signal, save } = read;
  if (read.cache) {
    const inTurn = (operation?: string) => problemOf(layer, operation === undefined ? read : { ...read, operation });
    return { signal, save, encoder, inTurn };
  }
  const problem = problemOf(layer, read); // without a cache nothing can change until the call's turn
  return { signal, save, encoder, inTurn: () => problem };
}

type Extents = Omit<AttentionShape, "keyLength">;

/** A call as it was read. What depends on the cache's content is not known yet. */
interface Read extends Omit<ForwardProblem, "shape" | "own" | "patches"> {
  readonly extents: Extents;
  readonly patch: GivenPatches | undefined;
  readonly places: Places;
  /** What the cache gains. */
  readonly gain: { readonly numTokens: number; readonly lengths: Int32Array | undefined };
}

function readForward(
  call: CallArguments,
  options: OptionReader,
  engine: Context["engine"],
  layer: LayerForm,
  givenX: unknown,
  cache: EngineCache | undefined,
): Read {
  const { operation } = call;
  const { shape: form, layout } = layer;
  const x = call.placed("x", givenX, FLOATS);
  const rank = x.shape.length;
  const rows = readRows(operation, "x", x, layout, form.inputDim, "inputDim");
  if (!call.placement.onGpu)
    refuseGpu(options, engine.onGpu ? "needs a layer on WebGPU, this one is on wasm" : undefined);
  const attendOnly = readRow(options, "attendOnly", FORWARD.attendOnly);
  if (attendOnly) refuseWithAttendOnly(options, cache);
  else checkWidths(options, layer);
  const { key, value, length: contextLength } = readContexts(options, layer, x, rows);
  const sizes = { batchSize: rows.batchSize, contextLength };
  const { appendLengths, save, location, signal, onProgress } = readTable(options, FORWARD, sizes);
  const lengths = appendLengths ?? queryLengthsToAppend(options, sizes);
  if (appendLengths && !cache) throw new OptionError(`${operation}: appendLengths needs a cache to append to`);
  const gain = attendOnly ? { numTokens: 0, lengths: undefined } : { numTokens: contextLength, lengths };
  if (cache) checkCache(operation, cache, layer, rows);
  const extents = extentsOf(form, rows);
  const ragged = readRagged(options, layout, withKeyLength(extents, contextLength));
  if (ragged && cache) throw new UnsupportedError(`${operation}: a ragged batch cannot attend to a cache`);
  const returns = options.object("returns", FORWARD_RETURNS);
  const patch = readPatch(options, extents, attendOnly ? undefined : contextLength);
  const views = readLayerViews(returns, extents, cache ? undefined : contextLength, form.outputProjection);
  if (cache?.form.rotary) refuseTurned(operation, patch, views);
  const places = readPlaces(options, layer, cache, rows, { batchSize: rows.batchSize, length: contextLength });
  const outputShape = x.shape.map((extent, axis) => (axis === widthAxis(layout, rank) ? form.outputDim : extent));
  const appends = cache !== undefined && !attendOnly;
  if (save) refuseWithSave(operation, cache, patch);
  return {
    operation,
    layout,
    x,
    key,
    value,
    contextLength,
    cache,
    attendOnly,
    gain,
    extents,
    patch,
    places,
    appendLengths: appends ? lengths : undefined,
    positions: places.positions,
    keyPositions: places.keyPositions,
    settings: withLengthsOf(
      appends && !key ? gain : undefined,
      readSettings(options, extents, ragged ? ragged.query.length - 1 : extents.batchSize),
      extents.queryLength,
      layer.usesPositions || cache?.form.rotary === true || cache?.form.ring !== undefined,
    ),
    ragged,
    wanted: readWanted(returns, extents),
    views,
    output: outputForm(options, outputShape, x),
    save,
    location,
    signal,
    onProgress,
    keepRank: (full) => (rank === 2 ? full.slice(1) : [...full]),
  };
}

/** The shape of the attention inside, without its number of keys. */
function extentsOf({ numHeads, numKvHeads, headDim, valueHeadDim }: LayerShape, { batchSize, length }: Rows): Extents {
  return { batchSize, numHeads, numKvHeads, queryLength: length, headDim, valueDim: valueHeadDim };
}

/** Refuses settings that cannot go with other things of the call. */
function refuseTogether(options: OptionReader, { settings, cache, patch, ragged, extents, save }: Read): void {
  const { operation } = options;
  if (cache) refuseDropout(operation, settings, "a cache");
  if (patch?.probs) refuseDropout(operation, settings, "patch.probs");
  if (!ragged && !cache) refuseMovedDiagonal(options, settings, extents.queryLength);
  if (save && settings.score) formulaReading.code!.readDerivatives(operation, settings.score);
}

/** The problem when it is the call's turn. It also depends on what the cache holds then. */
function problemOf(layer: LayerForm, read: Read): ForwardProblem {
  const { operation, cache, contextLength, ragged, extents, patch, places } = read;
  const after = cache && cacheAfter(cache, read);
  const shape = withKeyLength(extents, after ? longest(after.form, after.appended) : contextLength);
  const sequences = after
    ? cachePositions(after.form, after.appended, read.settings, shape.queryLength)
    : callPositions(shape, read.settings, ragged);
  const settings = after
    ? withAlibiPositions(operation, read.settings, places.queries?.data, after.ownInForm, {
        ...after,
        sequences,
        shape,
      })
    : { ...read.settings, ...(read.settings.alibiSlopes && givenAlibi(places.queries, places.keys)) };
  if (after) refuseDropped(operation, after.form, after.appended, read.settings, sequences);
  checkTokens(layer, read, shape, sequences);
  // Property by property: a copy of `read` by spreading took 4 µs.
  return {
    operation,
    layout: read.layout,
    shape,
    x: read.x,
    key: read.key,
    value: read.value,
    contextLength,
    cache,
    attendOnly: read.attendOnly,
    appendLengths: read.appendLengths,
    positions: read.positions,
    keyPositions: read.keyPositions,
    own: after?.own,
    settings,
    ragged,
    wanted: read.wanted,
    views: read.views,
    patches: checkedPatches(operation, patch, { shape, contextLength, sequences, ragged }),
    output: read.output,
    save: read.save,
    location: read.location,
    signal: read.signal,
    onProgress: read.onProgress,
    keepRank: read.keepRank,
  };
}

/** The cache while the call attends to it: its form, its tokens, and where those of their own positions stand. */
function cacheAfter(cache: EngineCache, { gain, places: { keys }, attendOnly }: Read) {
  const form = formWhileGaining(cache.form, cache.appended, gain);
  const gained = { ...gain, own: ownOf(keys) };
  const own = attendOnly ? ownPositions(cache) : grownPositions(cache, gained);
  const ownInForm = form === cache.form ? own : grownPositions(cache, gained, form);
  return { form, appended: tokensAfter(cache.appended, gain), own, ownInForm, origins: originsOf(cache) };
}

/** Checks what depends on how many keys there are. */
function checkTokens(
  layer: LayerForm,
  read: Read,
  shape: AttentionShape,
  sequences: readonly SequencePositions[],
): void {
  checkKeys(read.operation, read.settings, shape, sequences);
  checkPlaces(read.operation, layer, sequences, read);
  checkViewedKeys(read.operation, read.views, shape.keyLength);
}

/** Refuses what a saved call cannot have. */
function refuseWithSave(operation: string, cache: EngineCache | undefined, patch: GivenPatches | undefined): void {
  if (patch) throw new UnsupportedError(`${operation}: save is not offered with patch`);
  if (cache)
    throw new UnsupportedError(`${operation}: save is not offered with a cache, whose earlier tokens it needs`, {
      hint: "Call forward with all tokens, and without a cache.",
    });
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

function refuseWithAttendOnly(options: OptionReader, cache: EngineCache | undefined): void {
  if (!cache) throw new OptionError(`${options.operation}: attendOnly needs a cache to attend to`);
  for (const name of ["key", "value", "appendLengths"])
    if (options.has(name))
      throw new OptionError(`${options.operation}: ${name} must be absent with attendOnly, which reads the cache only`);
}

/** How many tokens of each batch the cache gains if appendLengths is absent; undefined means all. */
function queryLengthsToAppend(
  options: OptionReader,
  { batchSize, contextLength }: { readonly batchSize: number; readonly contextLength: number },
): Int32Array | undefined {
  return options.has("key") ? undefined : options.integers("queryLengths", { min: 0, max: contextLength }, batchSize);
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
