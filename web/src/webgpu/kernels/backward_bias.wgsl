// dBias. A workgroup computes a tile of the bias, Q_TILE rows by KV_TILE keys of one head, and goes through everything
// along which the bias repeats: batches, heads, tiles of rows and of keys. If there are several parts, each goes through a
// range of that, and sum_parts.wgsl adds them.

struct Repeats {
  // tiles of the bias, and how often each repeats
  batches: u32,
  heads: u32,
  row_tiles: u32,
  key_tiles: u32,
  times_heads: u32,
  times_row_tiles: u32,
  times_key_tiles: u32,
  times: u32,           // of all together
  times_per_part: u32,
  parts: u32,
  part_stride: u32,     // elements from one part's bias to the next
  rows_repeat: u32,     // whether the bias has one row, one key
  keys_repeat: u32,
  grid_width: u32,
}

@group(0) @binding(9) var<storage, read> row_words: array<vec4<u32>>;
@group(0) @binding(11) var<uniform> repeats: Repeats;

var<private> sums: array<vec4<f32>, R>;
var<private> tainted: u32;  // bit 4r + c

/// Turns products into ds.
fn grade(j0: i32, t: u32) {
  for (var r = 0u; r < R; r++) {
    let n = t / THREADS_X % THREADS_Y * R + r;
    let at = own_place(t, r);
    let raw = p_tile[at];
    var ds = ds_tile[at];
    for (var c = 0u; c < 4u; c++) {
      let pair = pair_of(n, j0, 4u * (t % THREADS_X) + c, raw[c], ds[c]);
      ds[c] = pair.by_bias;
      tainted |= select(0u, 1u << (4u * r + c), pair.poisoned);
    }
    ds_tile[at] = ds;
  }
}

/// Loads packed query `packed` of a head as row r of the tile.
fn load_packed(batch: u32, head: u32, packed: u32, r: u32) {
  let number = sequence_of(batch, min(packed, params.query_length - 1u));
  let sequence = sequence_at(number);
  var row = make_row(sequence, head, packed - sequence.query_begin);
  with formula { row = with_formulas(row, sequence, number, packed - sequence.query_begin); }
  if (packed >= params.query_length) { row.end = row.begin - 1; }
  keep_row(row, r);
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) id: vec3<u32>, @builtin(local_invocation_index) t: u32) {
  var work = workgroup_index(id);
  if (work >= params.workgroups) { return; }
  let part = work % repeats.parts;
  work /= repeats.parts;
  let own_key_tile = work % repeats.key_tiles;
  work /= repeats.key_tiles;
  let own_row_tile = work % repeats.row_tiles;
  work /= repeats.row_tiles;
  let own_head = work % repeats.heads;
  let own_batch = work / repeats.heads;
  unroll (r < R) { sums[r] = vec4<f32>(); }

  let end = min(repeats.times, (part + 1u) * repeats.times_per_part);
  for (var time = part * repeats.times_per_part; time < end; time++) {
    var rest = time;
    let j0 = i32((own_key_tile + rest % repeats.times_key_tiles) * KV_TILE);
    rest /= repeats.times_key_tiles;
    let first = (own_row_tile + rest % repeats.times_row_tiles) * Q_TILE;
    rest /= repeats.times_row_tiles;
    let head = own_head + rest % repeats.times_heads;
    let batch = own_batch + rest / repeats.times_heads;
    var task: Task;
    task.begin = j0;
    task.end = i32(params.key_length);
    task.key_base = batch * params.key_batch + head / params.group_size * params.key_head;
    task.value_base = batch * params.value_batch + head / params.group_size * params.value_head;
    // Sequences follow each other, so the first row and the last row limit the keys of all.
    let above = sequence_at(sequence_of(batch, first));
    let below = sequence_at(sequence_of(batch, min(first + Q_TILE, params.query_length) - 1u));
    let is_one = above.query_begin == below.query_begin;
    let begins = select(above.key_begin, keys_seen_by(i32(first - above.query_begin), above).begin, is_one);
    let last_i = min(i32(first + Q_TILE - 1u - above.query_begin), above.query_length - 1);
    let ends = select(below.key_begin + below.key_length, keys_seen_by(last_i, above).end, is_one);
    if (begins >= j0 + i32(KV_TILE) || ends <= j0) { continue; }
    workgroupBarrier();  // the rows, key_marks and the tiles have been read
    for (var r = t; r < Q_TILE; r += THREADS) { load_packed(batch, head, first + r, r); }
    load_key_marks(task, j0, t);
    multiply_pairs(task, j0, t);
    grade(j0, t);
    unroll (r < R) { sums[r] += ds_tile[own_place(t, r)]; }
  }

  workgroupBarrier();  // the tiles have been read
  unroll (r < R) {
    p_tile[own_place(t, r)] = sums[r];
    let bits = (vec4<u32>(tainted) >> vec4<u32>(4 * r, 4 * r + 1, 4 * r + 2, 4 * r + 3)) & vec4<u32>(1u);
    ds_tile[own_place(t, r)] = vec4<f32>(bits);
  }
  workgroupBarrier();  // sums and taints are complete
  let rows_of_sum = select(1u, Q_TILE, repeats.rows_repeat != 0u);
  let keys_of_sum = select(1u, KV_TILE, repeats.keys_repeat != 0u);
  for (var n = t; n < Q_TILE * KV_TILE / (rows_of_sum * keys_of_sum); n += THREADS) {
    let jj = n % (KV_TILE / keys_of_sum);
    let r = n / (KV_TILE / keys_of_sum);
    let i = own_row_tile * Q_TILE + r;
    let j = own_key_tile * KV_TILE + jj;
    let is_row = repeats.rows_repeat != 0u || i < params.query_length;
    let is_key = repeats.keys_repeat != 0u || j < params.key_length;
    if (!is_row || !is_key) { continue; }
    var sum = 0.0f;
    var taints = 0.0f;
    for (var its_row = r; its_row < r + rows_of_sum; its_row++) {
      for (var its_key = jj; its_key < jj + keys_of_sum; its_key++) {
        sum += p_tile[its_key / 4u * Q_TILE + its_row][its_key % 4u];
        taints += ds_tile[its_key / 4u * Q_TILE + its_row][its_key % 4u];
      }
    }
    let at = own_batch * params.bias_batch + own_head * params.bias_head + i * params.bias_query + j * params.bias_key;
    gradient[part * repeats.part_stride + at] = select(bitcast<u32>(sum), NOT_A_NUMBER, taints > 0.0f);
  }
}
