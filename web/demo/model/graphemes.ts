const segmenter = new Intl.Segmenter("en", { granularity: "grapheme" });

/** The signs of a text as people see them: an emoji of several characters, or a letter with its accents, is one. */
export function graphemes(text: string): string[] {
  return Array.from(segmenter.segment(text), ({ segment }) => segment);
}

/** The beginning of a text: whole signs, together at most so long as a string. */
export function beginningOf(text: string, longest: number): string {
  return text.length <= longest ? text : text.slice(0, segmenter.segment(text).containing(longest)!.index);
}
