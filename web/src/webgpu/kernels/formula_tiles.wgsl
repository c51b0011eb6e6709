// Which keys the rows of a tile may see by the formula of `visible`. All invocations compute the same.

/// What the variables of a formula can be in a tile of rows and keys.
struct FormulaTile {
  q: Range,
  i: Range,
  k: Range,
  j: Range,
  h: Range,
  g: Range,
  b: Range,
  sq: Range,
  skv: Range,
}

/// Keys that some row of a tile may see by the formula's limits, and keys that all rows see. They are counted over the
/// sequence.
struct FormulaKeys {
  some: KeyRange,
  all: KeyRange,
}

const BLOCK = 8;  // entries of a table that share a range
const MOST_STEPS = 256.0f;

fn with_entry(found: Range, low: u32, high: u32) -> Range {
  if (is_nan(low)) { return anything(); }
  return Range(min(found.low, nearest_limit(low)), max(found.high, nearest_limit(high)), found.nan);
}

/// The entries [first, last] of a table, and their ranges by blocks.
fn with_entries(before: Range, table: u32, first: i32, last: i32) -> Range {
  var found = before;
  let entries = number_at(table);
  let ranges = number_at(table + 3u);
  for (var at = first; at <= last;) {
    if (at % BLOCK == 0 && at + BLOCK <= last + 1) {
      let range = ranges + 2u * u32(at / BLOCK);
      found = with_entry(found, number_at(range), number_at(range + 1u));
      at += BLOCK;
    } else {
      let entry = number_at(entries + u32(at));
      found = with_entry(found, entry, entry);
      at += 1;
    }
  }
  return found;
}

fn range_of_rows(table: u32, x: Range, y: Range) -> Range {
  let rows = i32(number_at(table + 1u));
  let columns = i32(number_at(table + 2u));
  let top = range_floor(x);
  let left = range_floor(y);
  let last_row = f32(rows - 1);
  let last_column = f32(columns - 1);
  let leaves = x.nan || y.nan || top.low < 0.0f || top.high > last_row || left.low < 0.0f || left.high > last_column;
  var found = NO_RANGE;
  if (leaves) { found = just(0.0f); }
  let r = vec2<f32>(max(top.low, 0.0f), min(top.high, last_row));
  let c = vec2<f32>(max(left.low, 0.0f), min(left.high, last_column));
  if (r.x > r.y || c.x > c.y) { return just(0.0f); }
  if ((r.y - r.x + 1.0f) * ((c.y - c.x) / f32(BLOCK) + 2.0f * f32(BLOCK)) > MOST_STEPS) {
    let all = number_at(table + 3u) + 2u * u32((rows * columns + BLOCK - 1) / BLOCK);
    return with_entry(found, number_at(all), number_at(all + 1u));
  }
  for (var row = i32(r.x); row <= i32(r.y); row++) {
    found = with_entries(found, table, row * columns + i32(c.x), row * columns + i32(c.y));
  }
  return found;
}
fn range_of_table(table: u32, x: Range) -> Range { return range_of_rows(table, just(0.0f), x); }

/// The tile of some rows of a task, and of its keys [first, end).
fn formula_tile(task: Task, tile_rows: u32, first: i32, end: i32) -> FormulaTile {
  let sequence = task.sequence;
  let last_row = min(task.first_row + tile_rows, task.num_rows) - 1u;
  let first_i = i32(query_of(task.first_row));
  let last_i = max(min(i32(query_of(last_row)), sequence.query_length - 1), first_i);
  let head = i32(task.group * params.group_size);
  return FormulaTile(
    between(first_i + sequence.offset, last_i + sequence.offset),
    between(first_i, last_i),
    between(position_of(first, sequence.dropped) - sequence.key_begin,
            position_of(end - 1, sequence.dropped) - sequence.key_begin),
    between(first - sequence.key_begin, end - 1 - sequence.key_begin),
    between(head, head + i32(params.group_size) - 1),
    just(f32(task.group)),
    just(f32(task.number)),
    just(f32(sequence.num_queries)),
    just(f32(sequence.num_keys)),
  );
}

/// Keys that all rows of the tile see by the formula's limits.
var<private> limits_for_all: KeyRange;

/// The task without the keys that its formula hides from all rows: those outside of its limits, and the first tiles that
/// nobody sees.
fn narrowed(whole: Task, tile_rows: u32, tile_keys: u32) -> Task {
  var task = whole;
  let keys = formula_keys(formula_tile(task, tile_rows, 0, 1), task.sequence);
  let base = task.sequence.key_begin;
  limits_for_all = KeyRange(base + keys.all.begin, base + keys.all.end);
  task.begin = max(task.begin, base + keys.some.begin);
  task.end = max(task.begin, min(task.end, base + keys.some.end));
  task.begin = skipped(task, tile_rows, tile_keys, task.begin - i32(tile_keys)) + i32(tile_keys);
  return task;
}

/// The tile before the next one that some row may see. It examines that one.
fn skipped(task: Task, tile_rows: u32, tile_keys: u32, present: i32) -> i32 {
  var j0 = present;
  for (; j0 + i32(tile_keys) < task.end; j0 += i32(tile_keys)) {
    let first = j0 + i32(tile_keys);
    let rest = rest_over(formula_tile(task, tile_rows, first, min(first + i32(tile_keys), task.end)));
    tile_rest = rest;
    if (rest != NEVER) { break; }
  }
  return j0;
}

/// Whether the formulas change nothing for the keys [first, end) of the present tile.
fn formulas_rest(first: i32, end: i32) -> bool {
  return !HAS_SCORE && tile_rest == ALWAYS && first >= limits_for_all.begin && end <= limits_for_all.end;
}
