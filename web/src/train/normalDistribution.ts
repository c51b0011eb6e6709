/** Beyond it 1 − Φ is below 10⁻¹⁵. */
const FAR = 8;

/** Places of the tables in a unit. */
const PLACES = 64;

/** Φ and its derivative φ at multiples of 1/PLACES from −FAR to FAR. */
let tables: { readonly distribution: Float64Array; readonly density: Float64Array } | undefined;

/**
 * Φ(x), the normal distribution, within 10⁻¹⁰: the Taylor series around the nearest place of a table. φ′ = −c·φ, so
 *
 *     Φ(c + d) = Φ(c) + φ(c)·(d − c·d²/2 + (c² − 1)·d³/6 − …)
 *
 * The next term is below φ·|3c − c³|·d⁴/24, and |d| is at most 1/128.
 */
export function normalDistribution(x: number): number {
  if (!(Math.abs(x) < FAR)) return x > 0 ? 1 : x < 0 ? 0 : x;
  tables ??= { distribution: tableOf(distributionBySeries), density: tableOf(normalDensity) };
  const place = Math.round(x * PLACES);
  const c = place / PLACES;
  const d = x - c;
  const at = place + FAR * PLACES;
  return tables.distribution[at]! + tables.density[at]! * d * (1 - (d / 2) * (c - ((c * c - 1) * d) / 3));
}

/** φ(x) = exp(−x²/2) / √(2π) */
export const normalDensity = (x: number) => Math.exp((-x * x) / 2) / Math.sqrt(2 * Math.PI);

const tableOf = (f: (x: number) => number) =>
  Float64Array.from({ length: 2 * FAR * PLACES + 1 }, (_, n) => f(n / PLACES - FAR));

/** Φ(x) = 1/2 + φ(x)·(x + x³/3 + x⁵/(3·5) + …), whose terms have one sign (Marsaglia 2004). */
function distributionBySeries(x: number): number {
  let sum = 0;
  for (let term = x, n = 1; sum + term !== sum; n += 2, term *= (x * x) / n) sum += term;
  return 0.5 + normalDensity(x) * sum;
}
