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

/** A number rounded to this many digits, without an exponent: "2,820", "0.00000013". */
export function significant(value: number, digits = 3): string {
  if (!Number.isFinite(value)) return decimal(value);
  const text = new Intl.NumberFormat("en", { maximumSignificantDigits: digits }).format(value);
  return text === "-0" ? "0" : text.replace("-", "−");
}

/** "1 token", "3,000 tokens". A plural that does not end in s is given. */
export function counted(count: number, noun: string, plural = `${noun}s`): string {
  return `${count.toLocaleString("en")} ${count === 1 ? noun : plural}`;
}

/** "2.5 KB" in powers of 1024. */
export function bytes(count: number): string {
  if (count < 1024) return counted(Math.round(count), "byte");
  const units = ["KB", "MB", "GB", "TB"];
  const unit = Math.min(Math.floor(Math.log2(count) / 10), units.length) - 1;
  const amount = count / 1024 ** (unit + 1);
  return `${amount.toFixed(amount >= 9.95 ? 0 : 1)} ${units[unit]}`;
}

/** "1.3 million" */
export function many(count: number): string {
  return new Intl.NumberFormat("en", {
    notation: "compact",
    compactDisplay: "long",
    maximumSignificantDigits: 3,
  }).format(count);
}
