// Rotary embedding: pairs of features turn by the angle of their position, other features stay as they are. One
// invocation computes one feature. x and y have the same layout.

struct Shape {
  batch: u32,
  head: u32,
  position: u32,
  feature: u32,
  num_heads: u32,
  length: u32,
  head_dim: u32,
  rotary_dim: u32,
  interleaved: u32,
  count: u32,
  grid_width: u32,
}

@group(0) @binding(0) var<uniform> shape: Shape;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read> angles: array<vec2<f32>>;  // cos and sin, [B, S, rotary_dim / 2]
@group(0) @binding(3) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) id: vec3<u32>, @builtin(local_invocation_index) t: u32) {
  let n = (id.y * shape.grid_width + id.x) * THREADS + t;
  if (n >= shape.count) { return; }
  let d = n % shape.head_dim;
  let s = n / shape.head_dim % shape.length;
  let h = n / shape.head_dim / shape.length % shape.num_heads;
  let b = n / shape.head_dim / shape.length / shape.num_heads;
  let base = b * shape.batch + h * shape.head + s * shape.position;
  let own = x[base + d * shape.feature];
  if (d >= shape.rotary_dim) {
    y[base + d * shape.feature] = own;
    return;
  }
  let half = shape.rotary_dim / 2u;
  let pair = select(d % half, d / 2u, shape.interleaved != 0u);
  let is_first = select(d < half, d % 2u == 0u, shape.interleaved != 0u);
  let step = select(half, 1u, shape.interleaved != 0u);
  let other = x[base + select(d - step, d + step, is_first) * shape.feature];
  let angle = angles[(b * shape.length + s) * half + pair];
  y[base + d * shape.feature] = angle.x * own + select(angle.y, -angle.y, is_first) * other;
}
