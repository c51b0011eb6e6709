import type { FormulaData, Table } from "../../formula/graph.js";

/** The formulas of a call. */
export interface Formulas {
  readonly score: FormulaData | undefined;
  readonly visible: FormulaData | undefined;
}

/** The first word is the head dim. */
const FIRST_WORD = 1;
/** Of a table: its first word, rows, columns, and the first of its ranges. */
const TABLE_WORDS = 4;

/** Entries of a table that share a range; BLOCK of formula_tiles.wgsl. */
const BLOCK = 8;

/** By slot: the word of a number, or the first word of a table's four; and the word after them. */
export function placesOf(
  parameters: FormulaData["graph"]["parameters"],
  first = FIRST_WORD,
): { readonly words: readonly number[]; readonly end: number } {
  let end = first;
  const words = parameters.map(({ rank }) => {
    const at = end;
    end += rank === 0 ? 1 : TABLE_WORDS;
    return at;
  });
  return { words, end };
}

/** The words of `visible` come first, so that they lie in the same places with and without `score`. */
function valuesOf({ visible, score }: Formulas): (number | Table)[] {
  return [...(visible?.values ?? []), ...(score?.values ?? [])];
}

/** How many words the formulas add to a kernel's table. */
export function formulaWordCount(formulas: Formulas): number {
  if (!formulas.score && !formulas.visible) return 0;
  const sizes = valuesOf(formulas).map((value) => {
    if (typeof value === "number") return 1;
    return TABLE_WORDS + value.data.length + rangeWords(value.data.length);
  });
  return sizes.reduce((sum, size) => sum + size, FIRST_WORD);
}

/** The least and the greatest entry of each block, and of the whole table. */
const rangeWords = (length: number) => 2 * (Math.ceil(length / BLOCK) + 1);

/** Numbers and tables as the kernels read them; see formula_rules.wgsl. */
export function formulaWords(formulas: Formulas, headDim: number): Float32Array {
  const words = new Float32Array(formulaWordCount(formulas));
  if (words.length === 0) return words;
  const integers = new Uint32Array(words.buffer);
  const values = valuesOf(formulas);
  words[0] = headDim;
  let at = FIRST_WORD;
  let next = values.reduce<number>((sum, value) => sum + (typeof value === "number" ? 1 : TABLE_WORDS), FIRST_WORD);
  for (const value of values) {
    if (typeof value === "number") {
      words[at++] = value;
      continue;
    }
    const { data, extents } = value;
    const [rows, columns] = extents.length === 1 ? [1, extents[0]!] : [extents[0]!, extents[1]!];
    integers.set([next, rows, columns, next + data.length], at);
    at += TABLE_WORDS;
    words.set(data, next);
    writeRanges(data, words.subarray(next + data.length));
    next += data.length + rangeWords(data.length);
  }
  return words;
}

/** NaN as the least entry says that there is a NaN. */
function writeRanges(data: Float32Array, ranges: Float32Array): void {
  const blocks = Math.ceil(data.length / BLOCK);
  let [least, greatest] = [Infinity, -Infinity];
  for (let block = 0; block < blocks; ++block) {
    const entries = data.subarray(BLOCK * block, BLOCK * (block + 1));
    const [low, high] = [Math.min(...entries), Math.max(...entries)];
    ranges.set([low, high], 2 * block);
    least = Math.min(least, low);
    greatest = Math.max(greatest, high);
  }
  ranges.set([least, greatest], 2 * blocks);
}
