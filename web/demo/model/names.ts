const SUBSCRIPTS = "₀₁₂₃₄₅₆₇₈₉";

/**
 * Tokens as text for a reader: without ▁ before a word and without control characters. A token that occurs more than
 * once gets its position (from 1): "park₄ … park₉".
 */
export function tokenNames(tokens: readonly string[]): string[] {
  const plain = tokens.map(readable);
  return plain.map((name, i) => (plain.indexOf(name) === plain.lastIndexOf(name) ? name : name + subscript(i + 1)));
}

/** Replaces control characters by �. They could send commands to a terminal. */
export function printable(text: string): string {
  return text.replace(/\p{C}/gu, "\ufffd");
}

/** The text for HTML and SVG. */
export function asMarkup(text: string): string {
  return text.replace(/[&<>"]/g, (symbol) => `&#${symbol.charCodeAt(0)};`);
}

/** One token as text for a reader. */
export function readable(token: string): string {
  return printable(token).replace(/^▁(?=.)/u, "");
}

function subscript(position: number): string {
  return [...String(position)].map((digit) => SUBSCRIPTS[Number(digit)]).join("");
}
