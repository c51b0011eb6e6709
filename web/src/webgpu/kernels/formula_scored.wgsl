fn scored(row: Row, j: i32, before: Score) -> Score {
  if (!HAS_SCORE || !before.visible) { return before; }
  let word = formula_score(row, j, select(word_of(before.score), NOT_A_NUMBER, before.poisoned));
  let special = not_finite(word);
  return Score(float_from(select(word, 0u, special)), word != MINUS_INFINITY, special);
}
