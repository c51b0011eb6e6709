import type { AttentionProblem } from "../../attention/attentionProblem.js";
import type { ForwardProblem } from "../../layer/forwardProblem.js";
import { UNWATCHED } from "../../read/watched.js";
import { keyTokens, queryTokens } from "../attention/chosenRows.js";
import type { HeadArray } from "../attention/moveRows.js";
import type { GpuCache, Growth } from "../cache/cache.js";
import { padded } from "../cache/cacheStore.js";
import type { Rows } from "../cache/storeRows.js";
import type { Call, Span } from "../call/call.js";
import { insideTensor } from "../call/span.js";
import type { InPlace } from "../plan/attentionParams.js";
import type { Sequence } from "../plan/sequences.js";
import { gainOf } from "./gain.js";
import { projectHeads, type Heads } from "./heads.js";
import type { LayerOnDevice } from "./layerOnDevice.js";
import { patchHeads } from "./patches.js";
import { positionsOf } from "./positions.js";
import type { OfRoles, Role } from "./roles.js";
import type { Positions } from "./saved.js";

/** The attention inside of a call, and what was made of its inputs. */
export interface Inside {
  readonly attention: AttentionProblem;
  readonly inPlace: InPlace;
  readonly growth: Growth | undefined;
  /** Queries, keys and values; with a cache all keys and values that it holds. */
  readonly heads: OfRoles<HeadArray>;
  /** Their memory, without that of a cache. */
  readonly spans: readonly Span[];
  readonly inputs: OfRoles<Span>;
  readonly positions: Positions;
  readonly added: Int32Array | undefined;
}

/** The part of `Inside` that a cache changes. */
type Attending = Pick<Inside, "attention" | "inPlace" | "growth" | "heads" | "spans">;

/**
 * The attention inside the layer. Queries, keys and values lie where the projections put them; keys and values may be
 * a cache's.
 */
export function attentionInside(
  call: Call,
  layer: LayerOnDevice,
  problem: ForwardProblem,
  sequences: readonly Sequence[],
  cache: GpuCache | undefined,
): Inside {
  const { shape, contextLength: length } = problem;
  const positions = positionsOf(problem, sequences, cache);
  const { heads, inputs, added } = projectHeads(call, layer, problem, positions);
  if (problem.patches) {
    const keysOf = cache ? (b: number, row: number) => row < gainOf(problem, b) : keyTokens(sequences, length);
    patchHeads(call, problem, heads, { query: queryTokens(sequences, shape.queryLength), key: keysOf, value: keysOf });
  }
  const common = commonProblem(problem, layer.weights.sections.output !== undefined);
  const attending = cache
    ? withCache(call, problem, sequences, cache, heads, common)
    : withoutCache(problem, heads as Record<Role, Rows>, common);
  return { ...attending, inputs: inputs as OfRoles<Span>, positions, added };
}

type Common = Omit<AttentionProblem, "query" | "key" | "value">;

/** The problem of the attention, without its tensors. */
function commonProblem(problem: ForwardProblem, isProjected: boolean): Common {
  const { shape, settings } = problem;
  return {
    operation: problem.operation,
    layout: isProjected ? "BSHD" : problem.layout,
    kvLayout: "BSHD",
    shape: isProjected ? { ...shape, valueDim: padded(shape.valueDim) } : shape, // the projection reads whole vec4
    settings: { ...settings, scale: settings.scale ?? 1 / Math.sqrt(shape.headDim) },
    ragged: problem.ragged,
    wanted: { ...problem.wanted, output: needsHeadOutputs(problem) },
    output: isProjected ? { ...problem.output, dtype: "float32", into: undefined } : problem.output,
    location: problem.location,
    ...UNWATCHED,
    keepRank: problem.keepRank,
  };
}

/** Whether the results of heads must be computed. */
function needsHeadOutputs({ wanted, views, save }: ForwardProblem): boolean {
  return wanted.output || save || views.headOutputs !== undefined || views.contributions !== undefined;
}

function withoutCache({ shape }: ForwardProblem, { query, key, value }: Record<Role, Rows>, common: Common): Attending {
  const { batchSize, numHeads, numKvHeads, queryLength, keyLength, headDim, valueDim } = shape;
  return {
    attention: {
      ...common,
      query: insideTensor("query", query.span),
      key: insideTensor("key", key.span),
      value: insideTensor("value", value.span),
    },
    inPlace: {
      query: query.strides,
      cached: { key: key.strides, value: value.strides, dtype: "float32", ring: undefined },
    },
    growth: undefined,
    heads: {
      query: { ...query, extents: [batchSize, numHeads, queryLength, headDim] },
      key: { ...key, extents: [batchSize, numKvHeads, keyLength, headDim] },
      value: { ...value, extents: [batchSize, numKvHeads, keyLength, valueDim] },
    },
    spans: [query.span, key.span, value.span],
  };
}

/** The cache gains the keys and values of the call, and the queries attend to all that it then has. */
function withCache(
  call: Call,
  problem: ForwardProblem,
  sequences: readonly Sequence[],
  cache: GpuCache,
  heads: Heads["heads"],
  common: Common,
): Attending {
  const { batchSize, numHeads, numKvHeads, queryLength, keyLength, headDim, valueDim } = problem.shape;
  const growth = problem.attendOnly ? undefined : grown(call, problem, cache, heads);
  const extents = [batchSize, numHeads, queryLength] as const;
  const { rows: query, keptQueries } = cache.turnQueries(call, heads.query!, extents, sequences, problem.positions);
  return {
    attention: { ...common, query: insideTensor("query", query.span), ...cache.keysAndValues(growth) },
    inPlace: { query: query.strides, keptQueries, cached: cache.cached(growth) },
    growth,
    heads: {
      query: { ...query, extents: [...extents, headDim] },
      key: { ...cache.stored("key", growth), extents: [batchSize, numKvHeads, keyLength, headDim] },
      value: { ...cache.stored("value", growth), extents: [batchSize, numKvHeads, keyLength, valueDim] },
    },
    spans: [],
  };
}

/** Appends the keys and values of the call. */
function grown(call: Call, problem: ForwardProblem, cache: GpuCache, { key, value }: Heads["heads"]): Growth {
  const { shape, contextLength: length, appendLengths, positions } = problem;
  const tokens = cache.nextTokens(length, appendLengths, problem.key ? problem.keyPositions : positions);
  const turned = cache.turn(call, key!, [shape.batchSize, shape.numKvHeads, length], tokens);
  const added = { key: turned, value: value! };
  return cache.grow(call, length, appendLengths, added, problem.settings, positions !== undefined);
}
