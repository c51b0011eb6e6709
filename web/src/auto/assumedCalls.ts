import type { CacheProblem } from "../cache/cacheProblem.js";
import type { LayerProblem } from "../layer/layerProblem.js";
import { cacheKind } from "./cacheKind.js";
import type { Candidate } from "./calibrator.js";
import { PLAIN } from "./features.js";
import { layerKind } from "./layerKind.js";
import { cacheBytes, tilesOf } from "./work.js";

/** Tokens of a call of a layer, and tokens in a cache, that are assumed before there was any. */
const LAYER_TOKENS = 128;
const CACHE_TOKENS = 1024;

/** Numbers in the weights of a layer. */
function weightCount({ shape }: LayerProblem): number {
  const { inputDim, keyInputDim, valueInputDim, outputDim, numHeads, numKvHeads, headDim, valueHeadDim } = shape;
  const output = shape.outputProjection ? numHeads * valueHeadDim * outputDim : 0;
  return numHeads * headDim * inputDim + numKvHeads * (headDim * keyInputDim + valueHeadDim * valueInputDim) + output;
}

/** The call by which the first place of a layer is chosen: some tokens, without any option. */
export function assumedForward(problem: LayerProblem): Candidate {
  const { inputDim, outputDim, numHeads, headDim, valueHeadDim } = problem.shape;
  const weights = weightCount(problem);
  const kind = layerKind(problem, { dtype: "float32", features: PLAIN });
  return {
    kind,
    key: { kind: kind.name, call: `${kind.name} assumed` },
    work: {
      moved: 4 * LAYER_TOKENS * (inputDim + outputDim),
      touched: 4 * weights,
      multiplyAdds: LAYER_TOKENS * (weights + numHeads * LAYER_TOKENS * (headDim + valueHeadDim)),
      tiles: Math.ceil((LAYER_TOKENS * outputDim) / 4096),
    },
    widths: [headDim, valueHeadDim],
  };
}

/** The call by which the first place of a cache is chosen: a step of decoding, with as many heads as the cache has. */
export function assumedAttend(problem: CacheProblem): Candidate {
  const { batchSize, numKvHeads, headDim, valueDim, ring, capacity } = problem;
  const kind = cacheKind(problem, { numHeads: numKvHeads, dtype: "float32", features: PLAIN });
  const tokens = ring ? ring.keepFirst + ring.window : Math.min(capacity ?? CACHE_TOKENS, CACHE_TOKENS);
  return {
    kind,
    key: { kind: kind.name, call: `${kind.name} assumed` },
    work: {
      moved: 4 * batchSize * numKvHeads * (headDim + valueDim),
      touched: cacheBytes({ ...problem, rotary: problem.rotary !== undefined }, tokens),
      multiplyAdds: batchSize * numKvHeads * tokens * (headDim + valueDim),
      tiles: tilesOf({ ...problem, numHeads: numKvHeads, queryLength: 1, keyLength: tokens }),
    },
    widths: [headDim, valueDim],
  };
}
