// Attention of few rows, as in decoding. Each workgroup computes Q_TILE rows of one key head (the heads of its group
// side by side) with a part of its keys. It reads each key once, in order: first LANES invocations for each key, then
// one invocation for each load of the values. A load is PER vec4: 16 bytes where the width allows. Few rows waste no work,
// because the tile is small.

var<workgroup> row_flags: array<atomic<u32>, Q_TILE>;
var<workgroup> row_top: array<atomic<u32>, Q_TILE>;       // the largest score so far, see `ordered`
var<workgroup> key_poison: array<atomic<u32>, KEYS>;
var<workgroup> seen_by: array<atomic<u32>, KEYS>;       // one bit for each row
var<workgroup> q_rows: array<vec4<f32>, Q_CAPACITY>;    // [row][depth4]
var<workgroup> dots: array<f32, Q_TILE * KEYS * LANES / TOGETHER>;  // [row][key][lane]; at the end the rows' statistics
var<workgroup> p_tile: array<f32, Q_TILE * KEYS>;         // [row][key]: scores, then weights
var<workgroup> finished_rows: array<Finished, Q_TILE>;
var<workgroup> columns_of: array<vec4<f32>, THREADS * PER>;  // of a row, by invocation

const KEYS_AT_ONCE = THREADS / LANES;
/// Number of scores of a tile that one invocation handles. They all belong to one key.
const OWN_SCORES = (Q_TILE * KEYS + THREADS - 1u) / THREADS;

var<private> out: array<vec4<f32>, Q_TILE * PER>;  // [row][column of four of one load]
var<private> row_max: array<f32, Q_TILE>;
var<private> sums: array<f32, OWN_SCORES>;
var<private> weighted: array<f32, OWN_SCORES>;

/// Turns a float into a word. The words have the same order as the floats.
fn ordered(x: f32) -> u32 {
  let bits = bitcast<u32>(x);
  return bits ^ select(0x80000000u, 0xffffffffu, (bits >> 31u) == 1u);
}
fn float_of(word: u32) -> f32 {
  return bitcast<f32>(word ^ select(0xffffffffu, 0x80000000u, (word >> 31u) == 1u));
}

fn load_rows(task: Task, t: u32) {
  for (var r = t; r < Q_TILE; r += THREADS) {
    row_tile[r] = row_of(task, task.first_row + r);
    atomicStore(&row_flags[r], 0u);
    atomicStore(&row_top[r], ordered(LOWEST));
    atomicStore(&query_poison[r], 0u);
  }
  workgroupBarrier();  // row_tile is complete
  for (var n = t; n < Q_TILE * params.depth4; n += THREADS) {
    let r = n / params.depth4;
    q_rows[n] = scaled_query(r, n % params.depth4);
  }
}

/// Products of the rows with keys [j0, j0 + KEYS); each lane computes a share. key is [B, Hkv, Skv, D / 4] by its
/// strides; `base` is the offset of batch and head.
fn multiply_keys(base: u32, j0: i32, last: i32, seam: i32, t: u32) {
  let lane = t % LANES;
  for (var first = 0u; first < KEYS; first += KEYS_AT_ONCE) {
    let jj = first + t / LANES;
    var dot_of = array<f32, Q_TILE>();  // explicit zeros: SwiftShader initializes a variable in a loop only once
    if (j0 + i32(jj) < last) {
      let row = base + place_of(j0 + i32(jj), seam) * params.key_position;
      for (var d = lane; d < params.depth4 / PER; d += LANES) {
        let raw = key[row + d];
        let scale = key_scale(row, d * PER);  // a load lies within a block
        unroll (u < PER) {
          let part = part_of(raw, u);
          if (any_not_finite(part, scale)) { atomicStore(&key_poison[jj], 1u); }
          let k = key_numbers(part, scale, row, d * PER + u);
          unroll (r < Q_TILE) { dot_of[r] += dot(q_rows[r * params.depth4 + d * PER + u], k); }
        }
      }
    }
    unroll (r < Q_TILE) {
      let share = sum_together(dot_of[r]);
      if (lane % TOGETHER == 0u) { dots[((r * KEYS + jj) * LANES + lane) / TOGETHER] = share; }
    }
  }
}

/// Adds the lanes' shares and turns them into biased scores, and hidden scores into LOWEST.
fn finish_scores(j0: i32, t: u32) {
  for (var n = t; n < Q_TILE * KEYS; n += THREADS) {
    let r = n / KEYS;
    let jj = n % KEYS;
    var s = 0.0f;
    for (var lane = 0u; lane < LANES / TOGETHER; lane++) { s += dots[n * (LANES / TOGETHER) + lane]; }
    let poisoned = atomicLoad(&query_poison[r]) != 0u || atomicLoad(&key_poison[jj]) != 0u;
    let seen = biased(row_tile[r], j0 + i32(jj), s, poisoned);
    p_tile[n] = comparable(seen);
    if (!seen.visible) { continue; }
    atomicOr(&seen_by[jj], 1u << r);
    atomicOr(&row_flags[r], SEEN | select(0u, POISONED, seen.poisoned));
    atomicMax(&row_top[r], ordered(p_tile[n]));
  }
}

/// Turns scores into weights with the rows' new maxima. Earlier sums are scaled down to the new maxima.
fn weigh(t: u32 with dropout { , j0: i32 }) {
  for (var k = 0u; k < OWN_SCORES; k++) {
    let n = k * THREADS + t;
    if (n >= Q_TILE * KEYS) { continue; }
    let r = n / KEYS;
    let raised = float_of(atomicLoad(&row_top[r]));
    let factor = exp_below(row_max[r], raised);
    let s = p_tile[n];
    let p = select(exp_below(s, raised), 0.0f, s == LOWEST);
    if (has(ENTROPIES)) {
      weighted[k] = factor * (weighted[k] + below(row_max[r], raised) * sums[k]) + p * below(s, raised);
    }
    sums[k] = factor * sums[k] + p;
    p_tile[n] = p with dropout { * kept(row_tile[r], j0 + i32(n % KEYS)) };
  }
  unroll (r < Q_TILE) {
    let raised = float_of(atomicLoad(&row_top[r]));
    let factor = exp_below(row_max[r], raised);
    unroll (u < PER) { out[r * PER + u] *= factor; }
    row_max[r] = raised;
  }
}

/// Adds the weighted values: every `groups`th key of the tile, one load. value is [B, Hkv, Skv, Dv / 4] by its
/// strides.
fn add_values(base: u32, j0: i32, last: i32, seam: i32, column: u32, group: u32, groups: u32) {
  var poisoned = 0u;
  for (var jj = group; jj < min(KEYS, u32(last - j0)); jj += groups) {
    let row = base + place_of(j0 + i32(jj), seam) * params.value_position;
    let raw = value[row + column];
    let scale = value_scale(row, column * PER);
    unroll (u < PER) {
      let part = part_of(raw, u);
      if (any_not_finite(part, scale)) { poisoned |= atomicLoad(&seen_by[jj]); }
      let v = finite_part(part, scale);
      unroll (r < Q_TILE) { out[r * PER + u] += p_tile[r * KEYS + jj] * v; }
    }
  }
  for (var r = 0u; r < Q_TILE; r++) {
    if ((poisoned & (1u << r)) != 0u) { atomicOr(&row_flags[r], POISONED); }
  }
}

/// The statistics of a row, from those of the invocations that computed its scores.
fn row_statistics(r: u32) -> Statistics {
  var all = Statistics(row_max[r], 0.0f, 0.0f, atomicLoad(&row_flags[r]));
  for (var n = r * KEYS; n < (r + 1u) * KEYS; n++) {
    all.sum += p_tile[n];
    if (has(ENTROPIES)) { all.weighted += dots[n]; }
  }
  return all;
}

/// Adds the key groups' columns of row r and writes them.
fn write_row(task: Task, r: u32, column: u32, groups: u32, t: u32) {
  let n = task.first_row + r;
  if (n >= task.num_rows) { return; }
  for (var u = 0u; u < PER; u++) {
    var o = columns_of[u * THREADS + t];
    for (var g = 1u; g < groups; g++) { o += columns_of[u * THREADS + g * params.block_columns + t]; }
    store_columns(task, n, row_tile[r].index, column * PER + u, o, finished_rows[r]);
  }
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) id: vec3<u32>, @builtin(local_invocation_index) t: u32) {
  let work = workgroup_index(id);
  if (work >= params.workgroups) { return; }
  let task = with formula { narrowed( } task_of(work, Q_TILE, params.block_columns) with formula { , Q_TILE, KEYS) };
  if (task.first_row >= task.num_rows) { return; }

  load_rows(task, t);
  unroll (r < Q_TILE) { row_max[r] = LOWEST; }
  unroll (n < Q_TILE * PER) { out[n] = vec4<f32>(); }
  for (var k = 0u; k < OWN_SCORES; k++) {
    sums[k] = 0.0f;
    weighted[k] = 0.0f;
  }

  let seam = task.sequence.seam;
  let column = task.column + t % params.block_columns;
  let key_group = t / params.block_columns;
  let groups = THREADS / params.block_columns;
  let has_column = has(OUTPUT) && key_group < groups && column < params.value4 / PER;
  for (var j0 = task.begin; j0 < task.end; j0 += i32(KEYS)) {
    for (var jj = t; jj < KEYS; jj += THREADS) {
      atomicStore(&key_poison[jj], 0u);
      atomicStore(&seen_by[jj], 0u);
    }
    workgroupBarrier();  // q_rows is complete, the poison is clear
    multiply_keys(task.key_base, j0, task.end, seam, t);
    workgroupBarrier();  // dots is complete
    finish_scores(j0, t);
    workgroupBarrier();  // the scores and their maxima are complete
    weigh(t with dropout { , j0 });
    workgroupBarrier();  // the weights are complete
    if (has_column) { add_values(task.value_base, j0, task.end, seam, column, key_group, groups); }
    workgroupBarrier();  // p_tile and seen_by have been read
    with formula { j0 = skipped(task, Q_TILE, KEYS, j0); }
  }

  for (var k = 0u; k < OWN_SCORES; k++) {
    let n = k * THREADS + t;
    if (n >= Q_TILE * KEYS) { continue; }
    p_tile[n] = sums[k];
    if (has(ENTROPIES)) { dots[n] = weighted[k]; }
  }
  workgroupBarrier();  // the statistics are complete
  let n = task.first_row + t;
  if (t < Q_TILE && n < task.num_rows) {
    finished_rows[t] = close_row(task, n, row_tile[t].index, row_statistics(t), task.column == 0u);
  }
  unroll (r < Q_TILE) {
    unroll (u < PER) { columns_of[u * THREADS + t] = out[r * PER + u]; }
    workgroupBarrier();  // the row's columns and how to write them are complete
    if (has_column && key_group == 0u) { write_row(task, r, column, groups, t); }
    workgroupBarrier();  // columns_of has been read
  }
}
