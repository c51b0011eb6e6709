// Packs rows of float32 or float16 in any layout to float32 [B, H, S, width4], times a factor. A number that is not finite
// becomes 0, and its row is marked: a vec4 for each row follows all rows, whose first number is then 1. LANES invocations
// share a row.

struct Shape {
  batch_stride: u32,
  head_stride: u32,
  position_stride: u32,
  feature_stride: u32,
  heads: u32,
  length: u32,
  width: u32,
  width4: u32,
  num_rows: u32,
  factor: u32,  // a float32 as bits
  grid_width: u32,
}

@group(0) @binding(0) var<uniform> shape: Shape;
@group(0) @binding(1) var<storage, read> source: array<u32>;
@group(0) @binding(2) var<storage, read_write> packed: array<vec4<f32>>;

var<workgroup> marks: array<u32, THREADS>;

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) id: vec3<u32>, @builtin(local_invocation_index) t: u32) {
  let row = (id.y * shape.grid_width + id.x) * (THREADS / LANES) + t / LANES;
  let lane = t % LANES;
  let s = row % shape.length;
  let h = row / shape.length % shape.heads;
  let b = row / shape.length / shape.heads;
  let base = b * shape.batch_stride + h * shape.head_stride + s * shape.position_stride;
  let factor = bitcast<f32>(shape.factor);
  marks[t] = 0u;
  if (row < shape.num_rows) {
    for (var c4 = lane; c4 < shape.width4; c4 += LANES) {
      var kept = vec4<f32>();
      for (var c = 0u; c < 4u; c++) {
        let d = 4u * c4 + c;
        if (d >= shape.width) { continue; }
        let bits = element(base + d * shape.feature_stride);
        if (not_finite(bits)) { marks[t] = 1u; }
        kept[c] = factor * bitcast<f32>(select(bits, 0u, not_finite(bits)));
      }
      packed[row * shape.width4 + c4] = kept;
    }
  }
  workgroupBarrier();  // marks are complete
  if (lane != 0u || row >= shape.num_rows) { return; }
  var mark = 0u;
  for (var n = 0u; n < LANES; n++) { mark |= marks[t + n]; }
  packed[shape.num_rows * shape.width4 + row] = vec4<f32>(f32(mark), 0.0f, 0.0f, 0.0f);
}
