// The results of rows whose weights are given: output = headGain * sum of weight * value, and entropy. A key with weight
// 0 has no effect, also if its value is NaN. One workgroup computes one row of one head: groups of invocations share the
// keys, and a group has one invocation for each vec4 of columns. An invocation sums BLOCK keys at a time, so that the error
// of the sum grows slowly.

@group(0) @binding(9) var<storage, read> weights: array<u32>;  // floats as bits, [B, chosen_heads, chosen_queries, Skv]

const BLOCK = 16u;

var<workgroup> columns_of: array<vec4<f32>, THREADS>;
var<workgroup> spoiled: array<u32, THREADS>;  // whether a number is not finite

struct Weighed {
  sum: vec4<f32>,
  spoiled: bool,
}

/// The sum over every `step`-th key from `begin` to before `end`.
fn weighed(row_weights: u32, values: u32, seam: i32, c4: u32, begin: i32, end: i32, step: i32) -> Weighed {
  var w = Weighed(vec4<f32>(), false);
  for (var first = begin; first < end; first += i32(BLOCK) * step) {
    var block = vec4<f32>();
    for (var j = first; j < min(first + i32(BLOCK) * step, end); j += step) {
      let bits = weights[row_weights + u32(j)];
      if ((bits & 0x7fffffffu) == 0u) { continue; }
      let row = values + place_of(j, seam) * params.value_position;
      let raw = value_four(row, c4);
      let scale = value_scale(row, c4);
      w.spoiled = w.spoiled || not_finite(bits) || any_not_finite(raw, scale);
      block += bitcast<f32>(select(bits, 0u, not_finite(bits))) * vec4<f32>(finite_part(raw, scale));
    }
    w.sum += block;
  }
  return w;
}

fn store_row(at: u32, c4: u32, gain: f32, sum: vec4<f32>, is_spoiled: bool) {
  var o = select(bitcast<vec4<u32>>(gain * sum), vec4<u32>(NOT_A_NUMBER), is_spoiled);
  if (gain == 0.0f) { o = vec4<u32>(0u); }
  for (var c = 0u; c < 4u; c++) {
    let d = 4u * c4 + c;
    if (d < params.value_dim) { output[at + d * params.output_feature] = o[c]; }
  }
}

/// What the weights of every THREADS-th key add to the entropy.
fn entropy_of(row_weights: u32, t: u32, begin: i32, end: i32) -> Weighed {
  var e = Weighed(vec4<f32>(), false);
  for (var j = begin + i32(t); j < end; j += i32(THREADS)) {
    let bits = weights[row_weights + u32(j)];
    if ((bits & 0x7fffffffu) == 0u) { continue; }
    let is_number = !not_finite(bits) && (bits >> 31u) == 0u;  // a negative number has no logarithm
    e.spoiled = e.spoiled || !is_number;
    let w = bitcast<f32>(select(0x3f800000u, bits, is_number));
    e.sum.x -= w * log(w);
  }
  return e;
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) id: vec3<u32>, @builtin(local_invocation_index) t: u32) {
  let work = workgroup_index(id);
  if (work >= params.workgroups) { return; }
  let n = work % params.chosen_heads;
  let head = tables[params.chosen_at + n];
  let entry = params.chosen_at + params.chosen_heads + 3u * (work / params.chosen_heads);
  let batch = tables[entry];
  let packed = tables[entry + 2u];
  let row_weights = ((batch * params.chosen_heads + n) * params.chosen_queries + tables[entry + 1u]) * params.key_length;
  let sequence = sequence_at(sequence_of(batch, packed));
  let begin = sequence.key_begin;
  let end = sequence.key_begin + sequence.num_keys;

  if (has(ENTROPIES)) {
    let e = entropy_of(row_weights, t, begin, end);
    columns_of[t] = e.sum;
    spoiled[t] = select(0u, 1u, e.spoiled);
    for (var half = THREADS / 2u; half > 0u; half /= 2u) {
      workgroupBarrier();  // the parts of all invocations are there
      if (t < half) {
        columns_of[t] += columns_of[t + half];
        spoiled[t] |= spoiled[t + half];
      }
    }
    if (t == 0u) {
      let index = (batch * params.num_heads + head) * params.query_length + packed;
      rows[ENTROPY * params.row_stride + index] = select(bitcast<u32>(columns_of[0].x), NOT_A_NUMBER, spoiled[0] != 0u);
    }
    workgroupBarrier();  // the entropy has been read
  }
  if (!has(OUTPUT)) { return; }

  let columns = min(params.value4, THREADS);
  let group = t / columns;
  let groups = THREADS / columns;
  let values = batch * params.value_batch + head / params.group_size * params.value_head;
  let row_output = batch * params.output_batch + head * params.output_head + packed * params.output_position;
  for (var first = 0u; first < params.value4; first += columns) {
    let c4 = first + t % columns;
    let has_work = group < groups && c4 < params.value4;
    var w = Weighed(vec4<f32>(), false);
    if (has_work) { w = weighed(row_weights, values, sequence.seam, c4, begin + i32(group), end, i32(groups)); }
    columns_of[t] = w.sum;
    spoiled[t] = select(0u, 1u, w.spoiled);
    workgroupBarrier();  // the sums of all groups are there
    if (group == 0u && has_work) {
      for (var g = 1u; g < groups; g++) {
        w.sum += columns_of[g * columns + t];
        w.spoiled = w.spoiled || spoiled[g * columns + t] != 0u;
      }
      store_row(row_output, c4, gain_of(head), w.sum, w.spoiled);
    }
    workgroupBarrier();  // the sums have been read
  }
}
