import { make } from "./make.js";

/** Saves a file as if the visitor had clicked a link to it. */
export function saveFile(name: string, content: Blob): void {
  const address = URL.createObjectURL(content);
  make("a", { href: address, download: name }).click();
  // after the click the browser holds the content itself
  setTimeout(() => URL.revokeObjectURL(address), 0);
}

/** A table as CSV text (RFC 4180): lines end in CR LF, quotes are doubled. */
export function csv(rows: readonly (readonly (string | number)[])[]): string {
  return rows.map((row) => `${row.map(field).join(",")}\r\n`).join("");
}

function field(value: string | number): string {
  const text = String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
