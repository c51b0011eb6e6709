// Attention of many rows. Each workgroup computes Q_TILE rows of one key head (the heads of its group side by side)
// with the keys that they see. It uses an online softmax: scores exist only for the present tile of keys.

var<workgroup> p_tile: array<vec4<f32>, Q_TILE * KV_TILE / 4>;     // [four keys][row]; at the end the rows' statistics
var<workgroup> part_max: array<f32, THREADS_X * Q_TILE / TOGETHER>;  // [x][row]

var<private> out: array<vec4<f32>, R * W>;        // [row][four columns]
var<private> row_max: array<f32, R>;
var<private> row_sum: array<f32, R>;              // over this invocation's keys
var<private> row_weighted: array<f32, R>;
var<private> row_flags: array<u32, R>;

/// Turns scores into biased scores, and hidden scores into LOWEST. Returns for each row its visible keys, one bit each.
fn hide(j0: i32, x: u32, y: u32) -> array<u32, R> {
  var visible: array<u32, R>;
  for (var r = 0u; r < R; r++) {
    let row = row_tile[y * R + r];
    let own_poison = atomicLoad(&query_poison[y * R + r]) != 0u;
    for (var c4 = 0u; c4 < C4; c4++) {
      var s = scores[r * C4 + c4];
      for (var c = 0u; c < 4u; c++) {
        let jj = key_of(x, c4, c);
        let poisoned = own_poison || atomicLoad(&key_poison[jj]) != 0u;
        let seen = biased(row, j0 + i32(jj), s[c], poisoned);
        s[c] = comparable(seen);
        visible[r] |= select(0u, 1u << (4u * c4 + c), seen.visible);
        row_flags[r] |= select(0u, SEEN | select(0u, POISONED, seen.poisoned), seen.visible);
      }
      scores[r * C4 + c4] = s;
    }
  }
  return visible;
}

fn max4(v: vec4<f32>) -> f32 { return max(max(v.x, v.y), max(v.z, v.w)); }

fn raise_max(x: u32, y: u32) {
  for (var r = 0u; r < R; r++) {
    var m = LOWEST;
    for (var c4 = 0u; c4 < C4; c4++) { m = max(m, max4(scores[r * C4 + c4])); }
    m = max_together(m);
    if (x % TOGETHER == 0u) { part_max[x / TOGETHER * Q_TILE + y * R + r] = m; }
  }
  workgroupBarrier();  // part_max is complete
  for (var r = 0u; r < R; r++) {
    var raised = row_max[r];
    for (var n = 0u; n < THREADS_X / TOGETHER; n++) { raised = max(raised, part_max[n * Q_TILE + y * R + r]); }
    let factor = exp_below(row_max[r], raised);
    if (has(ENTROPIES)) { row_weighted[r] = factor * (row_weighted[r] + below(row_max[r], raised) * row_sum[r]); }
    row_sum[r] *= factor;
    row_max[r] = raised;
    for (var w = 0u; w < W; w++) { out[r * W + w] *= factor; }
  }
}

fn store_p(x: u32, y: u32 with dropout { , j0: i32 }) {
  for (var r = 0u; r < R; r++) {
    for (var c4 = 0u; c4 < C4; c4++) {
      let s = scores[r * C4 + c4];
      var p = vec4<f32>();
      for (var c = 0u; c < 4u; c++) {
        p[c] = select(exp_below(s[c], row_max[r]), 0.0f, s[c] == LOWEST);
        if (has(ENTROPIES)) { row_weighted[r] += p[c] * below(s[c], row_max[r]); }
      }
      row_sum[r] += p.x + p.y + p.z + p.w;
      with dropout { for (var c = 0u; c < 4u; c++) { p[c] *= kept(row_tile[y * R + r], j0 + i32(key_of(x, c4, c))); } }
      p_tile[(c4 * THREADS_X + x) * Q_TILE + y * R + r] = p;
    }
  }
}

/// Loads values: keys [first, first + V_KEYS) of the tile that begins at j0. value is [B, Hkv, Skv, Dv / 4] by its
/// strides.
fn load_v(base: u32, j0: i32, first: u32, last: i32, seam: i32, column: u32, t: u32) {
  for (var n = t; n < V_KEYS * VALUE_BLOCK4; n += THREADS) {
    let c4 = column + n % VALUE_BLOCK4;
    let jj = first + n / VALUE_BLOCK4;
    let j = j0 + i32(jj);
    var v = tile4();
    if (c4 < params.value4 && j < last) {
      let row = base + place_of(j, seam) * params.value_position;
      let raw = value_four(row, c4);
      let scale = value_scale(row, c4);
      if (any_not_finite(raw, scale)) { atomicStore(&key_poison[jj], 2u); }
      v = finite_part(raw, scale);
    }
    kv_tile[n] = v;
  }
}

fn accumulate(first: u32, x: u32, y: u32) {
  for (var n = 0u; n < V_KEYS; n += 4u) {
    var v: array<vec4<f32>, 4 * W>;
    for (var c = 0u; c < 4u; c++) {
      for (var w = 0u; w < W; w++) { v[c * W + w] = vec4<f32>(kv_tile[(n + c) * VALUE_BLOCK4 + w * THREADS_X + x]); }
    }
    for (var r = 0u; r < R; r++) {
      let p = p_tile[((first + n) / 4u) * Q_TILE + y * R + r];
      for (var w = 0u; w < W; w++) {
        out[r * W + w] += p.x * v[w] + p.y * v[W + w] + p.z * v[2u * W + w] + p.w * v[3u * W + w];
      }
    }
  }
}

/// Marks rows that see a key whose value is not finite. Such a value became 0 when it was loaded.
fn mark_poisoned_values(visible: array<u32, R>, first: u32, x: u32) {
  for (var c4 = 0u; c4 < C4; c4++) {
    for (var c = 0u; c < 4u; c++) {
      let jj = key_of(x, c4, c);
      if (jj < first || jj >= first + V_KEYS || atomicLoad(&key_poison[jj]) != 2u) { continue; }
      for (var r = 0u; r < R; r++) {
        row_flags[r] |= select(0u, POISONED, (visible[r] & (1u << (4u * c4 + c))) != 0u);
      }
    }
  }
}

/// The statistics of a row, from those of the THREADS_X invocations that share the row.
fn row_statistics(r: u32, y: u32) -> Statistics {
  var all = Statistics(row_max[r], 0.0f, 0.0f, 0u);
  for (var n = 0u; n < THREADS_X; n++) {
    let part = p_tile[n * Q_TILE + y * R + r];
    all.sum += part.x;
    all.weighted += part.y;
    all.flags |= u32(part.z);
  }
  return all;
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) id: vec3<u32>, @builtin(local_invocation_index) t: u32) {
  let work = workgroup_index(id);
  if (work >= params.workgroups) { return; }
  let task = with formula { narrowed( } task_of(work, Q_TILE, VALUE_BLOCK4) with formula { , Q_TILE, KV_TILE) };
  if (task.first_row >= task.num_rows) { return; }

  let x = t % THREADS_X;
  let y = t / THREADS_X;
  for (var r = t; r < Q_TILE; r += THREADS) {
    row_tile[r] = row_of(task, task.first_row + r);
    atomicStore(&query_poison[r], 0u);
  }
  for (var r = 0u; r < R; r++) {
    row_max[r] = LOWEST;
    for (var w = 0u; w < W; w++) { out[r * W + w] = vec4<f32>(); }
  }
  workgroupBarrier();  // row_tile is complete

  let seam = task.sequence.seam;
  for (var j0 = task.begin; j0 < task.end; j0 += i32(KV_TILE)) {
    score_tile(task.key_base, j0, task.end, seam, t);
    let visible = hide(j0, x, y);
    raise_max(x, y);
    store_p(x, y with dropout { , j0 });
    if (has(OUTPUT)) {
      for (var first = 0u; first < KV_TILE; first += V_KEYS) {
        workgroupBarrier();  // p_tile is complete, kv_tile has been read
        load_v(task.value_base, j0, first, task.end, seam, task.column, t);
        workgroupBarrier();  // kv_tile is complete
        accumulate(first, x, y);
        mark_poisoned_values(visible, first, x);
      }
    }
    workgroupBarrier();  // key_poison and part_max have been read
    with formula { j0 = skipped(task, Q_TILE, KV_TILE, j0); }
  }

  workgroupBarrier();  // p_tile has been read
  for (var r = 0u; r < R; r++) {
    p_tile[x * Q_TILE + y * R + r] = vec4<f32>(row_sum[r], row_weighted[r], f32(row_flags[r]), 0.0f);
  }
  workgroupBarrier();  // the statistics are complete
  for (var r = 0u; r < R; r++) {
    let n = task.first_row + y * R + r;
    if (n >= task.num_rows) { continue; }
    let index = row_tile[y * R + r].index;
    let finished = close_row(task, n, index, row_statistics(r, y), x == 0u && task.column == 0u);
    if (!has(OUTPUT)) { continue; }
    for (var w = 0u; w < W; w++) {
      let c4 = task.column + w * THREADS_X + x;
      if (c4 < params.value4) { store_columns(task, n, index, c4, out[r * W + w], finished); }
    }
  }
}
