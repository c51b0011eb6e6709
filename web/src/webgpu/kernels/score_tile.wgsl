// Raw scores of Q_TILE rows and KV_TILE keys: a matrix product in chunks of the head dim. Each of THREADS_X by
// THREADS_Y invocations computes a register tile of R rows by 4 * C4 keys.

var<workgroup> key_poison: array<atomic<u32>, KV_TILE>;  // by key
var<workgroup> q_tile: array<vec4<f32>, CHUNK4 * Q_TILE>;
var<workgroup> kv_tile: array<tile4, KV_CAPACITY>;

var<private> scores: array<vec4<f32>, R * C4>;  // [row][four keys]

/// The place of key `jj` of the tile in a row of kv_tile. Invocation x owns keys 4x … 4x + 3 (and so on, C4 times).
/// With this order neighbouring invocations read neighbouring vec4, so there is no bank conflict.
fn key_slot(jj: u32) -> u32 {
  let block = jj / (4u * THREADS_X);
  return block * 4u * THREADS_X + (jj % 4u) * THREADS_X + (jj / 4u) % THREADS_X;
}

fn load_q(chunk: u32, t: u32) {
  for (var n = t; n < CHUNK4 * Q_TILE; n += THREADS) {
    let d4 = n % CHUNK4;
    let r = n / CHUNK4;
    q_tile[d4 * Q_TILE + r] = scaled_query(r, chunk * CHUNK4 + d4);
  }
}

/// Loads a chunk of the keys. key is [B, Hkv, Skv, D / 4] by its strides; `base` is the offset of batch and head.
fn load_k(base: u32, j0: i32, last: i32, seam: i32, chunk: u32, t: u32) {
  for (var n = t; n < CHUNK4 * KV_TILE; n += THREADS) {
    let d4 = n % CHUNK4;
    let jj = n / CHUNK4;
    let at = chunk * CHUNK4 + d4;
    var x = tile4();
    if (at < params.depth4 && j0 + i32(jj) < last) {
      let row = base + place_of(j0 + i32(jj), seam) * params.key_position;
      let raw = key_four(row, at);
      let scale = key_scale(row, at);
      if (any_not_finite(raw, scale)) { atomicStore(&key_poison[jj], 1u); }
      x = key_numbers(raw, scale, row, at);
    }
    kv_tile[d4 * KV_TILE + key_slot(jj)] = x;
  }
}

/// scores = the rows of row_tile times the keys [j0, j0 + KV_TILE), times score_scale. Keys from `last` on are zeros.
fn score_tile(base: u32, j0: i32, last: i32, seam: i32, t: u32) {
  let x = t % THREADS_X;
  let y = t / THREADS_X;
  for (var n = 0u; n < R * C4; n++) { scores[n] = vec4<f32>(); }
  for (var jj = t; jj < KV_TILE; jj += THREADS) { atomicStore(&key_poison[jj], 0u); }
  let chunks = (params.depth4 + CHUNK4 - 1u) / CHUNK4;
  for (var chunk = 0u; chunk < chunks; chunk++) {
    workgroupBarrier();  // the tiles of the chunk before have been read, key_poison is clear
    load_q(chunk, t);
    load_k(base, j0, last, seam, chunk, t);
    workgroupBarrier();  // both tiles are complete
    let steps = min(CHUNK4, params.depth4 - chunk * CHUNK4);
    for (var d4 = 0u; d4 < steps; d4++) {
      var k: array<vec4<f32>, 4 * C4>;
      for (var c = 0u; c < 4u * C4; c++) { k[c] = vec4<f32>(kv_tile[d4 * KV_TILE + c * THREADS_X + x]); }
      for (var r = 0u; r < R; r++) {
        let q = q_tile[d4 * Q_TILE + y * R + r];
        for (var c4 = 0u; c4 < C4; c4++) {
          scores[r * C4 + c4] += vec4<f32>(dot(q, k[4u * c4]), dot(q, k[4u * c4 + 1u]), dot(q, k[4u * c4 + 2u]),
                                           dot(q, k[4u * c4 + 3u]));
        }
      }
    }
  }
  for (var n = 0u; n < R * C4; n++) { scores[n] *= params.score_scale; }
}

/// The number within the tile of the key of component c of scores[… * C4 + c4].
fn key_of(x: u32, c4: u32, c: u32) -> u32 { return (c4 * THREADS_X + x) * 4u + c; }
