// y = norm(x) gain + shift of each row. `shape.number` is epsilon. A row with NaN is NaN; so is one with infinity after a
// layer norm, and its infinite numbers after an RMS norm.

@group(0) @binding(2) var<storage, read> gain: array<u32>;
@group(0) @binding(3) var<storage, read> shift: array<u32>;
@group(0) @binding(4) var<storage, read_write> y: array<u32>;

fn finite_at(at: u32) -> f32 { return float_from(select(x[at], 0u, not_finite(x[at]))); }

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) id: vec3<u32>, @builtin(local_invocation_index) t: u32) {
  let row = id.y * shape.grid_width + id.x;
  if (row >= shape.rows) { return; }
  let base = shape.x_at + row * shape.x_stride;
  var own = 0u;
  for (var i = t; i < shape.width; i += THREADS) { own = max(own, x[base + i] & SIZE); }
  let largest = largest_over(t, own);
  let is_spoiled = not_finite(largest);
  let powers = powers_for(vec4<u32>(largest), shape.number, 2);
  let factor = two_to(powers).x;
  var mean = 0.0f;
  if (CENTRED) {
    var sum = 0.0f;
    for (var i = t; i < shape.width; i += THREADS) { sum += finite_at(base + i) * factor; }
    mean = sum_over(t, sum) / f32(shape.width);
  }
  var squares = 0.0f;
  for (var i = t; i < shape.width; i += THREADS) {
    let distance = finite_at(base + i) * factor - mean;
    squares += distance * distance;
  }
  let variance = sum_over(t, squares) / f32(shape.width) + epsilon_at(shape.number, 2 * powers).x;
  var inverse = 0.0f;  // of an infinite variance
  if (!is_spoiled && variance > 0.0f) { inverse = 1.0f / sqrt(variance); }
  let is_nowhere = is_nan(largest) || (CENTRED && is_spoiled) || (!is_spoiled && variance == 0.0f && shape.number == 0u);
  for (var i = t; i < shape.width; i += THREADS) {
    var number = word_of((finite_at(base + i) * factor - mean) * inverse);
    if (is_nowhere || not_finite(x[base + i])) { number = NOT_A_NUMBER; }
    number = product_of(number, gain[i]);
    if (SHIFT) { number = sum_of(number, shift[i]); }
    y[row * shape.width + i] = number;
  }
}
