import type { AttentionProblem } from "../attention/attentionProblem.js";
import type { BackwardProblem } from "../attention/backwardProblem.js";
import type { AttentionShape } from "../attention/attentionShape.js";
import type { AttendProblem } from "../cache/attendProblem.js";
import type { CacheForm, CacheProblem } from "../cache/cacheProblem.js";
import { attentionKind } from "../calibration/attentionKind.js";
import { cacheKind } from "../calibration/cacheKind.js";
import type { Candidate } from "../calibration/calibrator.js";
import { featuresOf } from "../calibration/features.js";
import type { Kind } from "../calibration/kind.js";
import { layerKind } from "../calibration/layerKind.js";
import { attendWork, attentionWork, forwardWork, type Work } from "../calibration/work.js";
import type { ForwardProblem } from "../layer/forwardProblem.js";
import type { LayerProblem } from "../layer/layerProblem.js";

/** Calls with the same kernels whose extents and work are the same are equal. */
function candidate(kind: Kind, extents: AttentionShape, work: Work, widths: Candidate["widths"]): Candidate {
  const call = [kind.name, ...Object.values<number>({ ...extents }), work.multiplyAdds].join(" ");
  return { key: { kind: kind.name, call }, work, kind, widths };
}

export function attentionCandidate(problem: AttentionProblem): Candidate {
  const { shape } = problem;
  return candidate(attentionKind(problem), shape, attentionWork(problem), [shape.headDim, shape.valueDim]);
}

/** Gradients are placed where their forward call would be. */
export function backwardCandidate(problem: BackwardProblem): Candidate {
  const { shape, dtype } = problem.output;
  return attentionCandidate({
    ...problem,
    wanted: { output: true, lse: true, entropy: false, probs: undefined, topK: undefined, scores: undefined },
    output: { shape, dtype, half: false, into: undefined },
    keepRank: (full) => [...full],
  });
}

export function attendCandidate(problem: AttendProblem, cache: CacheProblem, form: CacheForm): Candidate {
  const { shape, query, settings, wanted } = problem;
  const features = featuresOf(settings, wanted);
  const kind = cacheKind(cache, { numHeads: shape.numHeads, dtype: query.dtype, features });
  // A cache grows by a token a step: steps of about the same length are equal.
  const rounded = { ...shape, keyLength: Math.round(8 * Math.log2(shape.keyLength + 1)) };
  const call = [kind.name, ...Object.values(rounded)].join(" ");
  return {
    key: { kind: kind.name, call },
    work: attendWork(problem, form),
    kind,
    widths: [shape.headDim, shape.valueDim],
  };
}

export function forwardCandidate(problem: ForwardProblem, layer: LayerProblem, weightBytes: number): Candidate {
  const { shape, x, settings, wanted, cache } = problem;
  const kind = layerKind(layer, { dtype: x.dtype, features: featuresOf(settings, wanted) });
  const rounded = { ...shape, keyLength: cache ? Math.round(8 * Math.log2(shape.keyLength + 1)) : shape.keyLength };
  const call = [kind.name, cache?.form.dtype ?? "", weightBytes, ...Object.values(rounded)].join(" ");
  const { headDim, valueHeadDim } = layer.shape;
  return {
    key: { kind: kind.name, call },
    work: forwardWork(problem, layer.shape, weightBytes),
    kind,
    widths: [headDim, valueHeadDim],
  };
}
