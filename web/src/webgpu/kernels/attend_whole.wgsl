// Attention of many rows whose queries fit workgroup memory. Each workgroup computes ROWS rows of one key head (the heads
// of its group side by side) with the keys that they see. The queries stay in workgroup memory. Keys and values come in
// tiles of KEYS; of wide heads a tile comes in chunks: KEY_CHUNKS times DEPTH4 features, then VALUE_CHUNKS times CHUNK_KEYS
// values. The next chunk is on its way in registers while the present one is multiplied.
//
// LANES invocations share R rows. Each computes the scores of C keys (lane, lane + LANES, …), and W vec4 columns of the
// output. shader.ts writes out every `unroll`, so that all register arrays have constant indices.
//
// A tile that every row sees whole, with finite and not too large numbers, takes the short path. Every other tile takes the
// careful path: it applies the call's rules to one score after the other. CAREFUL is always true; the bench compiles the
// short path alone to measure it.


var<workgroup> q_tile: array<vec4<f32>, max(D4, V4) * ROWS>;  // [feature / 4][row]; at the end the outputs [row][Dv / 4]
var<workgroup> kv_tile: array<tile4, CHUNK4>;  // [feature / 4][key, spread over the banks], then values [key][Dv / 4]
var<workgroup> p_tile: array<array<array<vec4<f32>, R4>, GROUPS>, KEYS>;  // [key][group][four rows]: scores, weights

// Between the weights of two tiles p_tile also carries flags: a number above 1, which no weight is. p_tile[key][0][0].x:
// the key is not finite. p_tile[key][1][0].y: its value in the tile before is not finite. p_tile[0][2][0].z and
// p_tile[0][3][0].w: there is such a key or a large number, or such a value. p_tile[1][3][0].x: a query is large. So the
// flags need no memory of their own, and weights clear them. Each kind has vectors of its own: WGSL lets a write to one
// component touch the whole vector.
const FLAG = 2.0f;
const LARGE = 5.764607523034235e17f;  // 2^59: 256 products of smaller numbers stay below 2^126
fn is_flag(x: f32) -> bool { return x > 1.0f; }

var<private> s: array<f32, R * C>;               // [row][key]: scores, then weights
var<private> out: array<vec4<f32>, R * W>;       // [row][four columns]
var<private> top: array<f32, R>;                 // the row's maximum
var<private> raised: array<f32, R>;              // the same with the present tile
var<private> row_sum: array<f32, R>;             // over this invocation's keys
var<private> row_weighted: array<f32, R>;
var<private> ahead: array<stored, max(KEY_LOADS, VALUE_LOADS)>;

var<private> lane: u32;
var<private> group: u32;       // R rows
var<private> seen: u32;        // visible scores of the present tile, bit r * C + c
var<private> seen_rows: u32;   // rows that have seen a key, bit r
var<private> poisoned: u32;    // rows that have seen something that is not finite
var<private> poisoned_queries: u32;
var<private> poisoned_loads: u32;  // loads of the present tile's values that are not finite

/// The place in p_tile of the invocation's group, for keys of `its` lane. Neighbouring keys lie in other places, so that
/// they are in other banks of workgroup memory. Their four rows also lie in turn: `(i ^ its) % R4`.
fn place_for(its: u32) -> u32 { return group ^ (its / SPREAD); }

fn load_queries(task: Task, t: u32) {
  for (var n = t; n < D4 * ROWS; n += THREADS) {
    let r = n / D4;
    let row = task.first_row + r;
    var q = vec4<f32>();
    if (row < task.num_rows) {
      let bits = query_bits(task.query_base + row % params.group_size * params.query_head +
                            (task.sequence.query_begin + query_of(row)) * params.query_position + n % D4);
      let special = (bits & vec4<u32>(EXPONENT)) == vec4<u32>(EXPONENT);
      if (any(special)) { p_tile[r % KEYS][1u + r / KEYS][0].x = FLAG; }
      q = params.query_scale * bitcast<vec4<f32>>(select(bits, vec4<u32>(0u), special));
      if (any(abs(q) >= vec4<f32>(LARGE))) { p_tile[1][3][0].x = FLAG; }
    }
    q_tile[n % D4 * ROWS + r] = q;
  }
}

// Load i of an invocation is of vec4 `t + i * THREADS` of a tile. Where the tile's width divides THREADS, that is the
// same column for every i.

fn key_of_load(t: u32, i: u32) -> u32 {
  return select((t + i * THREADS) / DEPTH4, t / DEPTH4 + i * (THREADS / DEPTH4), THREADS % DEPTH4 == 0u);
}
fn feature_of_load(t: u32, i: u32) -> u32 {
  return select((t + i * THREADS) % DEPTH4, t % DEPTH4, THREADS % DEPTH4 == 0u);
}
fn value_of_load(t: u32, i: u32) -> u32 {
  return select((t + i * THREADS) / V4, t / V4 + i * (THREADS / V4), THREADS % V4 == 0u);
}
fn column_of_load(t: u32, i: u32) -> u32 { return select((t + i * THREADS) % V4, t % V4, THREADS % V4 == 0u); }

/// The first vec4 of a key in `key`. Without a ring only j0 changes from tile to tile.
fn key_row(task: Task, j0: i32, jj: u32) -> u32 {
  if (has(RING)) { return task.key_base + place_of(j0 + i32(jj), task.sequence.seam) * params.key_position; }
  return task.key_base + u32(j0) * params.key_position + jj * params.key_position;
}
fn value_row(task: Task, j0: i32, jj: u32) -> u32 {
  if (has(RING)) { return task.value_base + place_of(j0 + i32(jj), task.sequence.seam) * params.value_position; }
  return task.value_base + u32(j0) * params.value_position + jj * params.value_position;
}

fn fetch_keys(task: Task, j0: i32, chunk: u32, t: u32) {
  let first = chunk * DEPTH4;
  unroll (i < KEY_LOADS) { ahead[i] = key[key_row(task, j0, key_of_load(t, i)) + first + feature_of_load(t, i)]; }
}
fn fetch_values(task: Task, j0: i32, chunk: u32, t: u32) {
  let first = j0 + i32(chunk * CHUNK_KEYS);
  unroll (i < VALUE_LOADS) { ahead[i] = value[value_row(task, first, value_of_load(t, i)) + column_of_load(t, i)]; }
}

/// Puts the fetched keys into kv_tile. Numbers that are not finite become 0, and their keys are flagged. A tile that has such
/// numbers, or large ones, is flagged too.
fn place_keys(t: u32) {
  var extremes = no_extremes();
  unroll (i < KEY_LOADS) { extremes = with_extremes(extremes, ahead[i]); }
  if (CAREFUL && some_large(extremes)) {
    p_tile[0][2][0].z = FLAG;
    unroll (i < KEY_LOADS) {
      if (any_not_finite(ahead[i], 0u)) {
        p_tile[key_of_load(t, i)][0][0].x = FLAG;
        ahead[i] = cleaned(ahead[i]);
      }
    }
  }
  unroll (i < KEY_LOADS) {
    let d4 = feature_of_load(t, i);
    kv_tile[d4 * KEYS + (key_of_load(t, i) ^ (d4 % 8u))] = numbers_of(ahead[i], 0u);
  }
}

/// Puts the fetched values into kv_tile. Numbers that are not finite become 0; poisoned_loads remembers them.
fn place_values(chunk: u32, t: u32) {
  var extremes = no_extremes();
  unroll (i < VALUE_LOADS) { extremes = with_extremes(extremes, ahead[i]); }
  if (CAREFUL && some_not_finite(extremes)) {
    unroll (i < VALUE_LOADS) {
      if (any_not_finite(ahead[i], 0u)) {
        poisoned_loads |= 1u << (chunk * VALUE_LOADS + i);
        ahead[i] = cleaned(ahead[i]);
      }
    }
  }
  unroll (i < VALUE_LOADS) { kv_tile[t % THREADS + i * THREADS] = numbers_of(ahead[i], 0u); }
}

/// Flags the keys of the tile before whose values are not finite.
fn flag_values(t: u32) {
  if (!CAREFUL || poisoned_loads == 0u) { return; }
  for (var n = 0u; n < VALUE_CHUNKS * VALUE_LOADS; n++) {
    let jj = n / VALUE_LOADS * CHUNK_KEYS + value_of_load(t, n % VALUE_LOADS);
    if ((poisoned_loads & (1u << n)) != 0u) { p_tile[jj][1][0].y = FLAG; }
  }
  p_tile[0][3][0].w = FLAG;
  poisoned_loads = 0u;
}

/// Marks the rows that saw a key of the tile before whose value is not finite.
fn mark_poisoned_values() {
  if (!CAREFUL || !is_flag(p_tile[0][3][0].w)) { return; }
  for (var c = 0u; c < C; c++) {
    if (!is_flag(p_tile[lane + c * LANES][1][0].y)) { continue; }
    for (var r = 0u; r < R; r++) { poisoned |= ((seen >> (r * C + c)) & 1u) << r; }
  }
}

/// The keys of this invocation that are not finite, bit c.
fn poisoned_keys() -> u32 {
  var keys = 0u;
  if (CAREFUL && is_flag(p_tile[0][2][0].z)) {
    for (var c = 0u; c < C; c++) { keys |= select(0u, 1u << c, is_flag(p_tile[lane + c * LANES][0][0].x)); }
  }
  return keys;
}

fn multiply(chunk: u32) {
  let first4 = min(chunk, KEY_CHUNKS - 1u) * DEPTH4;
  for (var d4 = 0u; d4 < DEPTH4; d4++) {
    var k: array<vec4<f32>, C>;
    let first = d4 * KEYS + min(lane ^ (d4 % 8u), LANES - 1u);
    unroll (c < C) { k[c] = vec4<f32>(kv_tile[first + c * LANES]); }
    unroll (r < R) {
      let q = q_tile[(first4 + d4) * ROWS + group % GROUPS * R + r];
      unroll (c < C) {
        s[r * C + c] += q.x * k[c].x;
        s[r * C + c] += q.y * k[c].y;
        s[r * C + c] += q.z * k[c].z;
        s[r * C + c] += q.w * k[c].w;
      }
    }
  }
}

fn keep_scores() {
  unroll (c < C) {
    unroll (i < R4) {
      p_tile[lane + c * LANES][place_for(lane)][(i ^ lane) % R4] = vec4<f32>(s[4 * i * C + c], s[(4 * i + 1) * C + c], s[(4 * i + 2) * C + c], s[(4 * i + 3) * C + c]);
    }
  }
}

fn take_scores() {
  unroll (c < C) {
    unroll (i < R4) {
      let four = p_tile[lane + c * LANES][place_for(lane)][(i ^ lane) % R4];
      s[4 * i * C + c] = four.x;
      s[(4 * i + 1) * C + c] = four.y;
      s[(4 * i + 2) * C + c] = four.z;
      s[(4 * i + 3) * C + c] = four.w;
    }
  }
}

/// The careful path: turns scores into biased scores, and hides those of hidden keys. The scores go through this
/// invocation's own places of p_tile, so that one copy of the rules serves all of them.
fn apply_rules(task: Task, j0: i32, keys: u32) {
  keep_scores();
  seen = 0u;
  for (var r = 0u; r < R; r++) {
    let row = row_of(task, task.first_row + group * R + r);
    for (var c = 0u; c < C; c++) {
      let four = &p_tile[lane + c * LANES][place_for(lane)][((r / 4u) ^ lane) % R4];
      let poison = ((keys >> c) | (poisoned_queries >> r)) & 1u;
      let found = biased(row, j0 + i32(lane + c * LANES), (*four)[r % 4u], poison != 0u);
      (*four)[r % 4u] = comparable(found);
      seen |= select(0u, 1u << (r * C + c), found.visible);
      seen_rows |= select(0u, 1u << r, found.visible);
      poisoned |= select(0u, 1u << r, found.visible && found.poisoned);
    }
  }
  take_scores();
}

/// Sets `raised` to the rows' maxima over all keys so far.
fn raise() {
  unroll (r < R) {
    raised[r] = top[r];
    unroll (c < C) { raised[r] = max(raised[r], s[r * C + c]); }
  }
  if (TOGETHER == LANES) {
    unroll (r < R) { raised[r] = max_together(raised[r]); }
    return;
  }
  unroll (i < R4) { p_tile[lane][place_for(lane)][(i ^ lane) % R4] = vec4<f32>(raised[4 * i], raised[4 * i + 1], raised[4 * i + 2], raised[4 * i + 3]); }
  workgroupBarrier();  // the maxima of all lanes are there
  unroll (i < R4) {
    var most = p_tile[0][place_for(0u)][i];
    for (var n = 1u; n < LANES; n++) { most = max(most, p_tile[n][place_for(n)][(i ^ n) % R4]); }
    raised[4 * i] = most.x;
    raised[4 * i + 1] = most.y;
    raised[4 * i + 2] = most.z;
    raised[4 * i + 3] = most.w;
  }
  workgroupBarrier();  // they have been read
}

/// Scales the sums and the output so far down to the raised maxima.
fn lower() {
  unroll (r < R) {
    let factor = exp_below(top[r], raised[r]);
    if (has(ENTROPIES)) {
      row_weighted[r] = factor * (row_weighted[r] + below(top[r], raised[r]) * row_sum[r]);
    }
    row_sum[r] *= factor;
    unroll (w < W) { out[r * W + w] *= factor; }
    top[r] = raised[r];
  }
}

/// Turns scores into weights, and adds them up.
fn weigh() {
  unroll (r < R) {
    unroll (c < C) {
      let distance = below(s[r * C + c], top[r]);
      let p = exp(distance);
      if (has(ENTROPIES)) { row_weighted[r] += p * distance; }
      s[r * C + c] = p;
      row_sum[r] += p;
    }
  }
}

/// The same where keys may be hidden.
fn weigh_seen() {
  unroll (r < R) {
    unroll (c < C) {
      let distance = below(s[r * C + c], top[r]);
      let p = select(exp(distance), 0.0f, s[r * C + c] == LOWEST);
      if (has(ENTROPIES)) { row_weighted[r] += p * distance; }
      s[r * C + c] = p;
      row_sum[r] += p;
    }
  }
}

fn accumulate(chunk: u32) {
  let first_key = min(chunk, VALUE_CHUNKS - 1u) * CHUNK_KEYS;
  for (var eight = 0u; eight < CHUNK_KEYS / 8u; eight++) {
    let first = eight * 8u;
    let jj = first_key + first;
    let its = select(jj % LANES, 0u, LANES == 8u);
    unroll (n < 8) {
      var v: array<vec4<f32>, W>;
      unroll (w < W) { v[w] = vec4<f32>(kv_tile[(first + n) * V4 + w * LANES + lane % LANES]); }
      unroll (i < R4) {
        let p = p_tile[jj + n][place_for(its + n)][(i ^ n) % R4];
        unroll (w < W) {
          out[4 * i * W + w] += p.x * v[w];
          out[(4 * i + 1) * W + w] += p.y * v[w];
          out[(4 * i + 2) * W + w] += p.z * v[w];
          out[(4 * i + 3) * W + w] += p.w * v[w];
        }
      }
    }
  }
}

/// Closes row `r` of the group from the statistics of its lanes, and keeps in p_tile how to write it.
fn close_rows(task: Task) {
  unroll (i < R4) {
    p_tile[lane][place_for(lane)][(i ^ lane) % R4] = vec4<f32>(row_sum[4 * i], row_sum[4 * i + 1], row_sum[4 * i + 2], row_sum[4 * i + 3]);
    p_tile[lane + LANES][place_for(lane)][(i ^ lane) % R4] =
      vec4<f32>(row_weighted[4 * i], row_weighted[4 * i + 1], row_weighted[4 * i + 2], row_weighted[4 * i + 3]);
    if (lane == 0u) { q_tile[group * R4 + i] = vec4<f32>(top[4 * i], top[4 * i + 1], top[4 * i + 2], top[4 * i + 3]); }
  }
  q_tile[GROUPS * R4 + group * LANES + lane] = vec4<f32>(f32(seen_rows), f32(poisoned), 0.0f, 0.0f);
  workgroupBarrier();  // the statistics are complete
  let r = lane;        // lane r closes row r of the group
  let n = task.first_row + group * R + r;
  var seen_by = Statistics(LOWEST, 0.0f, 0.0f, 0u);
  if (r < R) {
    seen_by.maximum = q_tile[group * R4 + r / 4u][r % 4u];
    for (var its = 0u; its < LANES; its++) {
      seen_by.sum += p_tile[its][place_for(its)][((r / 4u) ^ its) % R4][r % 4u];
      seen_by.weighted += p_tile[its + LANES][place_for(its)][((r / 4u) ^ its) % R4][r % 4u];
      let bits = vec2<u32>(q_tile[GROUPS * R4 + group * LANES + its].xy) >> vec2<u32>(r);
      seen_by.flags |= ((bits.x & 1u) * SEEN) | ((bits.y & 1u) * POISONED);
    }
    if (i32(query_of(n)) >= task.sequence.query_length) { seen_by = nothing_seen(); }
  }
  workgroupBarrier();  // the statistics have been read
  if (r < R && n < task.num_rows) {
    let finished = close_row(task, n, row_index(task, n), seen_by, true);
    p_tile[r][group][0] = vec4<f32>(finished.factor, f32(finished.fill), 0.0f, 0.0f);
  }
}

/// Writes the rows. They go through q_tile, so that neighbouring invocations write neighbouring columns.
fn write_rows(task: Task, t: u32) {
  unroll (r < R) {
    unroll (w < W) {
      let c4 = w * LANES + lane;
      if (c4 < V4) { q_tile[(group * R + r) * V4 + c4] = out[r * W + w]; }
    }
  }
  workgroupBarrier();  // the outputs and how to write them are complete
  for (var n = t; n < ROWS * V4; n += THREADS) {
    let row = task.first_row + n / V4;
    if (row >= task.num_rows) { continue; }
    let how = p_tile[n / V4 % R][n / V4 / R][0];
    store_columns(task, row, row_index(task, row), n % V4, q_tile[n], Finished(how.x, u32(how.y)));
  }
}

/// The keys that every row of the tile sees, but for masks and other rules. Rows after the last one and padding may
/// compute anything.
fn keys_seen_by_all(task: Task) -> KeyRange {
  let last_row = min(task.first_row + ROWS, task.num_rows) - 1u;
  let last_i = min(i32(query_of(last_row)), task.sequence.query_length - 1);
  return KeyRange(keys_seen_by(last_i, task.sequence).begin, keys_seen_by(i32(query_of(task.first_row)), task.sequence).end);
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) id: vec3<u32>, @builtin(local_invocation_index) t: u32) {
  let work = workgroup_index(id);
  if (work >= params.workgroups) { return; }
  let task = with formula { narrowed( } task_of(work, ROWS, V4) with formula { , ROWS, KEYS) };
  if (task.first_row >= task.num_rows) { return; }
  lane = t % LANES;
  group = t / LANES;

  load_queries(task, t);
  unroll (r < R) {
    top[r] = LOWEST;
    row_sum[r] = 0.0f;
    row_weighted[r] = 0.0f;
  }
  unroll (n < R * W) { out[n] = vec4<f32>(); }
  workgroupBarrier();  // the queries and their flags are complete
  for (var r = 0u; r < R; r++) {
    poisoned_queries |= select(0u, 1u << r, is_flag(p_tile[(group * R + r) % KEYS][1u + (group * R + r) / KEYS][0].x));
  }
  let has_large_queries = is_flag(p_tile[1][3][0].x);
  workgroupBarrier();  // the queries' flags have been read

  let rules = has(RULES) || has_gaps() || poisoned_queries != 0u || has_large_queries;
  let all = keys_seen_by_all(task);
  fetch_keys(task, task.begin, 0u, t);
  for (var j0 = task.begin; j0 < task.end; j0 += i32(KEYS)) {
    flag_values(t);
    unroll (n < R * C) { s[n] = 0.0f; }
    unroll (once < KEYS_IN_CHUNKS) {
      for (var chunk = 0u; chunk < KEY_CHUNKS - 1u; chunk++) {
        place_keys(t);
        workgroupBarrier();  // the chunk of keys is complete
        fetch_keys(task, j0, chunk + 1u, t);
        multiply(chunk);
        workgroupBarrier();  // it has been read
      }
    }
    place_keys(t);
    workgroupBarrier();  // the keys are complete
    fetch_values(task, j0, 0u, t);
    mark_poisoned_values();
    let keys = poisoned_keys();
    let is_whole = j0 >= all.begin && j0 + i32(KEYS) <= min(all.end, task.end) with formula { && formulas_rest(j0, j0 + i32(KEYS)) };
    let short = !CAREFUL || (!rules && is_whole && !is_flag(p_tile[0][2][0].z));
    multiply(KEY_CHUNKS - 1u);
    unroll (n < R * C) { s[n] *= params.score_scale; }
    workgroupBarrier();  // the keys and flags have been read
    if (short) {
      seen = (1u << (R * C - 1u)) * 2u - 1u;
      seen_rows = (1u << R) - 1u;
    } else {
      apply_rules(task, j0, keys);
    }
    raise();
    lower();
    if (short) { weigh(); } else { weigh_seen(); }
    keep_scores();
    unroll (once < VALUES_IN_CHUNKS) {
      for (var chunk = 0u; chunk < VALUE_CHUNKS - 1u; chunk++) {
        place_values(chunk, t);
        workgroupBarrier();  // the weights and the chunk of values are complete
        fetch_values(task, j0, chunk + 1u, t);
        accumulate(chunk);
        workgroupBarrier();  // the values have been read
      }
    }
    place_values(VALUE_CHUNKS - 1u, t);
    workgroupBarrier();  // the weights and values are complete
    with formula { j0 = skipped(task, ROWS, KEYS, j0); }
    if (j0 + i32(KEYS) < task.end) { fetch_keys(task, j0 + i32(KEYS), 0u, t); }
    accumulate(VALUE_CHUNKS - 1u);
    workgroupBarrier();  // the weights and values have been read
  }
  flag_values(t);
  workgroupBarrier();  // the flags are complete
  mark_poisoned_values();
  workgroupBarrier();  // the flags have been read

  close_rows(task);
  write_rows(task, t);
}
