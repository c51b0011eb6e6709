// A tile of Q_TILE rows and KV_TILE keys of a backward call: p and ds of every pair. An invocation has R rows by 4 keys.
// First the products q . k and do . v go into p_tile and ds_tile; then the rules of the call turn them into p and ds.
// Queries (times query_scale), keys and values come from clean_rows.wgsl, dO from backward_rows.wgsl. The marks of keys and
// values begin at params.key_scales and value_scales. A head of gain 0 has no gradient of scores but that of its lse, so values
// and dO do not count there, also if they are not finite.

const ROW_STEP = Q_TILE + 1u;    // of the vec4 of a chunk's rows; so neighbours write to different banks
const KEY_STEP = KV_TILE + 1u;
const KEYS_AT = CHUNK4 * ROW_STEP;
const NO_ROW = 0xffffffffu;

/// What a pair needs of a row besides `Row`.
struct RowNumbers {
  lse: f32,
  lse_rest: f32,  // added to lse; 0 unless lse is far from 0
  delta: f32,
  gain: f32,
  marks: vec2<f32>,  // above 0 if not finite: what its scores and lse come from, and what do . v and delta do
  query: u32,     // its first vec4 in `query`, and that of its dO; NO_ROW if there is no such row
  gradient: u32,
}

var<workgroup> tile: array<vec4<f32>, TILE4>;  // a chunk of rows and keys, or a block of rows or of keys
var<workgroup> p_tile: array<vec4<f32>, Q_TILE * KV_TILE / 4>;   // [four keys][row]
var<workgroup> ds_tile: array<vec4<f32>, Q_TILE * KV_TILE / 4>;
var<workgroup> row_tile: array<Row, Q_TILE>;
var<workgroup> row_numbers: array<RowNumbers, Q_TILE>;
var<workgroup> key_marks: array<vec2<f32>, KV_TILE>;  // above 0 if not finite: the key, its value

var<private> products: array<vec4<f32>, R>;  // [row], of four keys

/// Keeps a row as row r of the tile. The caller waits for it.
fn keep_row(row: Row, r: u32) {
  row_tile[r] = row;
  if (row.begin > row.end) {
    row_numbers[r] = RowNumbers(0.0f, 0.0f, 0.0f, 0.0f, vec2<f32>(), NO_ROW, NO_ROW);
    return;
  }
  let words = row_words[2u * row.index];
  var marks = vec2<f32>(vec2<u32>(words.z & 1u, words.z >> 1u));
  marks.x += bitcast<f32>(query[params.num_rows * params.depth4 + row.index].x);
  row_numbers[r] = RowNumbers(bitcast<f32>(words.x), bitcast<f32>(words.w), bitcast<f32>(words.y), gain_of(row.head), marks,
                              row.query, 2u * params.num_rows + row.index * params.value4);
}

fn load_row(task: Task, r: u32) { keep_row(row_of(task, task.first_row + r), r); }

fn key_at(task: Task, j: i32) -> u32 { return task.key_base + u32(j) * params.key_position; }
fn value_at(task: Task, j: i32) -> u32 { return task.value_base + u32(j) * params.value_position; }

fn load_key_marks(task: Task, j0: i32, t: u32) {
  for (var jj = t; jj < KV_TILE; jj += THREADS) {
    let j = min(j0 + i32(jj), task.end - 1);
    key_marks[jj] = vec2<f32>(bitcast<f32>(key[params.key_scales + key_at(task, j) / params.key_position].x),
                              bitcast<f32>(value[params.value_scales + value_at(task, j) / params.value_position].x));
  }
}

// Four numbers of row r or key jj of the tile: of a query, dO, a key or a value.

fn query_four(r: u32, c4: u32) -> vec4<f32> {
  let at = row_numbers[r].query;
  if (at == NO_ROW || c4 >= params.depth4) { return vec4<f32>(); }
  return bitcast<vec4<f32>>(query[at + c4]);
}
fn gradient_four(r: u32, c4: u32) -> vec4<f32> {
  let at = row_numbers[r].gradient;
  if (at == NO_ROW || c4 >= params.value4) { return vec4<f32>(); }
  return bitcast<vec4<f32>>(row_words[at + c4]);
}
fn tile_key_four(task: Task, j: i32, c4: u32) -> vec4<f32> {
  if (j >= task.end || c4 >= params.depth4) { return vec4<f32>(); }
  return bitcast<vec4<f32>>(key[key_at(task, j) + c4]);
}
fn tile_value_four(task: Task, j: i32, c4: u32) -> vec4<f32> {
  if (j >= task.end || c4 >= params.value4) { return vec4<f32>(); }
  return bitcast<vec4<f32>>(value[value_at(task, j) + c4]);
}

/// The place of key jj in a chunk. Invocation x owns keys 4x … 4x + 3; with this order neighbours read neighbours.
fn key_slot(jj: u32) -> u32 { return (jj % 4u) * THREADS_X + jj / 4u; }

fn load_scores_chunk(task: Task, j0: i32, chunk: u32, t: u32) {
  let d4 = t % CHUNK4;
  let c4 = chunk * CHUNK4 + d4;
  for (var r = t / CHUNK4; r < Q_TILE; r += THREADS / CHUNK4) { tile[d4 * ROW_STEP + r] = query_four(r, c4); }
  for (var jj = t / CHUNK4; jj < KV_TILE; jj += THREADS / CHUNK4) {
    tile[KEYS_AT + d4 * KEY_STEP + key_slot(jj)] = tile_key_four(task, j0 + i32(jj), c4);
  }
}

fn load_gradients_chunk(task: Task, j0: i32, chunk: u32, t: u32) {
  let d4 = t % CHUNK4;
  let c4 = chunk * CHUNK4 + d4;
  for (var r = t / CHUNK4; r < Q_TILE; r += THREADS / CHUNK4) { tile[d4 * ROW_STEP + r] = gradient_four(r, c4); }
  for (var jj = t / CHUNK4; jj < KV_TILE; jj += THREADS / CHUNK4) {
    tile[KEYS_AT + d4 * KEY_STEP + key_slot(jj)] = tile_value_four(task, j0 + i32(jj), c4);
  }
}

/// Adds the products of a chunk.
fn multiply(t: u32) {
  let x = t % THREADS_X;
  let y = t / THREADS_X % THREADS_Y;
  for (var d4 = 0u; d4 < CHUNK4; d4++) {
    let first = KEYS_AT + d4 * KEY_STEP + x;
    let k0 = tile[first];
    let k1 = tile[first + THREADS_X];
    let k2 = tile[first + 2u * THREADS_X];
    let k3 = tile[first + 3u * THREADS_X];
    unroll (r < R) {
      let q = tile[d4 * ROW_STEP + y * R + r];
      products[r] += q.x * vec4<f32>(k0.x, k1.x, k2.x, k3.x);
      products[r] += q.y * vec4<f32>(k0.y, k1.y, k2.y, k3.y);
      products[r] += q.z * vec4<f32>(k0.z, k1.z, k2.z, k3.z);
      products[r] += q.w * vec4<f32>(k0.w, k1.w, k2.w, k3.w);
    }
  }
}

fn clear_products() {
  unroll (r < R) { products[r] = vec4<f32>(); }
}

/// Where an invocation keeps the pairs of its row r.
fn own_place(t: u32, r: u32) -> u32 { return t % THREADS_X * Q_TILE + t / THREADS_X % THREADS_Y * R + r; }

/// Computes the raw scores of all pairs. They lie where only this invocation reads them.
fn multiply_scores(task: Task, j0: i32, t: u32) {
  clear_products();
  for (var chunk = 0u; chunk * CHUNK4 < params.depth4; chunk++) {
    workgroupBarrier();  // the rows are complete, the tile before has been read
    load_scores_chunk(task, j0, chunk, t);
    workgroupBarrier();  // the chunk is complete
    multiply(t);
  }
  unroll (r < R) { p_tile[own_place(t, r)] = params.score_scale * products[r]; }
}

/// The same, and do . v.
fn multiply_pairs(task: Task, j0: i32, t: u32) {
  multiply_scores(task, j0, t);
  clear_products();
  for (var chunk = 0u; chunk * CHUNK4 < params.value4; chunk++) {
    workgroupBarrier();  // the chunk before has been read
    load_gradients_chunk(task, j0, chunk, t);
    workgroupBarrier();  // the chunk is complete
    multiply(t);
  }
  unroll (r < R) { ds_tile[own_place(t, r)] = products[r]; }
}

/// What a pair adds to gradients. All numbers are 0 if it is hidden or poisoned.
struct Pair {
  p: f32,         // with dropout
  gained: f32,    // p (do . v)
  by_score: f32,  // ds of the score before the softmax
  by_bias: f32,   // of the score before the formula
  ds: f32,        // of q . k, whose query is scaled
  visible: bool,
  poisoned: bool,  // ds is not finite
  lost: bool,      // p (do . v) is not finite
}

fn poisoned_pair(has_gradient: bool) -> Pair { return Pair(0.0f, 0.0f, 0.0f, 0.0f, 0.0f, true, has_gradient, true); }

/// p of a score. The score may be a little above lse.
fn weight_of(score: f32, row: RowNumbers) -> f32 { return weights_of(vec4<f32>(score), row).x; }

/// The score of row n of the tile and key jj. `raw` is the score before all rules. It is poisoned if the row or the key is
/// not finite.
fn pair_score(n: u32, j0: i32, jj: u32, raw: f32) -> Score {
  let marked = row_numbers[n].marks.x + key_marks[jj].x > 0.0f;
  var s = biased(row_tile[n], j0 + i32(jj), raw, marked);
  s.poisoned = s.poisoned || marked;
  return s;
}

/// The pair of row n of the tile with key jj. `raw` is the score before all rules, `product` is do . v.
fn pair_of(n: u32, j0: i32, jj: u32, raw: f32, product: f32) -> Pair {
  let row = row_tile[n];
  let numbers = row_numbers[n];
  let j = j0 + i32(jj);
  let s = pair_score(n, j0, jj, raw);
  if (!s.visible) { return Pair(); }
  let is_off = numbers.gain == 0.0f;
  let has_gradient = !is_off || numbers.delta != 0.0f;
  let lost = s.poisoned || numbers.marks.y + key_marks[jj].y > 0.0f;
  if (select(lost, s.poisoned, is_off)) { return poisoned_pair(has_gradient); }
  let score = comparable(s);
  let p = select(weight_of(score, numbers), 0.0f, score == LOWEST);
  with dropout { let keeps = kept(row, j); }
  let ds = p * (numbers.gain * product with dropout { * keeps } - numbers.delta);
  var pair = Pair(p with dropout { * keeps }, p * product with dropout { * keeps }, ds, ds, 0.0f, true, false, lost);
  with formula {
    if (has_gradient) { pair = differentiated(row, j, pair); }
  }
  pair.ds = pair.by_bias;
  if (!is_uncapped(raw)) {
    let share = tanh_exactly(raw / params.softcap);
    pair.ds *= 1.0f - share * share;
  }
  pair.ds *= params.score_scale;
  return pair;
}

/// Whether the call has no rule but positions, this invocation's rows see all of its keys, and all are finite. Then
/// p and ds follow from the products alone.
fn are_plain(j0: i32, t: u32) -> bool {
  if (OPTIONS || !PLAIN || has_gaps()) { return false; }
  let x = t % THREADS_X;
  let y = t / THREADS_X % THREADS_Y;
  let first = j0 + i32(4u * x);
  var marks = key_marks[4u * x] + key_marks[4u * x + 1u] + key_marks[4u * x + 2u] + key_marks[4u * x + 3u];
  var begin = first;
  var end = first + 4;
  unroll (r < R) {
    begin = max(begin, row_tile[y * R + r].begin);
    end = min(end, row_tile[y * R + r].end);
    marks += row_numbers[y * R + r].marks;
  }
  return begin == first && end == first + 4 && marks.x + marks.y == 0.0f;
}

/// p of four pairs, from their scores.
fn weights_of(scores: vec4<f32>, row: RowNumbers) -> vec4<f32> {
  let below = 0.5f * scores - 0.5f * row.lse;
  return exp(2.0f * clamp(below - 0.5f * row.lse_rest, vec4<f32>(-52.0f), vec4<f32>(40.0f)));
}
