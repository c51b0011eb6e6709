// Norms and turns projected heads in place, for heads that project.wgsl cannot finish: those whose norm does not fit a
// tile. One invocation computes one head of one row, in the usual order of features.

struct Shape {
  rows: u32,
  row: u32,         // elements from one row of y to the next
  query_heads: u32,
  key_heads: u32,
  key_first: u32,   // the column of the first key head
  head_stride: u32,
  head_dim: u32,
  norm: u32,        // RMS or L2
  epsilon: u32,     // an f32 as bits
  pairs: u32,       // that turn
  interleaved: u32,
  key_angles: u32,  // the row of `angles` of the first key
  grid_width: u32,
}

@group(0) @binding(0) var<uniform> shape: Shape;
@group(0) @binding(1) var<storage, read> gains: array<f32>;         // [query and key, head_stride]
@group(0) @binding(2) var<storage, read> angles: array<vec2<f32>>;  // cos and sin, [rows, pairs]
@group(0) @binding(3) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) id: vec3<u32>, @builtin(local_invocation_index) t: u32) {
  let n = (id.y * shape.grid_width + id.x) * THREADS + t;
  let heads = shape.query_heads + shape.key_heads;
  let row = n / heads;
  let head = n % heads;
  if (row >= shape.rows) { return; }
  let is_key = head >= shape.query_heads;
  let first = select(head * shape.head_stride, shape.key_first + (head - shape.query_heads) * shape.head_stride, is_key);
  let base = row * shape.row + first;
  var largest = 0.0f;
  for (var d = 0u; d < shape.head_dim; d++) { largest = max(largest, abs(y[base + d])); }
  let powers = head_powers(vec4<f32>(largest));
  let factor = two_to(powers).x;
  var squares = 0.0f;
  for (var d = 0u; d < shape.head_dim; d++) {
    let raised = y[base + d] * factor;
    squares += raised * raised;
  }
  let size = head_sizes(vec4<f32>(squares), powers).x;
  let gain = select(0u, shape.head_stride, is_key);
  let angle = (row + select(0u, shape.key_angles, is_key)) * shape.pairs;
  for (var m = 0u; m < shape.pairs; m++) {
    let d = select(m, 2u * m, shape.interleaved != 0u);
    let e = select(m + shape.pairs, 2u * m + 1u, shape.interleaved != 0u);
    let a = y[base + d] * factor / size * gains[gain + d];
    let b = y[base + e] * factor / size * gains[gain + e];
    let turn = angles[angle + m];
    y[base + d] = turn.x * a - turn.y * b;
    y[base + e] = turn.x * b + turn.y * a;
  }
  for (var d = 2u * shape.pairs; d < shape.head_dim; d++) { y[base + d] = y[base + d] * factor / size * gains[gain + d]; }
}
