// y = norm(x) gain + shift of each row. `shape.number` is epsilon. A row with NaN is NaN; so is one with infinity after a
// layer norm, and its infinite numbers after an RMS norm.

@group(0) @binding(2) var<storage, read> gain: array<u32>;
@group(0) @binding(3) var<storage, read> shift: array<u32>;
@group(0) @binding(4) var<storage, read_write> y: array<u32>;

fn exponent_of(size: u32) -> i32 { return i32(size >> 23u) - 127; }

/// The power of two by which a row's numbers are multiplied, so that no square that counts leaves float32: 0 for usual
/// rows. It changes no bit of the norm. `largest` is the size of the largest number, which is finite. Epsilon is multiplied
/// by 2^(2 power), and stays below 2^100: where that limits the power, the squares are too small to count.
fn power_for(largest: u32) -> i32 {
  let exponent = exponent_of(largest);
  if (exponent >= -45 && exponent <= 55) { return 0; }
  let power = clamp(-exponent, -126, 126);
  return select(power, min(power, (100 - exponent_of(shape.number)) / 2), shape.number != 0u);
}

/// epsilon 2^(2 power), or 0 if that is too small to count. A device may multiply three numbers in any order, and 2^(2 power)
/// may be infinite; it may also take a subnormal epsilon for 0. So this adds the exponents as whole numbers.
fn epsilon_at(power: i32) -> f32 {
  let subnormal = max(i32(countLeadingZeros(shape.number)) - 8, 0);
  let digits = (shape.number << u32(subnormal)) & 0x7fffffu;
  let exponent = max(i32(shape.number >> 23u), 1) - subnormal + 2 * power;
  let scaled = bitcast<f32>((u32(clamp(exponent, 1, 254)) << 23u) | digits);
  return select(0.0f, scaled, shape.number != 0u && exponent >= 1);
}

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
  var power = 0;
  if (!is_spoiled && largest != 0u) { power = power_for(largest); }
  let factor = bitcast<f32>(u32(power + 127) << 23u);
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
  let variance = sum_over(t, squares) / f32(shape.width) + epsilon_at(power);
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
