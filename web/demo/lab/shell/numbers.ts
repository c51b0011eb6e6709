import { language } from "../../texts/language.js";
import { said } from "../../texts/t.js";

// Numbers as the page's language writes them. In addresses, code, files and attributes numbers are those of JavaScript.

/** What stands before the decimals: "." or ",". */
const POINT = new Intl.NumberFormat(language).format(0.5)[1]!;

/** A number and its unit, on one line. */
export function withUnit(number: string, unit: string): string {
  return `${number}\u00a0${unit}`;
}

/** "0.42 ms", "12 ms", "3.1 s" */
export function milliseconds(duration: number): string {
  if (duration >= 1000) return withUnit(decimal(duration / 1000, 1), "s");
  return withUnit(decimal(duration, duration < 1 ? 2 : duration < 10 ? 1 : 0), "ms");
}

/** A number with this many decimals and a true minus sign, never "−0.00". */
export function decimal(value: number, digits = 2): string {
  if (value === -Infinity) return "−∞";
  if (!Number.isFinite(value)) return String(value);
  const text = value.toFixed(digits);
  const shown = /^-0\.?0*$/.test(text) ? text.slice(1) : text.replace("-", "−");
  return shown.replace(".", POINT);
}

/** A number as `decimal` shows it: what is said of numbers that are shown must agree with them. */
export function rounded(value: number, digits = 2): number {
  return Number(value.toFixed(digits));
}

/** Numbers with this many decimals, one after another: "0.25, 0.5"; "0,25; 0,5" where a comma stands before decimals. */
export function series(values: readonly number[], digits?: number): string {
  return values.map((value) => decimal(value, digits)).join(POINT === "," ? "; " : ", ");
}

/** A number rounded to this many digits, without an exponent: "2,820", "0.00000013". */
export function significant(value: number, digits = 3): string {
  if (!Number.isFinite(value)) return decimal(value);
  const text = new Intl.NumberFormat(language, { maximumSignificantDigits: digits }).format(value);
  return text === "-0" ? "0" : text.replace("-", "−");
}

/** A number with all its decimals, as a control has it: "0.25". */
export function plain(value: number): string {
  return String(value).replace(".", POINT);
}

/** "3,000" */
export function grouped(count: number): string {
  return count.toLocaleString(language);
}

/**
 * "1 token", "3,000 tokens". A plural that does not end in s is given. Another language says it as subject of a sentence:
 * its file has "{0} token" and "{0} tokens".
 */
export function counted(count: number, noun: string, plural = `${noun}s`): string {
  return said(`{0} ${count === 1 ? noun : plural}`, grouped(count));
}

/** "2.5 KB" in powers of 1024. */
export function bytes(count: number): string {
  if (count < 1024) return counted(Math.round(count), "byte");
  const units = ["KB", "MB", "GB", "TB"];
  const unit = Math.min(Math.floor(Math.log2(count) / 10), units.length) - 1;
  const amount = count / 1024 ** (unit + 1);
  return withUnit(decimal(amount, amount >= 9.95 ? 0 : 1), units[unit]!);
}

/** "1.3 million" */
export function many(count: number): string {
  return new Intl.NumberFormat(language, {
    notation: "compact",
    compactDisplay: "long",
    maximumSignificantDigits: 3,
  }).format(count);
}

/** A positive number with one digit: "6 · 10⁻⁸". */
export function scientific(value: number): string {
  const [digit, exponent] = value.toExponential(0).split("e") as [string, string];
  const raised = [...exponent.replace("+", "")]
    .map((sign) => (sign === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(sign)]!))
    .join("");
  return `${digit} · 10${raised}`;
}
