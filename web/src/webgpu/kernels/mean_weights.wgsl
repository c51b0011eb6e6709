// The mean weight of rows: in place of each weight of a key that the row sees comes the mean of these weights. `output`
// holds words of inspect.wgsl, stage RANKED: 0 if the row does not see the key, else 1 + the bits of its probability.
// They become weights, [B, heads, rows, Skv]. One workgroup computes one row.

var<workgroup> sums: array<f32, THREADS>;
var<workgroup> seen: array<u32, THREADS>;     // number of keys
var<workgroup> spoiled: array<u32, THREADS>;  // whether a probability is NaN

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) id: vec3<u32>, @builtin(local_invocation_index) t: u32) {
  let work = workgroup_index(id);
  if (work >= params.workgroups) { return; }
  let packed = tables[params.chosen_at + params.chosen_heads + work % params.row_count];
  let head = tables[params.chosen_at + work / params.row_count % params.chosen_heads];
  let batch = work / params.row_count / params.chosen_heads;
  let base = work * params.key_length;

  for (var j = t; j < params.key_length; j += THREADS) {
    let word = output[base + j];
    let is_spoiled = word != 0u && not_finite(word - 1u);
    sums[t] += bitcast<f32>(select(word - 1u, 0u, word == 0u || is_spoiled));
    seen[t] += select(0u, 1u, word != 0u);
    spoiled[t] |= select(0u, 1u, is_spoiled);
  }
  for (var half = THREADS / 2u; half > 0u; half /= 2u) {
    workgroupBarrier();  // the sums of all invocations are there
    if (t < half) {
      sums[t] += sums[t + half];
      seen[t] += seen[t + half];
      spoiled[t] |= spoiled[t + half];
    }
  }
  workgroupBarrier();  // the sums of the row are there
  let mean = select(bitcast<u32>(sums[0] / f32(max(seen[0], 1u))), NOT_A_NUMBER, spoiled[0] != 0u);

  // A row without keys keeps its weights, which are NaN with EMPTY_NAN.
  let flags = rows[FLAGS * params.row_stride + (batch * params.num_heads + head) * params.query_length + packed];
  let all_nan = (flags & (SEEN | PADDING)) == 0u && params.empty_rows == EMPTY_NAN;
  let sequence = sequence_at(sequence_of(batch, packed));
  for (var j = t; j < params.key_length; j += THREADS) {
    let in_sequence = i32(j) >= sequence.key_begin && i32(j) < sequence.key_begin + sequence.num_keys;
    output[base + j] = select(select(0u, mean, output[base + j] != 0u), NOT_A_NUMBER, all_nan && in_sequence);
  }
}
