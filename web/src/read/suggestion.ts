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
  const [first] = names
    .filter((name) => Math.abs(name.length - word.length) <= most) // otherwise more letters differ
    .map((name) => ({ name, distance: editDistance(word.toLowerCase(), name.toLowerCase()) }))
    .sort((a, b) => a.distance - b.distance);
  return first && first.distance <= most ? first.name : undefined;
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
