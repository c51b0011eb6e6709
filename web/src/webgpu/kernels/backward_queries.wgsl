// dQ, and what each row adds to the gradients of its head. Each workgroup computes Q_TILE rows of one key head (the heads
// of its group side by side), W * THREADS_X vec4 columns, and reads the keys that they see.

@group(0) @binding(9) var<storage, read_write> row_words: array<vec4<u32>>;

var<private> d_query: array<vec4<f32>, R * W>;  // [row][column]
var<private> gained: vec4<f32>;                 // by row: sum of p (do . v)
var<private> slid: vec4<f32>;                   // by row: sum of ds times distance
var<private> seen_rows: u32;                    // bit r
var<private> poisoned_rows: u32;
var<private> lost_rows: u32;

/// Turns products into ds, and adds up what the rows need.
fn grade(j0: i32, t: u32) {
  if (are_plain(j0, t)) {
    seen_rows = (1u << R) - 1u;
    unroll (r < R) {
      let numbers = row_numbers[t / THREADS_X % THREADS_Y * R + r];
      let at = own_place(t, r);
      let p = weights_of(p_tile[at], numbers);
      let product = ds_tile[at];
      gained[r] += dot(p, product);
      ds_tile[at] = params.score_scale * p * (numbers.gain * product - numbers.delta);
    }
    return;
  }
  for (var r = 0u; r < R; r++) {
    let n = t / THREADS_X % THREADS_Y * R + r;
    let at = own_place(t, r);
    let raw = p_tile[at];
    var ds = ds_tile[at];
    var sums = vec2<f32>();
    for (var c = 0u; c < 4u; c++) {
      let jj = 4u * (t % THREADS_X) + c;
      let pair = pair_of(n, j0, jj, raw[c], ds[c]);
      ds[c] = pair.ds;
      sums.x += pair.gained;
      if (has(ALIBI)) { sums.y += pair.by_bias * distance_to(row_tile[n], j0 + i32(jj)); }
      seen_rows |= select(0u, 1u << r, pair.visible);
      poisoned_rows |= select(0u, 1u << r, pair.poisoned);
      lost_rows |= select(0u, 1u << r, pair.lost);
    }
    ds_tile[at] = ds;
    gained[r] += sums.x;
    slid[r] += sums.y;
  }
}

/// Flags and sums of row n of the tile, from the invocations that share it.
fn closed_row(n: u32) -> vec4<u32> {
  var flags = 0u;
  var sums = vec2<f32>();
  for (var its = 0u; its < THREADS_X; its++) {
    let part = p_tile[its * Q_TILE + n];
    flags |= u32(part.x);
    sums += part.yz;
  }
  return vec4<u32>(flags, bitcast<vec2<u32>>(sums), 0u);
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) id: vec3<u32>, @builtin(local_invocation_index) t: u32) {
  let work = workgroup_index(id);
  if (work >= params.workgroups) { return; }
  let task = with formula { narrowed( } task_of(work, Q_TILE, W * THREADS_X) with formula { , Q_TILE, KV_TILE) };
  if (task.first_row >= task.num_rows) { return; }
  let x = t % THREADS_X;
  let y = t / THREADS_X % THREADS_Y;
  for (var r = t; r < Q_TILE; r += THREADS) { load_row(task, r); }
  unroll (n < R * W) { d_query[n] = vec4<f32>(); }

  for (var j0 = task.begin; j0 < task.end; j0 += i32(KV_TILE)) {
    workgroupBarrier();  // the rows are complete; ds_tile and key_marks have been read
    load_key_marks(task, j0, t);
    multiply_pairs(task, j0, t);
    grade(j0, t);
    if (wants(WANTS_QUERY)) {
      workgroupBarrier();  // ds_tile is complete, the tile has been read
      for (var n = t; n < KV_TILE * W * THREADS_X; n += THREADS) {
        tile[n] = tile_key_four(task, j0 + i32(n / (W * THREADS_X)), task.column + n % (W * THREADS_X));
      }
      workgroupBarrier();  // the block is complete
      for (var n = 0u; n < KV_TILE / 4u; n++) {
        let first = 4u * n * (W * THREADS_X) + x;
        unroll (w < W) {
          let k0 = tile[first + w * THREADS_X];
          let k1 = tile[first + (W + w) * THREADS_X];
          let k2 = tile[first + (2 * W + w) * THREADS_X];
          let k3 = tile[first + (3 * W + w) * THREADS_X];
          unroll (r < R) {
            let ds = ds_tile[n * Q_TILE + y * R + r];
            d_query[r * W + w] += ds.x * k0;
            d_query[r * W + w] += ds.y * k1;
            d_query[r * W + w] += ds.z * k2;
            d_query[r * W + w] += ds.w * k3;
          }
        }
      }
    }
    with formula { j0 = skipped(task, Q_TILE, KV_TILE, j0); }
  }

  workgroupBarrier();  // p_tile has been read
  unroll (r < R) {
    let flags = select(0u, SEEN, ((seen_rows >> r) & 1u) != 0u) | select(0u, POISONED, ((poisoned_rows >> r) & 1u) != 0u) |
                select(0u, LOST, ((lost_rows >> r) & 1u) != 0u);
    p_tile[own_place(t, r)] = vec4<f32>(f32(flags), gained[r], slid[r], 0.0f);
  }
  workgroupBarrier();  // flags and sums are complete
  unroll (r < R) {
    let row = task.first_row + y * R + r;
    if (row < task.num_rows) {
      let index = row_index(task, row);
      let is_padding = i32(query_of(row)) >= task.sequence.query_length;
      var closed = closed_row(y * R + r);
      closed.x |= select(0u, PADDING, is_padding);
      if (x == 0u && task.column == 0u) { row_words[2u * index + 1u] = closed; }
      if (wants(WANTS_QUERY)) {
        let is_empty = (closed.x & (SEEN | PADDING)) == 0u;
        let is_nan = (closed.x & POISONED) != 0u || (is_empty && params.empty_rows == EMPTY_NAN);
        let first = targets.query.first + task.sequence.batch * targets.query.batch + head_of(task, row) * targets.query.head +
                    (task.sequence.query_begin + query_of(row)) * targets.query.position;
        unroll (w < W) {
          let dq = bitcast<vec4<u32>>(params.query_scale * d_query[r * W + w]);
          store_four(first, targets.query.feature, task.column + w * THREADS_X + x, targets.depth, select(dq, vec4<u32>(NOT_A_NUMBER), is_nan));
        }
      }
    }
  }
}
