// Which weights dropout drops: the same as on the CPU. Philox4x32-10 (Salmon et al. 2011) has a key, the seed, and a counter
// of the indices of four neighbouring keys, query row, head and sequence.

fn philox(first: vec4<u32>) -> vec4<u32> {
  var counter = first;
  var seed = vec2<u32>(params.dropout_seed, params.dropout_seed_high);
  for (var n = 0; n < 10; n++) {
    counter = vec4<u32>(high_product(0xCD9E8D57u, counter.z) ^ counter.y ^ seed.x, 0xCD9E8D57u * counter.z,
                        high_product(0xD2511F53u, counter.x) ^ counter.w ^ seed.y, 0xD2511F53u * counter.x);
    seed += vec2<u32>(0x9E3779B9u, 0xBB67AE85u);
  }
  return counter;
}

/// What dropout multiplies the weight of key row j by: 0, or 1 / (1 - rate).
fn kept(row: Row, j: i32) -> f32 {
  let key_row = u32(j - row.first_key);
  let words = philox(vec4<u32>(key_row / 4u, row.own_row, row.head, row.sequence));
  return select(params.dropout_factor, 0.0f, words[key_row % 4u] < params.dropout_least);
}
