// Merges the parts of the keys into which attention was split. One workgroup computes one row: its invocations first
// share the parts' statistics, then the columns of the output and the parts.

@group(0) @binding(9) var<storage, read> part_rows: array<vec4<u32>>;     // [part][row]: maximum, sum, weighted, flags
@group(0) @binding(10) var<storage, read> part_outputs: array<vec4<f32>>; // [part][row][Dv / 4]

var<workgroup> united_by: array<Statistics, THREADS>;
var<workgroup> columns_of: array<vec4<f32>, THREADS>;

fn part_statistics(part: u32, index: u32) -> Statistics {
  let bits = part_rows[part * params.num_rows + index];
  return Statistics(bitcast<f32>(bits.x), bitcast<f32>(bits.y), bitcast<f32>(bits.z), bits.w);
}

/// The statistics of the whole row.
fn unite(index: u32, t: u32) -> Statistics {
  var own = nothing_seen();
  for (var part = t; part < params.key_parts; part += THREADS) { own = united(own, part_statistics(part, index)); }
  united_by[t] = own;
  for (var half = THREADS / 2u; half > 0u; half /= 2u) {
    workgroupBarrier();  // united_by is complete
    if (t < half) { united_by[t] = united(united_by[t], united_by[t + half]); }
  }
  workgroupBarrier();  // united_by[0] is complete
  return united_by[0];
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) id: vec3<u32>, @builtin(local_invocation_index) t: u32) {
  let index = workgroup_index(id);
  if (index >= params.num_rows) { return; }
  let packed = index % params.query_length;
  let head = (index / params.query_length) % params.num_heads;
  let sequence = sequence_at(sequence_of(index / params.query_length / params.num_heads, packed));
  let all = unite(index, t);
  let finished = finish_row(head, index, sequence.key_length, all, t == 0u);
  if (!has(OUTPUT)) { return; }
  let columns = min(params.value4, THREADS);
  let group = t / columns;
  let groups = THREADS / columns;
  for (var first = 0u; first < params.value4; first += columns) {
    let c4 = first + t % columns;
    var o = vec4<f32>();
    if (group < groups && c4 < params.value4) {
      for (var part = group; part < params.key_parts; part += groups) {
        o += exp_below(part_statistics(part, index).maximum, all.maximum) *
             part_outputs[(part * params.num_rows + index) * params.value4 + c4];
      }
    }
    columns_of[t] = o;
    workgroupBarrier();  // columns_of is complete
    if (group == 0u && c4 < params.value4) {
      for (var g = 1u; g < groups; g++) { o += columns_of[g * columns + t]; }
      store_o(sequence, head, packed - sequence.query_begin, c4, o, finished);
    }
    workgroupBarrier();  // columns_of has been read
  }
}
