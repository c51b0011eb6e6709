import { closingBrace } from "./closingBrace.js";

/**
 * Writes out what a kernel does only if a call has formulas: `with formula { … }` becomes the text between the braces.
 * Without formulas it goes, with the white space before it. So calls without formulas have the same text as if it had
 * never been there.
 */
export function withFormula(text: string, hasFormula: boolean): string {
  const found = /\s*with formula \{/.exec(text);
  if (!found) return text;
  const begin = found.index + found[0].length;
  const end = closingBrace(text, begin);
  const kept = hasFormula ? text.slice(found.index, begin).replace("with formula {", "") + text.slice(begin, end) : "";
  return text.slice(0, found.index) + kept + withFormula(text.slice(end + 1), hasFormula);
}
