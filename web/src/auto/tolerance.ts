/** The unit roundoff of float32 and of float16. */
const EPSILON = 2 ** -24;
const HALF_EPSILON = 2 ** -11;

/**
 * The largest difference between the results of two engines that both keep the error model of docs/contract.md, for
 * queries, keys and values from −1 to 1 and the default scale.
 *
 * Then Σ|q k|·scale is at most √D, so a score is off by at most (4 + D/4)·ε·√D. WGSL allows exp an error of
 * 3 + 2|x| units in the last place, for |x| up to 2√D. Two engines differ by twice the error of one.
 */
export function toleranceOf(headDim: number, halves: boolean): number {
  const width = Math.sqrt(headDim);
  const score = (4 + headDim / 4) * EPSILON * width;
  const exponential = 2 * EPSILON * (3 + 4 * width);
  return 2 * (2 * score + exponential + 16 * EPSILON) + (halves ? 4 * HALF_EPSILON : 0);
}
