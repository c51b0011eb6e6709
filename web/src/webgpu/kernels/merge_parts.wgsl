// Unites the parts of the keys that split attention computed, row by row: one invocation for each vec4 column.

@group(0) @binding(9) var<storage, read> part_rows: array<vec4<u32>>;     // [part][row]: maximum, sum, weighted, flags
@group(0) @binding(10) var<storage, read> part_outputs: array<vec4<f32>>; // [part][row][Dv / 4]

fn part_statistics(part: u32, index: u32) -> Statistics {
  let bits = part_rows[part * params.num_rows + index];
  return Statistics(bitcast<f32>(bits.x), bitcast<f32>(bits.y), bitcast<f32>(bits.z), bits.w);
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) id: vec3<u32>, @builtin(local_invocation_index) t: u32) {
  let n = workgroup_index(id) * THREADS + t;
  let index = n / params.value4;
  let c4 = n % params.value4;
  if (index >= params.num_rows) { return; }
  let packed = index % params.query_length;
  let head = (index / params.query_length) % params.num_heads;
  let batch = index / params.query_length / params.num_heads;
  let sequence = sequence_at(sequence_of(batch, packed));

  var all = nothing_seen();
  for (var part = 0u; part < params.key_parts; part++) { all = united(all, part_statistics(part, index)); }
  let finished = finish_row(head, index, sequence.key_length, all, c4 == 0u);
  if (!has(OUTPUT)) { return; }
  var o = vec4<f32>();
  for (var part = 0u; part < params.key_parts; part++) {
    o += exp_below(part_statistics(part, index).maximum, all.maximum) *
         part_outputs[(part * params.num_rows + index) * params.value4 + c4];
  }
  store_o(sequence, head, packed - sequence.query_begin, c4, o, finished);
}
