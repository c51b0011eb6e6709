import { OptionError } from "../base/errors.js";

/** How much of a long line a message shows on each side of the character that it points at. */
const CONTEXT = 40;

/** A fault in the text of a formula. Its message shows the line of the text and points at the character. */
export class FormulaError extends OptionError {
  /** The index of the character in the text that the message points at. */
  readonly position: number;

  constructor(text: string, position: number, problem: string, hint?: string) {
    super(`formula: ${problem}\n${excerpt(text, position)}`, { hint });
    this.position = position;
  }
}

/** The line of the text around a character, and a line with a caret below the character. */
function excerpt(text: string, position: number): string {
  const lineStart = text.lastIndexOf("\n", position - 1) + 1;
  const lineEnd = (text + "\n").indexOf("\n", position);
  const start = Math.max(lineStart, position - CONTEXT);
  const end = Math.min(lineEnd, position + CONTEXT);
  const before = (start > lineStart ? "…" : "") + text.slice(start, position);
  const after = text.slice(position, end) + (end < lineEnd ? "…" : "");
  return `  ${(before + after).replace(/\s/g, " ")}\n  ${" ".repeat(before.length)}^`;
}
