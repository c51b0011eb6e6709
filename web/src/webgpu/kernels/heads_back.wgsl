// The gradient of the norm and the rotary embedding of heads, in place: from dy, the gradient of the finished heads, to
// the gradient of the projected ones. One invocation computes one head of one row.
//
//     turned back:  da = cos * dy_a + sin * dy_b,  db = cos * dy_b - sin * dy_a
//     norm:         z = x / size,  dx = (gain * da - z * m * sum(gain * da * z)) / size,  dgain = sum over rows of da * z
//
// m is 1 / head_dim for "rms" and 1 for "l2"; 0 if "l2" has divided by epsilon.

struct Shape {
  count: u32,        // rows * heads
  heads: u32,
  row: u32,          // elements from one row of dy to the next
  first: u32,        // the column of the first head
  head_stride: u32,
  head_dim: u32,
  x_row: u32,        // the same for x
  x_first: u32,
  split_pairs: u32,  // pairs of features of x, this far apart, that lie side by side
  norm: u32,         // NO_NORM, RMS or L2
  epsilon: u32,      // an f32 as bits
  gain: u32,         // where the gains of these heads begin
  pairs: u32,        // that turn
  interleaved: u32,
  first_angle: u32,  // the row of `angles` of the first row
  first_term: u32,   // where the gain_terms of these heads begin
  grid_width: u32,
}

@group(0) @binding(0) var<uniform> shape: Shape;
@group(0) @binding(1) var<storage, read> angles: array<vec2<f32>>;      // cos and sin, [rows, pairs]
@group(0) @binding(2) var<storage, read> gains: array<f32>;
@group(0) @binding(3) var<storage, read> x: array<f32>;                 // the heads before their norm
@group(0) @binding(4) var<storage, read_write> dy: array<f32>;
@group(0) @binding(5) var<storage, read_write> gain_terms: array<f32>;  // [rows, heads, head_stride]: da * z

fn turn_back(at: u32, angle: u32) {
  for (var m = 0u; m < shape.pairs; m++) {
    let a = at + select(m, 2u * m, shape.interleaved != 0u);
    let b = at + select(m + shape.pairs, 2u * m + 1u, shape.interleaved != 0u);
    let turn = angles[angle + m];
    let low = dy[a];
    let high = dy[b];
    dy[a] = turn.x * low + turn.y * high;
    dy[b] = turn.x * high - turn.y * low;
  }
}

/// The place of a feature in a head of x.
fn place_of(d: u32) -> u32 {
  let pairs = shape.split_pairs;
  return select(d, select(2u * d, 2u * (d - pairs) + 1u, d >= pairs), d < 2u * pairs);
}

/// Whether the gradient of a head is zero. Then nothing of x counts: it may be NaN.
fn is_silent(at: u32) -> bool {
  for (var d = 0u; d < shape.head_dim; d++) {
    if ((bitcast<u32>(dy[at + d]) & 0x7fffffffu) != 0u) { return false; }
  }
  return true;
}

fn norm_back(at: u32, x_at: u32, term: u32) {
  if (is_silent(at)) {
    for (var d = 0u; d < shape.head_dim; d++) { gain_terms[term + d] = 0.0; }
    return;
  }
  var largest = 0.0f;
  for (var d = 0u; d < shape.head_dim; d++) { largest = max(largest, abs(x[x_at + d])); }
  let powers = head_powers(vec4<f32>(largest));
  let factor = two_to(powers).x;
  var squares = 0.0f;
  for (var d = 0u; d < shape.head_dim; d++) {
    let raised = x[x_at + d] * factor;
    squares += raised * raised;
  }
  let size = head_sizes(vec4<f32>(squares), powers).x;
  var dot = 0.0f;
  for (var d = 0u; d < shape.head_dim; d++) {
    let gain_term = dy[at + d] * (x[x_at + place_of(d)] * factor / size);
    gain_terms[term + d] = gain_term;
    dot += gains[shape.gain + d] * gain_term;
  }
  let is_longer = sqrt(squares) > epsilon_at(shape.epsilon, powers).x;
  let share = select(dot / f32(shape.head_dim), select(0.0f, dot, is_longer), shape.norm == L2);
  for (var d = 0u; d < shape.head_dim; d++) {
    dy[at + d] = (gains[shape.gain + d] * dy[at + d] - x[x_at + place_of(d)] * factor / size * share) / size * factor;
  }
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) id: vec3<u32>, @builtin(local_invocation_index) t: u32) {
  let n = (id.y * shape.grid_width + id.x) * THREADS + t;
  if (n >= shape.count) { return; }
  let row = n / shape.heads;
  let head = n % shape.heads * shape.head_stride;
  let at = row * shape.row + shape.first + head;
  turn_back(at, (row + shape.first_angle) * shape.pairs);
  if (shape.norm != NO_NORM) { norm_back(at, row * shape.x_row + shape.x_first + head, shape.first_term + n * shape.head_stride); }
}
