import { closingBrace } from "./unroll.js";

/** What only some calls have, and a kernel has a part of its text for. */
export type Part = "formula" | "dropout" | "map";

/**
 * Writes out what a kernel does only if a call has formulas, dropout, or a map of its results: `with formula { … }` becomes the text between the
 * braces. Without it the part goes, with the white space before it. So other calls have the same text as if it had never
 * been there.
 */
export function withPart(text: string, part: Part, isPresent: boolean): string {
  const found = new RegExp(`\\s*with ${part} \\{`).exec(text);
  if (!found) return text;
  const begin = found.index + found[0].length;
  const end = closingBrace(text, begin);
  const kept = isPresent ? text.slice(found.index, begin).replace(`with ${part} {`, "") + text.slice(begin, end) : "";
  return text.slice(0, found.index) + kept + withPart(text.slice(end + 1), part, isPresent);
}
