/**
 * Writes out the loops of a kernel over its registers: `unroll (r < R) { … }` becomes R copies of the block, in each of
 * which r is a number. Some compilers keep an array in memory if a loop indexes it.
 *
 * @param constants - Numbers that the bounds may name.
 */
export function unrolled(text: string, constants: Readonly<Record<string, number | boolean>>): string {
  const loop = /unroll \((\w+) < ([^)]+)\) \{/.exec(text);
  if (!loop) return text;
  const [head, variable, bound] = loop as unknown as [string, string, string];
  const begin = loop.index + head.length;
  const end = closingBrace(text, begin);
  const block = text.slice(begin, end);
  const name = new RegExp(`(?<![.\\w])${variable}\\b`, "g");
  const copies = Array.from({ length: product(bound, constants) }, (_, n) => `{${block.replace(name, `${n}u`)}}`);
  return text.slice(0, loop.index) + unrolled(copies.join("\n") + text.slice(end + 1), constants);
}

/** The value of a bound: a number, a constant, or a product of them. */
function product(bound: string, constants: Readonly<Record<string, number | boolean>>): number {
  const value = bound.split("*").reduce((all, factor) => all * Number(constants[factor.trim()] ?? factor), 1);
  if (!Number.isInteger(value)) throw new Error(`unroll: the bound ${bound} is not a number`);
  return value;
}

/** The place of the brace that closes the block which begins at `begin`. */
export function closingBrace(text: string, begin: number): number {
  let depth = 1;
  for (let at = begin; at < text.length; ++at) {
    if (text[at] === "{") depth += 1;
    if (text[at] === "}" && --depth === 0) return at;
  }
  throw new Error("a block of a kernel is not closed");
}
