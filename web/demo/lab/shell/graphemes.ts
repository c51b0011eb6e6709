const segmenter = new Intl.Segmenter("en", { granularity: "grapheme" });

/** The signs of a text as people see them: an emoji of several characters, or a letter with its accents, is one. */
export function graphemes(text: string): string[] {
  return Array.from(segmenter.segment(text), ({ segment }) => segment);
}

/** A text of at most so many signs; one that is longer ends in "…". */
export function shortened(text: string, most: number): string {
  const signs = graphemes(text);
  return signs.length <= most ? text : `${signs.slice(0, most - 1).join("")}…`;
}
