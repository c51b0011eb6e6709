import type { AttentionSettingsOptions } from "../attention/attentionOptions.js";
import {
  checkKeys,
  readSettings,
  refuseDropout,
  SETTINGS,
  type AttentionSettings,
} from "../attention/attentionSettings.js";
import { withKeyLength, type AttentionShape } from "../attention/attentionShape.js";
import { checkedPatches, type AttendPatch, type Patches } from "../attention/patch.js";
import { readWanted, type Wanted } from "../attention/returns.js";
import { checkViewedKeys, type AttendReturns, type Views } from "../attention/views.js";
import { ShapeError } from "../base/errors.js";
import type { GivenPositions, TokenPositions } from "../position/tokenPositions.js";
import type { CallArguments } from "../read/callArguments.js";
import { refuseGpu } from "../read/location.js";
import type { OptionReader } from "../read/options.js";
import { outputForm, type OutputForm } from "../read/outputForm.js";
import { integer, LOCATION, ofCall, oneOf, signal } from "../read/settingKinds.js";
import { namesIn, readTable, type Checked, type TableOf } from "../read/settingTable.js";
import {
  axisName,
  headsShape,
  keepRank,
  LAYOUTS,
  packsHeads,
  shapeOf,
  type HeadsShape,
  type Layout,
} from "../tensor/layout.js";
import { FLOATS, type FloatTensor, type PlacedFloats } from "../tensor/tensor.js";
import { attendPatch, attendReturns, attendViews } from "./attendInside.js";
import { cachePositions } from "./cachePositions.js";
import { checkKvHeads, type CacheForm } from "./cacheProblem.js";
import { refuseDropped } from "./droppedKeys.js";
import { longest } from "./heldTokens.js";
import { withAlibiPositions, type OwnPositions } from "./ownPositions.js";
import { readCachePositions, refusePlanes } from "./readCachePositions.js";

/** Options of `KvCache.attend`: the options of `scaledDotProductAttention` that make sense with a cache. */
export interface AttendOptions extends AttentionSettingsOptions {
  /** Memory order of query and output. Default `"BHSD"`. */
  readonly layout?: Layout | undefined;
  /** Number of query heads. Default: what the shape says. If heads are packed: the width divided by headDim. */
  readonly numHeads?: number | undefined;
  /** The cache knows it. If given, it must be the number of the cache. */
  readonly numKvHeads?: number | undefined;
  /**
   * Where the queries stand, for the rotary embedding of the cache and for `alibiSlopes`: whole numbers, a list `[S]`, or
   * a tensor `[S]` or `[B, S]`; with sections also `[3, B, S]`. Default: their indices. The keys stand where `append` was
   * told. Masks, windows and formulas go on by index.
   */
  readonly positions?: GivenPositions | undefined;
  /** What to return. Default: only `output`. */
  readonly returns?: AttendReturns | undefined;
  /** Overwrites queries, weights or results of heads, for this call. */
  readonly patch?: AttendPatch | undefined;
  /** Where the results are. `"gpu"` needs a cache on WebGPU. Default `"cpu"`. */
  readonly location?: "cpu" | "gpu" | undefined;
  /** A tensor of the output's shape, to write the output to. It is then also `result.output`. */
  readonly into?: FloatTensor | undefined;
  /** Aborts the call while it waits in the queue. */
  readonly signal?: AbortSignal | undefined;
}

/** A call of attend that has passed every check. */
export interface AttendProblem {
  readonly operation: string;
  readonly layout: Layout;
  readonly shape: AttentionShape;
  readonly query: PlacedFloats;
  readonly settings: AttentionSettings;
  /** For the rotary embedding of the cache: `[planes, B, Sq]`. */
  readonly positions: TokenPositions | undefined;
  readonly wanted: Wanted;
  readonly views: Views;
  readonly patches: Patches | undefined;
  readonly output: OutputForm;
  /** Where the results are. */
  readonly location: "cpu" | "gpu";
  readonly signal: AbortSignal | undefined;
  readonly keepRank: (shape: readonly number[]) => number[];
}

/** A row for each option that is no setting of attention. */
export const ATTEND = {
  layout: oneOf(LAYOUTS),
  numHeads: integer({ min: 1 }),
  numKvHeads: integer({}),
  positions: ofCall(),
  returns: ofCall(),
  patch: ofCall(),
  location: LOCATION,
  into: ofCall(),
  signal: signal(),
} satisfies TableOf<Omit<AttendOptions, keyof AttentionSettingsOptions>>;

export const ATTEND_NAMES = namesIn({ ...SETTINGS, ...ATTEND });

/** A call of attend that has been read and waits for its turn. */
export interface AttendRequest {
  readonly numQueries: number;
  readonly signal: AbortSignal | undefined;
  /**
   * Does the remaining checks when it is the call's turn.
   *
   * @param appended - For each batch: how many tokens were appended and not rewound.
   * @param settled - Gives the settings the defaults that depend on the latest append.
   * @param form - The form that the cache has then.
   * @param own - Where its tokens stand then, if any was given a position.
   * @param origins - For each batch: what is added to the index of a token that was given none.
   */
  at(
    appended: readonly number[],
    settled: (settings: AttentionSettings) => AttentionSettings,
    form: CacheForm,
    own: OwnPositions | undefined,
    origins: readonly number[],
  ): AttendProblem;
}

/** Reads a call of attend, and does all checks that do not depend on the cache's content. */
export function attendRequest(
  call: CallArguments,
  form: CacheForm,
  givenQuery: unknown,
  options: OptionReader,
): AttendRequest {
  const { operation } = call;
  const { layout, numHeads, location, signal } = readTable(options, ATTEND);
  const query = call.placed("query", givenQuery, FLOATS);
  const rank = query.shape.length;
  checkKvHeads(options, form);
  const heads = queryHeads(operation, { layout, numHeads }, query, form);
  if (!call.placement.onGpu) refuseGpu(options);
  const extents: Omit<AttentionShape, "keyLength"> = {
    batchSize: heads.batchSize,
    numHeads: heads.numHeads,
    numKvHeads: form.numKvHeads,
    queryLength: heads.length,
    headDim: heads.headDim,
    valueDim: form.valueDim,
  };
  const returns = attendReturns(options);
  const views = attendViews(returns, extents);
  const patch = attendPatch(options, form, extents);
  const given = readCachePositions(options, form, extents.queryLength);
  refusePlanes(options, given);
  if (given && !form.rotary && !options.has("alibiSlopes"))
    throw options.refuse(
      "positions",
      "be absent with a cache that is not rotary, without alibiSlopes",
      "Nothing else reads them.",
    );
  const read = {
    operation,
    layout,
    query,
    settings: readSettings(options, extents),
    positions: form.rotary ? given : undefined,
    wanted: readWanted(returns, extents),
    views,
    output: outputForm(options, shapeOf(layout, rank, { ...heads, headDim: form.valueDim }), query),
    keepRank: (full: readonly number[]) => keepRank(layout, rank, full),
  };
  refuseDropout(operation, read.settings, "a cache");
  return {
    numQueries: extents.queryLength,
    signal,
    at(appended, settled, now, own, origins) {
      const shape = withKeyLength(extents, longest(now, appended));
      const plain = settled(read.settings);
      const sequences = cachePositions(now, appended, plain, shape.queryLength);
      const settings = withAlibiPositions(operation, plain, given?.data, own, {
        form: now,
        appended,
        origins,
        sequences,
        shape,
      });
      refuseDropped(operation, now, appended, settings, sequences);
      checkKeys(operation, settings, shape, sequences);
      checkViewedKeys(operation, views, shape.keyLength);
      const patched = { shape, contextLength: 0, sequences, ragged: undefined };
      // Property by property: a copy of `read` by spreading took 4 µs.
      const { output, wanted } = read;
      const patches = checkedPatches(operation, patch, patched);
      return {
        operation,
        layout,
        shape,
        query,
        settings,
        positions: read.positions,
        wanted,
        views,
        patches,
        output,
        location,
        signal,
        keepRank: read.keepRank,
      };
    },
  };
}

function queryHeads(
  operation: string,
  { layout, numHeads }: Pick<Checked<typeof ATTEND>, "layout" | "numHeads">,
  { shape }: PlacedFloats,
  form: CacheForm,
): HeadsShape {
  const packed = packsHeads(layout, shape.length);
  const width = packed ? shape[layout === "BSE" ? shape.length - 1 : shape.length - 2]! : 0;
  const implied = packed && width % form.headDim === 0 ? width / form.headDim : undefined;
  const heads = headsShape(operation, "query", shape, layout, numHeads ?? implied, "numHeads");
  const axis = (extent: keyof HeadsShape) => axisName("query", layout, shape.length, extent);
  for (const extent of ["batchSize", "headDim"] as const)
    if (heads[extent] !== form[extent])
      throw new ShapeError(
        `${operation}: ${axis(extent)} (${extent}) must equal the cache's, got ${heads[extent]} and ${form[extent]}`,
      );
  if (heads.numHeads % form.numKvHeads !== 0)
    throw new ShapeError(
      `${operation}: the cache's numKvHeads must divide ${axis("numHeads")} (numHeads), ` +
        `got ${form.numKvHeads} and ${heads.numHeads}`,
    );
  return heads;
}
