const SUBSCRIPTS = "₀₁₂₃₄₅₆₇₈₉";

/**
 * Tokens as a reader wants them: no ▁ before a word, no control characters,
 * and the position (from 1) below a token that occurs more than once: "park₄ … park₉".
 */
export function tokenNames(tokens: readonly string[]): string[] {
  const plain = tokens.map(readable);
  return plain.map((name, i) => (plain.indexOf(name) === plain.lastIndexOf(name) ? name : name + subscript(i + 1)));
}

/** Control characters, which could steer a terminal, become �. */
export function printable(text: string): string {
  return text.replace(/\p{C}/gu, "\ufffd");
}

function readable(token: string): string {
  return printable(token).replace(/^▁(?=.)/u, "");
}

function subscript(position: number): string {
  return [...String(position)].map((digit) => SUBSCRIPTS[Number(digit)]).join("");
}
