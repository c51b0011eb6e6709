// Attention of few rows, as in decoding: each workgroup computes ROWS rows of one kv head (the heads of its group side by
// side) against a part of its keys, which it reads once and in order: LANES invocations for each key, then one for each
// column of the values. No row of a larger tile is computed for nothing.

var<workgroup> row_tile: array<Row, ROWS>;
var<workgroup> row_flags: array<atomic<u32>, ROWS>;
var<workgroup> row_top: array<atomic<u32>, ROWS>;       // the largest score so far, see `ordered`
var<workgroup> query_poison: array<atomic<u32>, ROWS>;
var<workgroup> key_poison: array<atomic<u32>, KEYS>;
var<workgroup> seen_by: array<atomic<u32>, KEYS>;       // one bit for each row
var<workgroup> q_rows: array<vec4<f32>, Q_CAPACITY>;    // [row][depth4]
var<workgroup> dots: array<f32, ROWS * KEYS * LANES / TOGETHER>;  // [row][key][lane]; at the end the rows' statistics
var<workgroup> p_tile: array<f32, ROWS * KEYS>;         // [row][key]: scores, then weights
var<workgroup> columns_of: array<vec4<f32>, THREADS>;   // of a row, by invocation

const KEYS_AT_ONCE = THREADS / LANES;
/// Scores of a tile that an invocation looks after: rows ROWS_AT_ONCE apart, always the same key.
const OWN_SCORES = (ROWS * KEYS + THREADS - 1u) / THREADS;

var<private> out: array<vec4<f32>, ROWS>;      // one column of four
var<private> row_max: array<f32, ROWS>;
var<private> sums: array<f32, OWN_SCORES>;
var<private> weighted: array<f32, OWN_SCORES>;

/// Floats as words that ascend with them.
fn ordered(x: f32) -> u32 {
  let bits = bitcast<u32>(x);
  return bits ^ select(0x80000000u, 0xffffffffu, (bits >> 31u) == 1u);
}
fn float_of(word: u32) -> f32 {
  return bitcast<f32>(word ^ select(0xffffffffu, 0x80000000u, (word >> 31u) == 1u));
}

fn load_rows(sequence: Sequence, group: u32, first_row: u32, num_rows: u32, t: u32) {
  for (var r = t; r < ROWS; r += THREADS) {
    let n = first_row + r;
    var row = make_row(sequence, group * params.group_size + n % params.group_size, n / params.group_size);
    if (n >= num_rows) { row.end = row.begin - 1; }
    row_tile[r] = row;
    atomicStore(&row_flags[r], 0u);
    atomicStore(&row_top[r], ordered(LOWEST));
    atomicStore(&query_poison[r], 0u);
  }
  workgroupBarrier();  // row_tile is complete
  for (var n = t; n < ROWS * params.depth4; n += THREADS) {
    let row = row_tile[n / params.depth4];
    var x = vec4<f32>();
    if (row.begin <= row.end) {
      let bits = query_bits(row.query + n % params.depth4);
      let special = (bits & vec4<u32>(EXPONENT)) == vec4<u32>(EXPONENT);
      if (any(special)) { atomicStore(&query_poison[n / params.depth4], 1u); }
      x = params.scale * bitcast<vec4<f32>>(select(bits, vec4<u32>(0u), special));
    }
    q_rows[n] = x;
  }
}

/// Products of the rows with keys [j0, j0 + KEYS), a share of each for every lane. key is [B, Hkv, Skv, D / 4] by its
/// strides; `base` is that of batch and head.
fn multiply_keys(base: u32, j0: i32, last: i32, seam: i32, t: u32) {
  let lane = t % LANES;
  for (var first = 0u; first < KEYS; first += KEYS_AT_ONCE) {
    let jj = first + t / LANES;
    var dot_of = array<f32, ROWS>();  // zeros by name: SwiftShader sets a loop's variable to its default only once
    if (j0 + i32(jj) < last) {
      let row = base + place_of(j0 + i32(jj), seam) * params.key_position;
      let scale = key_scale(row);
      for (var d4 = lane; d4 < params.depth4; d4 += LANES) {
        let raw = key[row + d4];
        if (any_not_finite(raw, scale)) { atomicStore(&key_poison[jj], 1u); }
        let k = finite_part(raw, scale);
        for (var r = 0u; r < ROWS; r++) { dot_of[r] += dot(q_rows[r * params.depth4 + d4], k); }
      }
    }
    for (var r = 0u; r < ROWS; r++) {
      let share = sum_together(dot_of[r]);
      if (lane % TOGETHER == 0u) { dots[((r * KEYS + jj) * LANES + lane) / TOGETHER] = share; }
    }
  }
}

/// The shares to biased scores, hidden ones to LOWEST.
fn finish_scores(j0: i32, t: u32) {
  for (var n = t; n < ROWS * KEYS; n += THREADS) {
    let r = n / KEYS;
    let jj = n % KEYS;
    var s = 0.0f;
    for (var lane = 0u; lane < LANES / TOGETHER; lane++) { s += dots[n * (LANES / TOGETHER) + lane]; }
    let poisoned = atomicLoad(&query_poison[r]) != 0u || atomicLoad(&key_poison[jj]) != 0u;
    let seen = biased(row_tile[r], j0 + i32(jj), s, poisoned);
    p_tile[n] = select(LOWEST, seen.score, seen.visible);
    if (!seen.visible) { continue; }
    atomicOr(&seen_by[jj], 1u << r);
    atomicOr(&row_flags[r], SEEN | select(0u, POISONED, seen.poisoned));
    atomicMax(&row_top[r], ordered(seen.score));
  }
}

/// Scores to weights under the rows' new maxima; what was summed under the old ones is scaled down.
fn weigh(t: u32) {
  for (var k = 0u; k < OWN_SCORES; k++) {
    let n = k * THREADS + t;
    if (n >= ROWS * KEYS) { continue; }
    let r = n / KEYS;
    let raised = float_of(atomicLoad(&row_top[r]));
    let factor = exp_below(row_max[r], raised);
    let lift = max(row_max[r], raised - 104.0f) - raised;
    let s = p_tile[n];
    let p = select(0.0f, exp_below(s, raised), (atomicLoad(&seen_by[n % KEYS]) & (1u << r)) != 0u);
    if (has(ENTROPIES)) {
      weighted[k] = factor * (weighted[k] + lift * sums[k]) + p * (max(s, raised - 104.0f) - raised);
    }
    sums[k] = factor * sums[k] + p;
    p_tile[n] = p;
  }
  for (var r = 0u; r < ROWS; r++) {
    let raised = float_of(atomicLoad(&row_top[r]));
    out[r] *= exp_below(row_max[r], raised);
    row_max[r] = raised;
  }
}

/// value is [B, Hkv, Skv, Dv / 4] by its strides. Every `groups`th key of the tile, one column.
fn add_values(base: u32, j0: i32, last: i32, seam: i32, c4: u32, group: u32, groups: u32) {
  var poisoned = 0u;
  for (var jj = group; jj < min(KEYS, u32(last - j0)); jj += groups) {
    let row = base + place_of(j0 + i32(jj), seam) * params.value_position;
    let raw = value[row + c4];
    let scale = value_scale(row);
    if (any_not_finite(raw, scale)) { poisoned |= atomicLoad(&seen_by[jj]); }
    let v = finite_part(raw, scale);
    for (var r = 0u; r < ROWS; r++) { out[r] += p_tile[r * KEYS + jj] * v; }
  }
  for (var r = 0u; r < ROWS; r++) {
    if ((poisoned & (1u << r)) != 0u) { atomicOr(&row_flags[r], POISONED); }
  }
}

/// The statistics of a row, from those of the invocations that looked after its keys.
fn row_statistics(r: u32) -> Statistics {
  var all = Statistics(row_max[r], 0.0f, 0.0f, atomicLoad(&row_flags[r]));
  for (var n = r * KEYS; n < (r + 1u) * KEYS; n++) {
    all.sum += p_tile[n];
    if (has(ENTROPIES)) { all.weighted += dots[n]; }
  }
  return all;
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) id: vec3<u32>, @builtin(local_invocation_index) t: u32) {
  var work = workgroup_index(id);
  if (work >= params.workgroups) { return; }
  let part = work % params.key_parts;
  work /= params.key_parts;
  let column = (work % params.value_blocks) * params.block_columns;
  work /= params.value_blocks;
  let first_row = (work % params.row_tiles) * ROWS;
  work /= params.row_tiles;
  let group = work % params.num_kv_heads;
  let sequence = sequence_at(work / params.num_kv_heads);
  let num_rows = sequence.num_queries * params.group_size;
  if (first_row >= num_rows) { return; }

  load_rows(sequence, group, first_row, num_rows, t);
  for (var r = 0u; r < ROWS; r++) {
    row_max[r] = LOWEST;
    out[r] = vec4<f32>();
  }
  for (var k = 0u; k < OWN_SCORES; k++) {
    sums[k] = 0.0f;
    weighted[k] = 0.0f;
  }

  // Positions ascend with the rows, so the first row begins and the last row ends the range that they see.
  let last_row = min(first_row + ROWS, num_rows) - 1u;
  let last_i = min(i32(last_row / params.group_size), sequence.query_length - 1);
  let part_begin = sequence.key_begin + i32(part * params.keys_per_part);
  let begin = max(keys_seen_by(i32(first_row / params.group_size), sequence).begin, part_begin);
  let end = min(keys_seen_by(last_i, sequence).end, part_begin + i32(params.keys_per_part));
  let key_base = sequence.batch * params.key_batch + group * params.key_head;
  let value_base = sequence.batch * params.value_batch + group * params.value_head;
  let c4 = column + t % params.block_columns;
  let key_group = t / params.block_columns;
  let groups = THREADS / params.block_columns;
  let has_column = has(OUTPUT) && key_group < groups && c4 < params.value4;
  for (var j0 = begin; j0 < end; j0 += i32(KEYS)) {
    for (var jj = t; jj < KEYS; jj += THREADS) {
      atomicStore(&key_poison[jj], 0u);
      atomicStore(&seen_by[jj], 0u);
    }
    workgroupBarrier();  // q_rows is complete, the poison is clear
    multiply_keys(key_base, j0, end, sequence.seam, t);
    workgroupBarrier();  // dots is complete
    finish_scores(j0, t);
    workgroupBarrier();  // the scores and their maxima are complete
    weigh(t);
    workgroupBarrier();  // the weights are complete
    if (has_column) { add_values(value_base, j0, end, sequence.seam, c4, key_group, groups); }
    workgroupBarrier();  // p_tile and seen_by have been read
  }

  for (var k = 0u; k < OWN_SCORES; k++) {
    let n = k * THREADS + t;
    if (n >= ROWS * KEYS) { continue; }
    p_tile[n] = sums[k];
    if (has(ENTROPIES)) { dots[n] = weighted[k]; }
  }
  let in_parts = params.key_parts > 1u;
  for (var r = 0u; r < ROWS; r++) {
    columns_of[t] = out[r];
    workgroupBarrier();  // the statistics and the row's columns are complete
    let n = first_row + r;
    if (n < num_rows && key_group == 0u) {
      let i = n / params.group_size;
      let head = group * params.group_size + n % params.group_size;
      let index = row_tile[r].index;
      var statistics = row_statistics(r);
      statistics.flags |= select(0u, PADDING, i32(i) >= sequence.query_length);
      let writes_row = t == 0u && column == 0u;
      var finished = Finished(1.0f, FILL_NOTHING);
      if (in_parts) { store_part(part, index, statistics, writes_row); }
      else { finished = finish_row(head, index, sequence.key_length, statistics, writes_row); }
      if (has_column) {
        var o = columns_of[t];
        for (var g = 1u; g < groups; g++) { o += columns_of[g * params.block_columns + t]; }
        if (in_parts) { store_part_o(part, index, c4, o); }
        else { store_o(sequence, head, i, c4, o, finished); }
      }
    }
    workgroupBarrier();  // columns_of has been read
  }
}
