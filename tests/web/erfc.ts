/** 1 − erf(x) in double precision: a series where it converges fast, and a continued fraction beyond. */
export function erfc(x: number): number {
  if (x < 0) return 2 - erfc(-x);
  return x < 2.5 ? 1 - erfSeries(x) : tail(x);
}

/** 2/√π Σ (−1)ⁿ x²ⁿ⁺¹ / (n! (2n + 1)) */
function erfSeries(x: number): number {
  let [term, sum] = [x, x];
  for (let n = 1; n < 80; n++) {
    term *= -(x * x) / n;
    sum += term / (2 * n + 1);
  }
  return (2 / Math.sqrt(Math.PI)) * sum;
}

/** e^(−x²) / √π · 1 / (x + ½ / (x + 1 / (x + 3⁄2 / (x + …)))) */
function tail(x: number): number {
  if (x === Infinity) return 0;
  let below = x;
  for (let n = 80; n > 0; n--) below = x + n / 2 / below;
  return Math.exp(-x * x) / Math.sqrt(Math.PI) / below;
}
