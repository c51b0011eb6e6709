import { t } from "../texts/t.js";

const SUBSCRIPTS = "₀₁₂₃₄₅₆₇₈₉";

/**
 * Tokens as text for a reader: without ▁ before a word and without control characters. A token that occurs more than
 * once gets its position (from 1): "park₄ … park₉".
 */
export function tokenNames(tokens: readonly string[]): string[] {
  const plain = tokens.map(readable);
  return plain.map((name, i) => (plain.indexOf(name) === plain.lastIndexOf(name) ? name : name + subscript(i + 1)));
}

/** A joiner between two letters or two emoji, or the tags of an emoji, such as those of a flag. */
const JOINS =
  /(?<=[\p{L}\p{M}\p{Extended_Pictographic}\p{Emoji_Modifier}])[\u200c\u200d](?=[\p{L}\p{Extended_Pictographic}])|(?<=\p{Extended_Pictographic}\p{M}?)[\u{e0020}-\u{e007e}]+\u{e007f}/u;
const JOINS_OR_CONTROLS = new RegExp(`(${JOINS.source})|\\p{C}`, "gu");

/** Replaces control characters by �. They could send commands to a terminal. What joins the parts of a sign stays. */
export function printable(text: string): string {
  return text.replace(JOINS_OR_CONTROLS, (_, joins?: string) => joins ?? "\ufffd");
}

/** The name of a token in a sentence. A space that is a token of its own is named in words, not by its sign. */
export function spoken(name: string): string {
  return name.replace(/^▁/u, t`[space]`);
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
