import type { AttentionProblem } from "../attention/attentionProblem.js";
import type { AttentionShape } from "../attention/attentionShape.js";
import type { BackwardProblem } from "../attention/backwardProblem.js";
import { attentionKind } from "./attentionKind.js";
import type { Candidate } from "./calibrator.js";
import type { Kind } from "./kind.js";
import { attentionWork, type Work } from "./work.js";

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
