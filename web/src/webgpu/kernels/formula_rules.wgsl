// What formulas read, and how their results become rules of call.wgsl. `formula/` writes the functions that compute them.

/// Numbers and tables of formulas follow the heads' numbers in `tables`: the head dim, then a word for each number and
/// four words for each table (its first word, rows, columns, and the first of its ranges), then their contents.
fn formula_at() -> u32 { return params.heads_at + 3u * params.num_heads; }
fn number_at(n: u32) -> u32 { return tables[formula_at() + n]; }

fn index_from(word: u32) -> f32 { return select(float_from(word), -1.0f, not_finite(word)); }
fn entry_of(table: u32, x: f32) -> u32 {
  let at = floor(x);
  if (!(at >= 0.0f && at < f32(number_at(table + 2u)))) { return 0u; }
  return number_at(number_at(table) + u32(at));
}
fn entry_of_rows(table: u32, x: f32, y: f32) -> u32 {
  let row = floor(x);
  let column = floor(y);
  let columns = number_at(table + 2u);
  let is_inside = row >= 0.0f && row < f32(number_at(table + 1u)) && column >= 0.0f && column < f32(columns);
  if (!is_inside) { return 0u; }
  return number_at(number_at(table) + u32(row) * columns + u32(column));
}

/// A condition `word` as C has it: a number is true unless it is 0 or NaN.
fn is_true(word: u32) -> bool { return (word & SIZE) != 0u && !is_nan(word); }

/// The positions (or rows) x with coefficient * x + integer <= limit, or < limit if `strict`. Whole numbers are exact.
fn within_limit(limit: u32, integer: u32, coefficient: i32, strict: bool) -> KeyRange {
  let everything = KeyRange(-FARTHEST, FARTHEST);
  let nothing = KeyRange(FARTHEST, -FARTHEST);
  if (is_nan(limit) || is_nan(integer)) { return nothing; }
  let far = 0x4e800000u;  // 2^30
  let size = abs(coefficient);
  var quotient = 0;
  if (max(limit & SIZE, integer & SIZE) >= far) {
    var exact = difference_of(limit, integer);
    if (size != 1) { exact = quotient_of(exact, word_of(f32(size))); }
    if (is_nan(exact)) { return nothing; }
    if ((exact & SIZE) >= far) {
      if ((exact & SIGN) == 0u) { return everything; }
      return nothing;
    }
    let x = float_from(exact);
    quotient = i32(floor(x)) - select(0, 1, strict && floor(x) == x);
  } else {
    let x = float_from(limit);
    let below = i32(floor(x));
    let room = below - select(0, 1, strict && f32(below) == x) - i32(float_from(integer));
    quotient = room / size - select(0, 1, room % size < 0);
  }
  if (coefficient > 0) { return KeyRange(-FARTHEST, quotient + 1); }
  return KeyRange(-quotient, FARTHEST);
}

fn common_keys(a: KeyRange, b: KeyRange) -> KeyRange { return KeyRange(max(a.begin, b.begin), min(a.end, b.end)); }

/// Key rows of a sequence at these positions, counted from 0.
fn rows_at(positions: KeyRange, dropped: i32) -> KeyRange {
  return KeyRange(rows_before(positions.begin, dropped), rows_before(positions.end, dropped));
}

// What `visible` can be in a tile. NEVER: only false. ALWAYS: only true. Both: it depends on the pair.
const NEVER = 1u;
const ALWAYS = 2u;

/// What `visible` can be in the present tile. 0: the tile was not examined.
var<private> tile_rest: u32;

fn allowed(row: Row, j: i32) -> bool {
  if (tile_rest == ALWAYS) { return true; }
  return formula_rest(row, j);
}
