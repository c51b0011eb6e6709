import type { ForwardProblem } from "../../layer/forwardProblem.js";
import type { TokenPositions } from "../../position/tokenPositions.js";
import type { GpuCache } from "../cache/cache.js";
import type { Sequence } from "../plan/sequences.js";
import type { Positions } from "./saved.js";

/** Where the tokens of a call stand: where the caller says, or in order. */
export function positionsOf(
  problem: ForwardProblem,
  sequences: readonly Sequence[],
  cache: GpuCache | undefined,
): Positions {
  const {
    shape: { batchSize, queryLength },
    contextLength,
  } = problem;
  return (
    givenPositions(problem) ?? {
      query: queryPositions(sequences, batchSize, queryLength),
      key: cache ? cachePositions(cache.appended, contextLength) : keyPositions(sequences, batchSize, contextLength),
    }
  );
}

/** Positions of queries, [B, S]: query i is at i + offset of its sequence. */
function queryPositions(sequences: readonly Sequence[], batchSize: number, length: number): Float64Array {
  const positions = new Float64Array(batchSize * length);
  for (const { batch, queryBegin, numQueries, offset } of sequences)
    for (let i = 0; i < numQueries; ++i) positions[batch * length + queryBegin + i] = i + offset;
  return positions;
}

/** Positions of keys, [B, S]: key j of a sequence is at j. */
function keyPositions(sequences: readonly Sequence[], batchSize: number, length: number): Float64Array {
  const positions = new Float64Array(batchSize * length);
  for (const { batch, keyBegin, numKeys } of sequences)
    for (let j = 0; j < numKeys; ++j) positions[batch * length + keyBegin + j] = j;
  return positions;
}

/** Positions of tokens to append, [B, S]: they follow the cache's tokens. */
function cachePositions(appended: readonly number[], length: number): Float64Array {
  const position = (_: unknown, n: number) => appended[Math.floor(n / length)]! + (n % length);
  return Float64Array.from({ length: appended.length * length }, position);
}

/** Where tokens stand, if the caller says it. Without keyPositions nothing reads those of a context. */
function givenPositions({ positions, keyPositions, key, shape, contextLength }: ForwardProblem): Positions | undefined {
  if (!positions) return undefined;
  const queries = planesOf(positions);
  const ofContext = keyPositions ? planesOf(keyPositions) : [new Float64Array(shape.batchSize * contextLength)];
  const keys = key ? ofContext : queries;
  return {
    query: queries[0]!,
    key: keys[0]!,
    ...(queries.length > 1 && { planes: { query: queries, key: keys } }),
  };
}

function planesOf({ data, planes }: TokenPositions): Float64Array[] {
  const size = data.length / planes;
  return Array.from({ length: planes }, (_, n) => Float64Array.from(data.subarray(n * size, (n + 1) * size)));
}
