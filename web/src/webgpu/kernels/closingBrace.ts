/** The place of the brace that closes the block which begins at `begin`. */
export function closingBrace(text: string, begin: number): number {
  let depth = 1;
  for (let at = begin; at < text.length; ++at) {
    if (text[at] === "{") depth += 1;
    if (text[at] === "}" && --depth === 0) return at;
  }
  throw new Error("a block of a kernel is not closed");
}
