// Prepares the rows of a backward call: delta = dO . O - dLse and what else every kernel needs of a row, and dO packed to [B, Hq, Sq, Dv / 4] with 0 in
// place of numbers that are not finite. LANES invocations share a row.

struct Shape {
  // strides of output and dOutput in elements
  batch: u32,
  head: u32,
  position: u32,
  feature: u32,
  heads: u32,
  length: u32,
  width: u32,
  width4: u32,
  num_rows: u32,
  grid_width: u32,
}

@group(0) @binding(0) var<uniform> shape: Shape;
@group(0) @binding(1) var<storage, read> output: array<u32>;    // float32 or halves, as bits
@group(0) @binding(2) var<storage, read> d_output: array<u32>;
@group(0) @binding(3) var<storage, read> lse: array<u32>;
@group(0) @binding(5) var<storage, read> d_lse: array<u32>;     // like lse, if HAS_D_LSE
@group(0) @binding(4) var<storage, read_write> row_words: array<vec4<u32>>;  // see backward_call.wgsl

var<workgroup> part_of: array<vec2<f32>, THREADS>;  // of delta; 1 if some number of O or dO is not finite

fn wide_from(word: u32, at: u32) -> u32 { return wide_of((word >> (16u * (at % 2u))) & 0xffffu); }
fn output_bits(at: u32) -> u32 {
  if (HALF_OUTPUT) { return wide_from(output[at / 2u], at); }
  return output[at];
}
fn gradient_bits(at: u32) -> u32 {
  if (HALF_GRADIENT) { return wide_from(d_output[at / 2u], at); }
  return d_output[at];
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) id: vec3<u32>, @builtin(local_invocation_index) t: u32) {
  let row = (id.y * shape.grid_width + id.x) * (THREADS / LANES) + t / LANES;
  let lane = t % LANES;
  let i = row % shape.length;
  let h = row / shape.length % shape.heads;
  let b = row / shape.length / shape.heads;
  let base = b * shape.batch + h * shape.head + i * shape.position;
  var delta = 0.0f;
  var special = false;
  if (row < shape.num_rows) {
    for (var c4 = lane; c4 < shape.width4; c4 += LANES) {
      var kept = vec4<u32>();
      for (var c = 0u; c < 4u; c++) {
        let d = 4u * c4 + c;
        if (d >= shape.width) { continue; }
        let o = output_bits(base + d * shape.feature);
        let g = gradient_bits(base + d * shape.feature);
        special = special || not_finite(o) || not_finite(g);
        kept[c] = select(g, 0u, not_finite(g));
        delta += bitcast<f32>(kept[c]) * bitcast<f32>(select(o, 0u, not_finite(o)));
      }
      row_words[2u * shape.num_rows + row * shape.width4 + c4] = kept;
    }
  }
  part_of[t] = vec2<f32>(delta, select(0.0f, 1.0f, special));
  workgroupBarrier();  // part_of is complete
  if (lane != 0u || row >= shape.num_rows) { return; }
  var whole = vec2<f32>();
  for (var n = 0u; n < LANES; n++) { whole += part_of[t + n]; }
  var is_odd = not_finite(lse[row]);
  if (HAS_D_LSE) {
    is_odd = is_odd || not_finite(d_lse[row]);
    whole.x -= select(bitcast<f32>(d_lse[row]), 1.0f, not_finite(d_lse[row]));  // not 0: the row has a dLse
  }
  let marks = u32(is_odd) + select(0u, 2u, whole.y > 0.0f);
  row_words[2u * row] = vec4<u32>(select(lse[row], 0u, not_finite(lse[row])), bitcast<u32>(whole.x), marks, 0u);
  row_words[2u * row + 1u] = vec4<u32>();
}
