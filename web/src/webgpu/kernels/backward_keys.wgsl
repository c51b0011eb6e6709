// dK and dV. Each workgroup computes KV_TILE keys of a key head, W * THREADS_X vec4 columns of both, and reads the rows of
// all heads of the group in order. So nothing is added up by several workgroups.

@group(0) @binding(9) var<storage, read> row_words: array<vec4<u32>>;

var<private> d_key: array<vec4<f32>, 4 * G * W>;    // [key of the invocation][column]
var<private> d_value: array<vec4<f32>, 4 * G * W>;
var<private> poisoned_keys: u32;                    // bit c: dK of key 4x + c; bit 4 + c: its dV

/// Turns products into p (times the head's gain) and ds.
fn grade(j0: i32, t: u32) {
  if (are_plain(j0, t)) {
    unroll (r < R) {
      let numbers = row_numbers[t / THREADS_X % THREADS_Y * R + r];
      let at = own_place(t, r);
      let p = weights_of(p_tile[at], numbers);
      p_tile[at] = numbers.gain * p;
      ds_tile[at] = params.score_scale * p * (numbers.gain * ds_tile[at] - numbers.delta);
    }
    return;
  }
  for (var r = 0u; r < R; r++) {
    let n = t / THREADS_X % THREADS_Y * R + r;
    let at = own_place(t, r);
    var p = p_tile[at];
    var ds = ds_tile[at];
    for (var c = 0u; c < 4u; c++) {
      let pair = pair_of(n, j0, 4u * (t % THREADS_X) + c, p[c], ds[c]);
      p[c] = row_numbers[n].gain * pair.p;
      ds[c] = pair.ds;
      poisoned_keys |= select(0u, 1u << c, pair.poisoned) | select(0u, 16u << c, pair.lost && row_numbers[n].gain != 0.0f);
    }
    p_tile[at] = p;
    ds_tile[at] = ds;
  }
}

/// Whether some row of the tile sees some key of the task by position and formula.
fn is_seen(task: Task) -> bool {
  let last_row = min(task.first_row + Q_TILE, task.num_rows) - 1u;
  let last_i = min(i32(query_of(last_row)), task.sequence.query_length - 1);
  var begin = max(keys_seen_by(i32(query_of(task.first_row)), task.sequence).begin, task.begin);
  var end = min(keys_seen_by(last_i, task.sequence).end, task.end);
  with formula {
    let keys = formula_keys(formula_tile(task, Q_TILE, 0, 1), task.sequence).some;
    begin = max(begin, task.sequence.key_begin + keys.begin);
    end = min(end, task.sequence.key_begin + keys.end);
  }
  if (begin >= end) { return false; }
  with formula {
    let rest = rest_over(formula_tile(task, Q_TILE, task.begin, task.end));
    tile_rest = rest;
    if (rest == NEVER) { return false; }
  }
  return true;
}

/// The task of a key tile. The first keys come first: most rows see them if the call is causal.
fn task_of_keys(index: u32) -> Task {
  var task: Task;
  var work = index;
  task.column = work % params.value_blocks * (W * THREADS_X);
  work /= params.value_blocks;
  task.group = work % params.num_kv_heads;
  work /= params.num_kv_heads;
  let number = work % params.num_sequences;
  let sequence = sequence_at(number);
  task.sequence = sequence;
  with formula { task.number = number; }
  task.num_rows = sequence.num_queries * params.group_size;
  task.begin = sequence.key_begin + i32(work / params.num_sequences * KV_TILE);
  task.end = min(task.begin + i32(KV_TILE), sequence.key_begin + sequence.num_keys);
  task.query_base = sequence.batch * params.query_batch + task.group * params.group_size * params.query_head;
  task.key_base = sequence.batch * params.key_batch + task.group * params.key_head;
  task.value_base = sequence.batch * params.value_batch + task.group * params.value_head;
  return task;
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) id: vec3<u32>, @builtin(local_invocation_index) t: u32) {
  let work = workgroup_index(id);
  if (work >= params.workgroups) { return; }
  var task = task_of_keys(work);
  if (task.begin >= task.end) { return; }
  let j0 = task.begin;
  let x = t % THREADS_X;
  let y = t / THREADS_X % THREADS_Y;
  load_key_marks(task, j0, t);
  unroll (n < 4 * G * W) {
    d_key[n] = vec4<f32>();
    d_value[n] = vec4<f32>();
  }

  for (var first = 0u; first < task.num_rows; first += Q_TILE) {
    task.first_row = first;
    if (!is_seen(task)) { continue; }
    workgroupBarrier();  // row_tile and the tiles have been read
    for (var r = t; r < Q_TILE; r += THREADS) { load_row(task, r); }
    multiply_pairs(task, j0, t);
    grade(j0, t);
    if (wants(WANTS_VALUE)) {
      workgroupBarrier();  // p_tile and ds_tile are complete, the tile has been read
      for (var n = t; n < Q_TILE * W * THREADS_X; n += THREADS) {
        tile[n] = gradient_four(n / (W * THREADS_X), task.column + n % (W * THREADS_X));
      }
      workgroupBarrier();  // the block is complete
      for (var r = 0u; r < Q_TILE; r++) {
        unroll (w < W) {
          let row = tile[r * (W * THREADS_X) + w * THREADS_X + x];
          unroll (g < G) {
            let p = p_tile[(g * THREADS_Y + y) * Q_TILE + r];
            d_value[4 * g * W + w] += p.x * row;
            d_value[(4 * g + 1) * W + w] += p.y * row;
            d_value[(4 * g + 2) * W + w] += p.z * row;
            d_value[(4 * g + 3) * W + w] += p.w * row;
          }
        }
      }
    }
    if (wants(WANTS_KEY)) {
      workgroupBarrier();  // p_tile and ds_tile are complete, the tile has been read
      for (var n = t; n < Q_TILE * W * THREADS_X; n += THREADS) {
        tile[n] = query_four(n / (W * THREADS_X), task.column + n % (W * THREADS_X));
      }
      workgroupBarrier();  // the block is complete
      for (var r = 0u; r < Q_TILE; r++) {
        unroll (w < W) {
          let row = tile[r * (W * THREADS_X) + w * THREADS_X + x];
          unroll (g < G) {
            let ds = ds_tile[(g * THREADS_Y + y) * Q_TILE + r];
            d_key[4 * g * W + w] += ds.x * row;
            d_key[(4 * g + 1) * W + w] += ds.y * row;
            d_key[(4 * g + 2) * W + w] += ds.z * row;
            d_key[(4 * g + 3) * W + w] += ds.w * row;
          }
        }
      }
    }
  }

  workgroupBarrier();  // p_tile and ds_tile have been read
  ds_tile[x * THREADS_Y + y] = vec4<f32>((vec4<u32>(poisoned_keys) >> vec4<u32>(0u, 1u, 2u, 3u)) & vec4<u32>(1u));
  p_tile[x * THREADS_Y + y] = vec4<f32>((vec4<u32>(poisoned_keys) >> vec4<u32>(4u, 5u, 6u, 7u)) & vec4<u32>(1u));
  workgroupBarrier();  // they have which keys are poisoned
  unroll (n < 4 * G) {
    let jj = (n / 4 * THREADS_Y + y) * 4u + n % 4;
    let j = u32(j0 + i32(jj));
    if (i32(j) < task.end) {
      var poisons = vec2<f32>();  // of dK and dV
      for (var its = 0u; its < THREADS_Y; its++) {
        let at = jj / 4u * THREADS_Y + its;
        poisons += vec2<f32>(ds_tile[at][jj % 4u], p_tile[at][jj % 4u]);
      }
      unroll (w < W) {
        let c4 = task.column + w * THREADS_X + x;
        if (wants(WANTS_KEY)) {
          let row = targets.key.first + task.sequence.batch * targets.key.batch + task.group * targets.key.head + j * targets.key.position;
          store_four(row, targets.key.feature, c4, targets.depth, select(bitcast<vec4<u32>>(d_key[n * W + w]), vec4<u32>(NOT_A_NUMBER), poisons.x > 0.0f));
        }
        if (wants(WANTS_VALUE)) {
          let row = targets.value.first + task.sequence.batch * targets.value.batch + task.group * targets.value.head + j * targets.value.position;
          store_four(row, targets.value.feature, c4, params.value_dim, select(bitcast<vec4<u32>>(d_value[n * W + w]), vec4<u32>(NOT_A_NUMBER), poisons.y > 0.0f));
        }
      }
    }
  }
}
