/** "did you mean …?" if one of `names` is close to `word` in spelling. */
export function suggestion(word: unknown, names: readonly string[]): string | undefined {
  const name = typeof word === "string" ? nearest(word, names) : undefined;
  return name === undefined ? undefined : `did you mean ${JSON.stringify(name)}?`;
}

/** The one of `names` that is closest to `word` in spelling, if at most `most` letters differ. */
export function nearest(
  word: string,
  names: readonly string[],
  most = Math.max(2, word.length / 3),
): string | undefined {
  const distance = (name: string) => editDistance(word.toLowerCase(), name.toLowerCase());
  const [first] = [...names].sort((a, b) => distance(a) - distance(b));
  return first !== undefined && distance(first) <= most ? first : undefined;
}

/** The Levenshtein distance of two words, computed one row of the table at a time. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (const letter of a) {
    let left = row[0]! + 1;
    const rest = Array.from(
      b,
      (other, j) => (left = Math.min(left + 1, row[j + 1]! + 1, row[j]! + +(letter !== other))),
    );
    row = [row[0]! + 1, ...rest];
  }
  return row.at(-1)!;
}
