// Attention of few rows, as in decoding. Each workgroup computes Q_TILE rows of one key head (the heads of its group
// side by side) with a part of its keys. It reads each key once, in order: first LANES invocations for each key, then
// one invocation for each load of the values. A load is PER vec4: 16 bytes where the width allows. Few rows waste no work,
// because the tile is small.

var<workgroup> row_flags: array<atomic<u32>, Q_TILE>;
var<workgroup> row_top: array<atomic<u32>, Q_TILE>;       // the largest score so far, see `ordered`
var<workgroup> key_poison: array<atomic<u32>, KEYS>;
var<workgroup> seen_by: array<atomic<u32>, KEYS>;       // one bit for each row
var<workgroup> q_rows: array<vec4<f32>, Q_CAPACITY>;    // [row][part of a load][load]
var<workgroup> dots: array<f32, Q_TILE * KEYS * LANES / TOGETHER>;  // [row][key][lane]; at the end the rows' statistics
var<workgroup> p_tile: array<f32, Q_TILE * KEYS>;         // [row][key]: scores, then weights
var<workgroup> finished_rows: array<Finished, Q_TILE>;
var<workgroup> mean_scores: array<f32, Q_TILE>;
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

/// Where q_rows has four features of a row. The same part of neighbouring loads, which neighbouring lanes multiply, lies in
/// neighbouring banks.
fn query_at(r: u32, load: u32, part: u32) -> u32 { return r * params.depth4 + part * (params.depth4 / PER) + load; }

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
    let at = n % params.depth4;
    q_rows[query_at(r, at / PER, at % PER)] = scaled_query(r, at);
  }
}

/// What the mean of the head's keys, which int8 keys are stored without, adds to each score of a row.
fn multiply_means(base: u32, t: u32) {
  let lane = t % LANES;
  for (var r = t / LANES; r < Q_TILE; r += THREADS / LANES) {
    var share = 0.0f;
    for (var d = lane; d < params.depth4; d += LANES) { share += dot(q_rows[query_at(r, d / PER, d % PER)], key_mean(base, d)); }
    dots[r * LANES + lane] = share;
  }
  workgroupBarrier();  // the shares are complete
  for (var r = t; r < Q_TILE; r += THREADS) {
    var sum = 0.0f;
    for (var n = 0u; n < LANES; n++) { sum += dots[r * LANES + n]; }
    mean_scores[r] = sum;
  }
  workgroupBarrier();  // dots have been read
}

/// Products of the rows with keys [j0, j0 + KEYS); each lane computes a share. key is [B, Hkv, Skv, D / 4] by its
/// strides; `base` is the offset of batch and head. An invocation has ROUNDS keys. It first asks for AHEAD loads of each,
/// so that memory has work, and one query serves all of its keys. Keys from `last` on are hidden: the last key stands for
/// them.
fn multiply_keys(base: u32, j0: i32, last: i32, seam: i32, t: u32) {
  let lane = t % LANES;
  let loads = params.depth4 / PER;
  let first_row = base / params.key_position;
  var dot_of: array<f32, ROUNDS * Q_TILE>;
  var place: array<u32, ROUNDS>;
  unroll (n < ROUNDS * Q_TILE) { dot_of[n] = 0.0f; }
  unroll (k < ROUNDS) { place[k] = place_of(min(j0 + i32(k * KEYS_AT_ONCE + t / LANES), last - 1), seam); }
  for (var first = lane; first < loads; first += AHEAD * LANES) {
    var raw: array<loaded, ROUNDS * AHEAD>;
    var scale: array<u32, ROUNDS * AHEAD>;
    unroll (a < AHEAD) {
      let d = min(first + a * LANES, loads - 1u);
      unroll (k < ROUNDS) {
        raw[a * ROUNDS + k] = key[base + place[k] * params.key_position + d];
        scale[a * ROUNDS + k] = key_scale_of(first_row + place[k], d * PER);  // a load lies within a block
      }
    }
    unroll (a < AHEAD) {
      let d = first + a * LANES;
      if (d < loads) {
        unroll (u < PER) {
          var numbers: array<vec4<f32>, ROUNDS>;
          unroll (k < ROUNDS) {
            let part = part_of(raw[a * ROUNDS + k], u);
            if (any_not_finite(part, scale[a * ROUNDS + k])) { atomicStore(&key_poison[k * KEYS_AT_ONCE + t / LANES], 1u); }
            numbers[k] = vec4<f32>(finite_part(part, scale[a * ROUNDS + k]));
          }
          unroll (r < Q_TILE) {
            let q = q_rows[query_at(r, d, u)];
            unroll (k < ROUNDS) { dot_of[r * ROUNDS + k] += dot(q, numbers[k]); }
          }
        }
      }
    }
  }
  unroll (r < Q_TILE) {
    unroll (k < ROUNDS) {
      let share = sum_together(dot_of[r * ROUNDS + k]);
      if (lane % TOGETHER == 0u) { dots[((r * KEYS + k * KEYS_AT_ONCE + t / LANES) * LANES + lane) / TOGETHER] = share; }
    }
  }
}

/// Adds the lanes' shares and turns them into a biased score, or a hidden score into LOWEST.
fn finished_score(r: u32, jj: u32, j0: i32) -> f32 {
  let n = r * KEYS + jj;
  var s = 0.0f;
  if (HAS_MEANS) { s = mean_scores[r]; }
  for (var lane = 0u; lane < LANES / TOGETHER; lane++) { s += dots[n * (LANES / TOGETHER) + lane]; }
  let poisoned = atomicLoad(&query_poison[r]) != 0u || atomicLoad(&key_poison[jj]) != 0u;
  let seen = biased(row_tile[r], j0 + i32(jj), params.score_scale * s, poisoned);
  let score = comparable(seen);
  p_tile[n] = score;
  if (seen.visible) {
    atomicOr(&seen_by[jj], 1u << r);
    if (seen.poisoned || score == LOWEST) { atomicOr(&row_flags[r], SEEN | select(0u, POISONED, seen.poisoned)); }
  }
  return score;
}

/// Finishes the scores of a tile and raises the rows' maxima. Of TOGETHER neighbours, which belong to one row, one raises it.
fn finish_scores(j0: i32, t: u32) {
  for (var k = 0u; k < OWN_SCORES; k++) {
    let n = k * THREADS + t;
    var score = LOWEST;
    if (n < Q_TILE * KEYS) { score = finished_score(n / KEYS, n % KEYS, j0); }
    let most = max_together(score);
    if (t % TOGETHER == 0u && most != LOWEST) {
      atomicOr(&row_flags[n / KEYS], SEEN);
      atomicMax(&row_top[n / KEYS], ordered(most));
    }
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
/// strides. VALUES_AHEAD loads are asked for at a time.
fn add_values(base: u32, j0: i32, last: i32, seam: i32, column: u32, group: u32, groups: u32) {
  let count = min(KEYS, u32(last - j0));
  let first_row = base / params.value_position;
  var poisoned = 0u;
  for (var first = group; first < count; first += VALUES_AHEAD * groups) {
    var raw: array<loaded, VALUES_AHEAD>;
    var scale: array<u32, VALUES_AHEAD>;
    unroll (a < VALUES_AHEAD) {
      let place = place_of(j0 + i32(min(first + a * groups, count - 1u)), seam);
      raw[a] = value[base + place * params.value_position + column];
      scale[a] = value_scale_of(first_row + place, column * PER);
    }
    unroll (a < VALUES_AHEAD) {
      let jj = first + a * groups;
      if (jj < count) {
        var weight: array<f32, Q_TILE>;
        unroll (r < Q_TILE) { weight[r] = p_tile[r * KEYS + jj]; }
        unroll (u < PER) {
          let part = part_of(raw[a], u);
          if (any_not_finite(part, scale[a])) { poisoned |= atomicLoad(&seen_by[jj]); }
          let v = vec4<f32>(finite_part(part, scale[a]));
          unroll (r < Q_TILE) { out[r * PER + u] += weight[r] * v; }
        }
      }
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
  if (HAS_MEANS) {
    workgroupBarrier();  // q_rows is complete
    multiply_means(task.key_base, t);
  }
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
