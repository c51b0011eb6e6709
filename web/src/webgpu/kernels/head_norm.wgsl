// Norm of each head's row, in place: x / sqrt(mean(x²) + epsilon) * gain, or x / max(|x|, epsilon) * gain. One
// invocation computes one row.

struct Shape {
  rows: u32,
  width: u32,      // features of a row
  row_stride: u32,
  is_l2: u32,
  epsilon: u32,    // an f32 as bits
  has_gain: u32,
  grid_width: u32,
}

@group(0) @binding(0) var<uniform> shape: Shape;
@group(0) @binding(1) var<storage, read> gain: array<f32>;
@group(0) @binding(2) var<storage, read_write> x: array<f32>;

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) id: vec3<u32>, @builtin(local_invocation_index) t: u32) {
  let row = (id.y * shape.grid_width + id.x) * THREADS + t;
  if (row >= shape.rows) { return; }
  let base = row * shape.row_stride;
  var squares = 0.0f;
  for (var d = 0u; d < shape.width; d++) { squares += x[base + d] * x[base + d]; }
  let epsilon = bitcast<f32>(shape.epsilon);
  let size = select(sqrt(squares / f32(shape.width) + epsilon), max(sqrt(squares), epsilon), shape.is_l2 != 0u);
  for (var d = 0u; d < shape.width; d++) {
    x[base + d] = x[base + d] / size * select(1.0f, gain[d * shape.has_gain], shape.has_gain != 0u);
  }
}
