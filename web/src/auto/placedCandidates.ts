import type { AttendProblem } from "../cache/attendProblem.js";
import type { CacheForm, CacheProblem } from "../cache/cacheProblem.js";
import type { ForwardProblem } from "../layer/forwardProblem.js";
import type { LayerProblem } from "../layer/layerProblem.js";
import { cacheKind } from "./cacheKind.js";
import type { Candidate } from "./calibrator.js";
import { featuresOf } from "./features.js";
import { layerKind } from "./layerKind.js";
import { attendWork, forwardWork } from "./work.js";

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
