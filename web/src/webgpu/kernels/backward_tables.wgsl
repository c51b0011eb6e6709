// The gradients of what a score formula reads: numbers, and entries of tables. They lie as numbers and tables do in the
// formulas' words. A workgroup goes through every params.row_count-th tile of rows, and has an array of its own;
// sum_parts.wgsl adds them. Each entry has one invocation that adds to it, in the order of the pairs.

@group(0) @binding(9) var<storage, read> row_words: array<vec4<u32>>;

const NOWHERE = 0xffffffffu;
const POISON = 0x80000000u;

var<workgroup> entry_tile: array<vec4<u32>, Q_TILE * KV_TILE / 4>;  // [four keys][row]: the entry that a pair reads

var<private> seen: u32;  // bit 4r + c
var<private> poisoned: u32;
var<private> present: u32;  // the entry that this invocation adds to, and its sum so far
var<private> sum: f32;
var<private> is_nan_sum: bool;

/// Where an entry of a table lies among the formulas' words.
fn place_of_entry(table: u32, x: f32, y: f32) -> u32 {
  let row = floor(x);
  let column = floor(y);
  let columns = number_at(table + 2u);
  let is_inside = row >= 0.0f && row < f32(number_at(table + 1u)) && column >= 0.0f && column < f32(columns);
  if (!is_inside) { return NOWHERE; }
  return number_at(table) + u32(row) * columns + u32(column);
}

/// Turns products into the score before the formula, and ds of the formula's result.
fn grade(j0: i32, t: u32) {
  seen = 0u;
  poisoned = 0u;
  for (var r = 0u; r < R; r++) {
    let n = t / THREADS_X % THREADS_Y * R + r;
    let at = own_place(t, r);
    var s = p_tile[at];
    var ds = ds_tile[at];
    for (var c = 0u; c < 4u; c++) {
      let pair = pair_of(n, j0, 4u * (t % THREADS_X) + c, s[c], ds[c]);
      ds[c] = pair.by_score;
      s[c] = float_from(select(unscored, 0u, not_finite(unscored)));
      seen |= select(0u, 1u << (4u * r + c), pair.visible);
      poisoned |= select(0u, 1u << (4u * r + c), pair.poisoned);
    }
    p_tile[at] = s;
    ds_tile[at] = ds;
  }
}

/// Computes what each pair adds to which entry by read `read`.
fn find_entries(read: u32, j0: i32, t: u32) {
  for (var r = 0u; r < R; r++) {
    let row = row_tile[t / THREADS_X * R + r];
    let at = own_place(t, r);
    let s = p_tile[at];
    var added = ds_tile[at];
    var entries = vec4<u32>(NOWHERE);
    for (var c = 0u; c < 4u; c++) {
      let bit = 1u << (4u * r + c);
      if ((seen & bit) == 0u) { continue; }
      let found = formula_read(read, row, j0 + i32(4u * (t % THREADS_X) + c), word_of(s[c]));
      let is_poison = (poisoned & bit) != 0u || not_finite(found.derivative);
      if (found.entry != NOWHERE) { entries[c] = found.entry | select(0u, POISON, is_poison); }
      added[c] = select(added[c] * float_from(found.derivative), 0.0f, is_poison);
    }
    entry_tile[at] = entries;
    tile[at] = added;
  }
}

/// Adds the sum so far to its entry.
fn put_sum(part: u32) {
  if (present == NOWHERE) { return; }
  let at = part * params.row_stride + present;
  let before = gradient[at];
  let is_nan = is_nan_sum || not_finite(before);
  gradient[at] = select(bitcast<u32>(bitcast<f32>(select(before, 0u, not_finite(before))) + sum), NOT_A_NUMBER, is_nan);
  present = NOWHERE;
}

fn add_entries(part: u32, t: u32) {
  for (var n = 0u; n < Q_TILE * KV_TILE / 4u; n++) {
    let entries = entry_tile[n];
    for (var c = 0u; c < 4u; c++) {
      let entry = entries[c] & ~POISON;
      if (entries[c] == NOWHERE || entry % THREADS != t) { continue; }
      if (entry != present) {
        put_sum(part);
        present = entry;
        sum = 0.0f;
        is_nan_sum = false;
      }
      sum += tile[n][c];
      is_nan_sum = is_nan_sum || entry != entries[c];
    }
  }
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) id: vec3<u32>, @builtin(local_invocation_index) t: u32) {
  let part = workgroup_index(id);
  if (part >= params.workgroups) { return; }
  present = NOWHERE;
  let tasks = params.num_sequences * params.num_kv_heads * params.row_tiles;
  for (var work = part; work < tasks; work += params.row_count) {
    let task = narrowed(task_of(work, Q_TILE, 0u), Q_TILE, KV_TILE);
    if (task.first_row >= task.num_rows) { continue; }
    workgroupBarrier();  // the rows have been read
    for (var r = t; r < Q_TILE; r += THREADS) { load_row(task, r); }
    for (var j0 = task.begin; j0 < task.end; j0 += i32(KV_TILE)) {
      workgroupBarrier();  // the rows are complete; the tiles and key_marks have been read
      load_key_marks(task, j0, t);
      multiply_pairs(task, j0, t);
      grade(j0, t);
      for (var read = 0u; read < READS; read++) {
        workgroupBarrier();  // the tile has been read
        find_entries(read, j0, t);
        workgroupBarrier();  // entries and what is added to them are complete
        add_entries(part, t);
      }
      j0 = skipped(task, Q_TILE, KV_TILE, j0);
    }
  }
  put_sum(part);
}
