/** "0.42 ms", "12 ms", "3.1 s" */
export function milliseconds(duration: number): string {
  if (duration >= 1000) return `${(duration / 1000).toFixed(1)} s`;
  return `${duration < 10 ? duration.toFixed(duration < 1 ? 2 : 1) : duration.toFixed(0)} ms`;
}

/** A number with this many decimals and a true minus sign, never "−0.00". */
export function decimal(value: number, digits = 2): string {
  if (value === -Infinity) return "−∞";
  if (!Number.isFinite(value)) return String(value);
  const text = value.toFixed(digits);
  return /^-0\.?0*$/.test(text) ? text.slice(1) : text.replace("-", "−");
}

/** "2.5 KB" in powers of 1024. */
export function bytes(count: number): string {
  const units = ["bytes", "KB", "MB", "GB", "TB"];
  const unit = Math.min(Math.floor(Math.log2(Math.max(count, 1)) / 10), units.length - 1);
  const amount = count / 1024 ** unit;
  return `${unit === 0 || amount >= 100 ? amount.toFixed(0) : amount.toPrecision(2)} ${units[unit]}`;
}

/** "1.3 million" */
export function many(count: number): string {
  return new Intl.NumberFormat("en", {
    notation: "compact",
    compactDisplay: "long",
    maximumSignificantDigits: 3,
  }).format(count);
}
