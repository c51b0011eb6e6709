// Rows whose lse is so far from 0 that float32 has lost the sum of their exponentials: finds both again, the maximum of the
// scores and the logarithm of the sum. Each workgroup computes Q_TILE rows of one key head. It ends at once if no row of
// its tile is far.

@group(0) @binding(9) var<storage, read_write> row_words: array<vec4<u32>>;

const LARGEST_EXACT_LSE = 256.0f;  // up to here rounding changes a weight by 1.5e-5 of itself at most

var<workgroup> num_far: u32;                 // rows of the tile
var<private> seen_by: array<Statistics, R>;  // this invocation's keys, by row

fn is_far(r: u32) -> bool { return row_numbers[r].query != NO_ROW && abs(row_numbers[r].lse) > LARGEST_EXACT_LSE; }

fn only(score: f32) -> Statistics { return Statistics(score, 1.0f, 0.0f, 0u); }

/// Adds the pairs of the invocation to its rows.
fn see(j0: i32, t: u32) {
  for (var r = 0u; r < R; r++) {
    let n = t / THREADS_X % THREADS_Y * R + r;
    for (var c = 0u; c < 4u; c++) {
      let jj = 4u * (t % THREADS_X) + c;
      let s = pair_score(n, j0, jj, p_tile[own_place(t, r)][c]);
      if (!s.visible || s.poisoned) { continue; }
      let score = comparable(s);
      if (score != LOWEST) { seen_by[r] = united(seen_by[r], only(score)); }
    }
  }
}

/// Writes both parts of the lse of row r of the tile.
fn write_lse(r: u32) {
  var s = nothing_seen();
  for (var its = 0u; its < THREADS_X; its++) {
    let part = p_tile[its * Q_TILE + r];
    s = united(s, Statistics(part.x, part.y, 0.0f, 0u));
  }
  let row = row_tile[r];
  let sink = sink_bits_of(row.head);
  if (sink != MINUS_INFINITY) { s = united(s, only(sink_score(sink))); }
  if (s.sum == 0.0f) { return; }
  row_words[2u * row.index].x = bitcast<u32>(s.maximum);
  row_words[2u * row.index].w = bitcast<u32>(log(s.sum));
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) id: vec3<u32>, @builtin(local_invocation_index) t: u32) {
  let work = workgroup_index(id);
  if (work >= params.workgroups) { return; }
  let task = with formula { narrowed( } task_of(work, Q_TILE, W * THREADS_X) with formula { , Q_TILE, KV_TILE) };
  if (task.first_row >= task.num_rows) { return; }
  for (var r = t; r < Q_TILE; r += THREADS) { load_row(task, r); }
  workgroupBarrier();  // the rows are complete
  if (t == 0u) {
    var count = 0u;
    for (var r = 0u; r < Q_TILE; r++) { count += u32(is_far(r)); }
    num_far = count;
  }
  if (workgroupUniformLoad(&num_far) == 0u) { return; }
  for (var r = 0u; r < R; r++) { seen_by[r] = nothing_seen(); }

  for (var j0 = task.begin; j0 < task.end; j0 += i32(KV_TILE)) {
    workgroupBarrier();  // key_marks have been read
    load_key_marks(task, j0, t);
    multiply_scores(task, j0, t);
    see(j0, t);
    with formula { j0 = skipped(task, Q_TILE, KV_TILE, j0); }
  }

  for (var r = 0u; r < R; r++) {
    p_tile[own_place(t, r)] = vec4<f32>(seen_by[r].maximum, seen_by[r].sum, 0.0f, 0.0f);
  }
  workgroupBarrier();  // the statistics are complete
  for (var r = t; r < Q_TILE; r += THREADS) {
    if (is_far(r)) { write_lse(r); }
  }
}
