// Interval arithmetic: what a part of `visible` can be for all rows and keys of a tile. Additions, products, quotients and
// roots are rounded alike for limits and for the numbers between them, so the limits hold exactly. Other functions are
// widened by more than their error.

/// Numbers from `low` to `high`, and NaN if `nan`. A limit of FAR or more also stands for infinity.
struct Range {
  low: f32,
  high: f32,
  nan: bool,
}
const FAR = 1.7e38f;
const TAME = 1e18f;  // products of such numbers are finite
const SLACK = 4e-6f;

/// Loops over ends and corners instead of calls for each keep the compiled kernel small.
const NO_RANGE = Range(FAR, -FAR, false);
fn stretched(x: Range, to: f32) -> Range { return Range(min(x.low, to), max(x.high, to), x.nan); }
fn end_of(x: Range, end: u32) -> f32 { return select(x.low, x.high, end == 1u); }

fn anything() -> Range { return Range(-FAR, FAR, true); }
fn just(x: f32) -> Range { return Range(x, x, false); }
fn between(low: i32, high: i32) -> Range { return Range(f32(low), f32(high), false); }
fn nearest_limit(word: u32) -> f32 {
  if ((word & SIZE) >= 0x7effc99eu) { return select(FAR, -FAR, (word & SIGN) != 0u); }  // FAR
  return float_from(word);
}
fn just_word(word: u32) -> Range {
  if (is_nan(word)) { return anything(); }
  return just(nearest_limit(word));
}
fn is_tame(x: Range) -> bool { return !x.nan && x.low >= -TAME && x.high <= TAME; }
fn is_point(x: Range) -> bool { return is_tame(x) && x.low == x.high; }
fn has_zero(x: Range) -> bool { return x.low <= 0.0f && x.high >= 0.0f; }
fn widened(x: Range) -> Range { return Range(x.low - SLACK * abs(x.low), x.high + SLACK * abs(x.high), x.nan); }

fn range_negate(x: Range) -> Range { return Range(-x.high, -x.low, x.nan); }
fn range_abs(x: Range) -> Range {
  return Range(max(max(x.low, -x.high), 0.0f), max(-x.low, x.high), x.nan);
}
fn range_floor(x: Range) -> Range { return Range(floor(x.low), floor(x.high), x.nan); }
fn range_sign(x: Range) -> Range { return Range(sign(x.low), sign(x.high), x.nan); }
fn range_minimum(a: Range, b: Range) -> Range { return Range(min(a.low, b.low), min(a.high, b.high), a.nan || b.nan); }
fn range_maximum(a: Range, b: Range) -> Range { return Range(max(a.low, b.low), max(a.high, b.high), a.nan || b.nan); }
fn either_range(a: Range, b: Range) -> Range { return Range(min(a.low, b.low), max(a.high, b.high), a.nan || b.nan); }

fn reaches_far(x: Range) -> bool { return x.low <= -FAR || x.high >= FAR; }
fn range_add(a: Range, b: Range) -> Range {
  if (reaches_far(a) && reaches_far(b)) { return anything(); }
  let low = select(max(a.low + b.low, -FAR), -FAR, a.low <= -FAR || b.low <= -FAR);
  let high = select(min(a.high + b.high, FAR), FAR, a.high >= FAR || b.high >= FAR);
  return Range(low, high, a.nan || b.nan);
}
fn range_subtract(a: Range, b: Range) -> Range { return range_add(a, range_negate(b)); }

fn range_hull(a: f32, b: f32, c: f32, d: f32) -> Range {
  return Range(min(min(a, b), min(c, d)), max(max(a, b), max(c, d)), false);
}
fn range_multiply(a: Range, b: Range) -> Range {
  if (!is_tame(a) || !is_tame(b)) { return anything(); }
  return range_hull(a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high);
}
fn quotient_within(a: f32, b: f32) -> f32 { return nearest_limit(quotient_of(word_of(a), word_of(b))); }
fn range_divide(a: Range, b: Range) -> Range {
  if (!is_tame(a) || !is_tame(b) || has_zero(b)) { return anything(); }
  var found = NO_RANGE;
  for (var corner = 0u; corner < 4u; corner++) {
    found = stretched(found, quotient_within(select(a.low, a.high, corner < 2u), select(b.low, b.high, corner % 2u == 0u)));
  }
  return found;
}
fn remainder_within(a: f32, b: f32) -> f32 { return float_from(remainder_of(word_of(a), word_of(b))); }
fn range_remainder(a: Range, b: Range) -> Range {
  if (!is_tame(a) || !is_tame(b) || has_zero(b)) { return anything(); }
  let most = max(abs(b.low), abs(b.high));
  if (is_point(b) && (a.low >= 0.0f || a.high <= 0.0f) && a.high - a.low < most) {
    var ends: array<f32, 2>;
    for (var end = 0u; end < 2u; end++) { ends[end] = remainder_within(end_of(a, end), b.low); }
    if (ends[0] <= ends[1]) { return Range(ends[0], ends[1], false); }
  }
  return Range(min(max(a.low, -most), 0.0f), max(min(a.high, most), 0.0f), false);
}
fn root_within(x: f32) -> f32 { return select(float_from(root_of(word_of(x))), FAR, x >= FAR); }
fn range_sqrt(x: Range) -> Range {
  var found = NO_RANGE;
  for (var end = 0u; end < 2u; end++) { found = stretched(found, root_within(max(end_of(x, end), 0.0f))); }
  return Range(found.low, found.high, x.nan || x.low < 0.0f);
}
fn range_exp(x: Range) -> Range {
  var found = NO_RANGE;
  for (var end = 0u; end < 2u; end++) { found = stretched(found, nearest_limit(exp_of(word_of(end_of(x, end))))); }
  return widened(Range(found.low, found.high, x.nan));
}
fn log_within(x: f32) -> f32 { return select(nearest_limit(log_of(word_of(max(x, 0.0f)))), FAR, x >= FAR); }
fn range_log(x: Range) -> Range {
  var found = NO_RANGE;
  for (var end = 0u; end < 2u; end++) { found = stretched(found, log_within(end_of(x, end))); }
  return widened(Range(found.low, found.high, x.nan || x.low < 0.0f));
}
fn range_tanh(x: Range) -> Range {
  var found = NO_RANGE;
  for (var end = 0u; end < 2u; end++) { found = stretched(found, float_from(tanh_of(word_of(end_of(x, end))))); }
  return widened(Range(found.low, found.high, x.nan));
}
fn range_wave(x: Range, quarters: u32) -> Range {
  if (!is_tame(x)) { return Range(-1.0f, 1.0f, true); }
  if (!is_point(x)) { return Range(-1.0f, 1.0f, false); }
  let word = word_of(x.low);
  return widened(just(select(wave(word & SIZE, quarters), -wave(word & SIZE, quarters), quarters == 0u && x.low < 0.0f)));
}
fn range_sin(x: Range) -> Range { return range_wave(x, 0u); }
fn range_cos(x: Range) -> Range { return range_wave(x, 1u); }
fn range_power(a: Range, b: Range) -> Range {
  if (is_point(a) && is_point(b)) { return widened(just_word(power_of(word_of(a.low), word_of(b.low)))); }
  if (a.low >= 0.0f && is_tame(b) && !a.nan) { return Range(0.0f, FAR, false); }
  return anything();
}

// Booleans: whether they can be false, or true.

fn maybe(can_be_false: bool, can_be_true: bool) -> u32 { return select(0u, NEVER, can_be_false) | select(0u, ALWAYS, can_be_true); }
fn maybe_less(a: Range, b: Range) -> u32 {
  return maybe(a.high >= b.low || a.nan || b.nan, a.low < b.high || b.high >= FAR || a.low <= -FAR);
}
fn maybe_at_most(a: Range, b: Range) -> u32 {
  let far = (a.high >= FAR && b.low >= FAR) || (a.high <= -FAR && b.low <= -FAR);
  return maybe(a.high > b.low || far || a.nan || b.nan, a.low <= b.high);
}
fn maybe_equal(a: Range, b: Range) -> u32 {
  return maybe(!is_point(a) || !is_point(b) || a.low != b.low, a.low <= b.high && b.low <= a.high);
}
fn maybe_not(a: u32) -> u32 { return maybe((a & ALWAYS) != 0u, (a & NEVER) != 0u); }
fn maybe_and(a: u32, b: u32) -> u32 { return ((a | b) & NEVER) | (a & b & ALWAYS); }
fn maybe_or(a: u32, b: u32) -> u32 { return (a & b & NEVER) | ((a | b) & ALWAYS); }
fn maybe_select(condition: u32, a: u32, b: u32) -> u32 {
  return select(0u, a, (condition & ALWAYS) != 0u) | select(0u, b, (condition & NEVER) != 0u);
}
fn maybe_true(x: Range) -> u32 { return maybe(has_zero(x) || x.nan, x.low != 0.0f || x.high != 0.0f); }
fn range_select(condition: u32, a: Range, b: Range) -> Range {
  if (condition == ALWAYS) { return a; }
  if (condition == NEVER) { return b; }
  return either_range(a, b);
}
fn range_of_maybe(a: u32) -> Range {
  return Range(select(0.0f, 1.0f, a == ALWAYS), select(1.0f, 0.0f, a == NEVER), false);
}
