/// The score before the formula of the pair that was asked last.
var<private> unscored: u32;

fn scored(row: Row, j: i32, before: Score) -> Score {
  if (!HAS_SCORE || !before.visible) { return before; }
  unscored = select(word_of(before.score), NOT_A_NUMBER, before.poisoned);
  let word = formula_score(row, j, unscored);
  let special = not_finite(word);
  return Score(float_from(select(word, 0u, special)), word != MINUS_INFINITY, special);
}

/// A pair whose `ds` is that of the formula's result: turns it into that of the score before the formula.
fn differentiated(row: Row, j: i32, before: Pair) -> Pair {
  if (!HAS_SCORE) { return before; }
  let word = formula_derivative(row, j, unscored);
  var pair = before;
  if (not_finite(word)) { return poisoned_pair(true); }
  pair.by_bias *= float_from(word);
  return pair;
}
