// Writes scores or probabilities of chosen heads and queries: [B, heads, queries, Skv]. Probabilities are computed
// again from the rows' maximum and sum, so the attention pass does not store them. Each workgroup computes a tile of
// Q_TILE by KV_TILE. A mean over heads is summed in registers.

const RAW = 0u;
const SOFTCAPPED = 1u;
const BIASED = 2u;
const PROBS = 3u;
const RANKED = 4u;  // probs as words with the same order: 0 if no head sees the key, else 1 + bits; NaN above all

var<private> total: array<vec4<f32>, R * C4>;
var<private> looked: array<u32, R>;    // visible in some head, one bit for each key
var<private> tainted: array<u32, R>;   // NaN in some head

fn chosen_head(n: u32) -> u32 { return tables[params.chosen_at + n]; }

/// The packed query of row m of this dispatch. Rows after the last one repeat it.
fn packed_query(m: u32) -> u32 {
  return tables[params.chosen_at + params.chosen_heads + params.first_row + min(m, params.row_count - 1u)];
}

struct Probability {
  p: f32,
  looked: bool,
  tainted: bool,
}

fn probability(row: Row, sequence: Sequence, j: i32, s: Score) -> Probability {
  let flags = rows[FLAGS * params.row_stride + row.index];
  if ((flags & SEEN) == 0u) {
    let in_length = j >= sequence.key_begin && j < sequence.key_begin + sequence.key_length;
    let follows = (flags & PADDING) == 0u && params.empty_rows != EMPTY_ZERO;
    let uniform = follows && params.empty_rows == EMPTY_UNIFORM && in_length;
    let in_sequence = j >= sequence.key_begin && j < sequence.key_begin + sequence.num_keys;
    return Probability(select(0.0f, 1.0f / f32(max(sequence.key_length, 1)), uniform), uniform,
                       follows && params.empty_rows == EMPTY_NAN && in_sequence);
  }
  let maximum = bitcast<f32>(rows[MAXIMUM * params.row_stride + row.index]);
  let sum = bitcast<f32>(rows[SUM * params.row_stride + row.index]);
  let score = comparable(s);
  let p = exp_below(min(score, maximum), maximum) / sum;
  return Probability(select(p, 0.0f, score == LOWEST) with dropout { * kept(row, j) }, s.visible, s.visible && (flags & POISONED) != 0u);
}

with formula {
/// Whether the query of row `r` or key `jj` of the tile is not finite. A formula may hide such a score.
fn is_poisoned(r: u32, jj: u32) -> bool {
  return atomicLoad(&query_poison[r]) != 0u || atomicLoad(&key_poison[jj]) != 0u;
}
}

fn add_probabilities(batch: u32, j0: i32, first: u32, x: u32, y: u32) {
  for (var r = 0u; r < R; r++) {
    let row = row_tile[y * R + r];
    let sequence = sequence_at(sequence_of(batch, packed_query(first + y * R + r)));
    for (var c4 = 0u; c4 < C4; c4++) {
      var sum = total[r * C4 + c4];
      for (var c = 0u; c < 4u; c++) {
        let j = j0 + i32(key_of(x, c4, c));
        let p = probability(row, sequence, j, biased(row, j, scores[r * C4 + c4][c], false with formula { || is_poisoned(y * R + r, key_of(x, c4, c)) }));
        sum[c] += p.p;
        looked[r] |= select(0u, 1u << (4u * c4 + c), p.looked);
        tainted[r] |= select(0u, 1u << (4u * c4 + c), p.tainted);
      }
      total[r * C4 + c4] = sum;
    }
  }
}

fn probability_word(r: u32, c4: u32, c: u32, share: f32) -> u32 {
  let bit = 1u << (4u * c4 + c);
  let p = bitcast<u32>(share * total[r * C4 + c4][c]);
  let is_nan = (tainted[r] & bit) != 0u;
  if (params.stage != RANKED) { return select(p, NOT_A_NUMBER, is_nan); }
  return select(0u, select(1u + p, 1u + NOT_A_NUMBER, is_nan), (looked[r] & bit) != 0u);
}

fn score_word(row: Row, sequence: Sequence, j: i32, raw: f32, poisoned: bool) -> u32 {
  if (params.stage == BIASED) {
    let s = biased(row, j, raw, poisoned);
    return select(MINUS_INFINITY, select(bitcast<u32>(s.score), NOT_A_NUMBER, s.poisoned), s.visible);
  }
  let in_sequence = j >= sequence.key_begin && j < sequence.key_begin + sequence.num_keys;
  let s = select(softcapped(raw), raw, params.stage == RAW);
  return select(0u, select(bitcast<u32>(s), NOT_A_NUMBER, poisoned), in_sequence);
}

fn load_rows(batch: u32, first: u32, head: u32, t: u32) {
  for (var r = t; r < Q_TILE; r += THREADS) {
    let packed = packed_query(first + r);
    let sequence = sequence_at(sequence_of(batch, packed));
    row_tile[r] = make_row(sequence, head, packed - sequence.query_begin);
    row_tile[r].query += params.kept_queries;
    with formula { row_tile[r] = with_formulas(row_tile[r], sequence, sequence_of(batch, packed), packed - sequence.query_begin); }
    atomicStore(&query_poison[r], 0u);
  }
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) id: vec3<u32>, @builtin(local_invocation_index) t: u32) {
  var work = workgroup_index(id);
  if (work >= params.workgroups) { return; }
  let key_tiles = (params.key_length + KV_TILE - 1u) / KV_TILE;
  let j0 = i32((work % key_tiles) * KV_TILE);
  if (u32(j0) + KV_TILE <= params.key_from || u32(j0) >= params.key_to) { return; }
  work /= key_tiles;
  let first = (work % params.row_tiles) * Q_TILE;
  work /= params.row_tiles;
  let out_heads = select(params.chosen_heads, 1u, has(AVERAGE));
  let chosen = work % out_heads;
  let batch = work / out_heads;
  let x = t % THREADS_X;
  let y = t / THREADS_X;

  for (var n = 0u; n < R * C4; n++) { total[n] = vec4<f32>(); }
  let heads = select(1u, params.chosen_heads, has(AVERAGE));
  for (var n = 0u; n < heads; n++) {
    let head = chosen_head(chosen + n);
    workgroupBarrier();  // the rows of the head before have been read
    load_rows(batch, first, head, t);
    workgroupBarrier();  // row_tile is complete
    let key_base = batch * params.key_batch + head / params.group_size * params.key_head;
    score_tile(key_base, j0, i32(params.key_length), sequence_at(batch).seam, t);
    if (params.stage >= PROBS) { add_probabilities(batch, j0, first, x, y); }
  }

  for (var r = 0u; r < R; r++) {
    let m = first + y * R + r;
    if (m >= params.row_count) { continue; }
    let row = row_tile[y * R + r];
    let own_poison = atomicLoad(&query_poison[y * R + r]) != 0u;
    let sequence = sequence_at(sequence_of(batch, packed_query(m)));
    let base = ((batch * out_heads + chosen) * params.row_count + m) * params.key_length;
    for (var c4 = 0u; c4 < C4; c4++) {
      for (var c = 0u; c < 4u; c++) {
        let jj = key_of(x, c4, c);
        let j = j0 + i32(jj);
        if (u32(j) < params.key_from || u32(j) >= params.key_to) { continue; }
        var word = probability_word(r, c4, c, 1.0f / f32(heads));
        if (params.stage < PROBS) {
          let poisoned = own_poison || atomicLoad(&key_poison[jj]) != 0u;
          word = score_word(row, sequence, j, scores[r * C4 + c4][c], poisoned);
        }
        output[base + u32(j)] = word;
      }
    }
  }
}
