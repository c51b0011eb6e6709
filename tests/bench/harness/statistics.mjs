export function quantile(values, part) {
  const sorted = values.toSorted((a, b) => a - b);
  const place = part * (sorted.length - 1);
  const below = Math.floor(place);
  const above = Math.min(below + 1, sorted.length - 1);
  return sorted[below] + (place - below) * (sorted[above] - sorted[below]);
}

/** The median, and the spread: half the distance between the quartiles, divided by the median. */
export function summary(values) {
  const median = quantile(values, 0.5);
  return { median, spread: (quantile(values, 0.75) - quantile(values, 0.25)) / 2 / median };
}

export const geometricMean = (values) => Math.exp(values.reduce((sum, x) => sum + Math.log(x), 0) / values.length);
