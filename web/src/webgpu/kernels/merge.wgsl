// Merges results over disjoint keys: w_p = exp(lse_p - lse), o = Σ w_p o_p, lse = ln(Σ exp(lse_p) + exp(sink)). One
// invocation computes one element of the output. In both arrays the parts follow each other.

struct Shape {
  num_rows: u32,  // B * Hq * Sq
  value_dim: u32,
  num_heads: u32,
  query_length: u32,
  num_parts: u32,
  part_stride: u32,  // elements from one part's output to the next
  lse_stride: u32,  // the same for the lse
  // strides of output in elements
  batch: u32,
  head: u32,
  position: u32,
  feature: u32,
  has_sinks: u32,
  grid_width: u32,
}

@group(0) @binding(0) var<uniform> shape: Shape;
@group(0) @binding(1) var<storage, read> outputs: array<u32>;
@group(0) @binding(2) var<storage, read> part_lse: array<u32>;  // [part][row], lse_stride elements a part
@group(0) @binding(3) var<storage, read> sinks: array<u32>;
@group(0) @binding(4) var<storage, read_write> output: array<u32>;
@group(0) @binding(5) var<storage, read_write> lse: array<u32>;

const LOWEST = -3.4028234663852886e+38f;

fn lse_bits(part: u32, row: u32) -> u32 { return part_lse[part * shape.lse_stride + row]; }

/// exp(x - maximum) for x <= maximum; see `below` in call.wgsl. `bits` are those of the logarithm x; the result is 0 for
/// minus infinity.
fn share(bits: u32, maximum: f32) -> f32 {
  if (bits == MINUS_INFINITY) { return 0.0f; }
  return exp(2.0f * max(0.5f * bitcast<f32>(bits) - 0.5f * maximum, -52.0f));
}

fn raised(maximum: f32, bits: u32) -> f32 { return select(max(maximum, bitcast<f32>(bits)), maximum, bits == MINUS_INFINITY); }

fn is_poison(bits: u32) -> bool { return bits != MINUS_INFINITY && not_finite(bits); }

fn is_nan(bits: u32) -> bool { return (bits & 0x7fffffffu) > 0x7f800000u; }

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) id: vec3<u32>, @builtin(local_invocation_index) t: u32) {
  let n = (id.y * shape.grid_width + id.x) * THREADS + t;
  let row = n / shape.value_dim;
  let d = n % shape.value_dim;
  if (row >= shape.num_rows) { return; }
  let i = row % shape.query_length;
  let h = row / shape.query_length % shape.num_heads;
  let b = row / shape.query_length / shape.num_heads;

  let sink = select(MINUS_INFINITY, sinks[h], shape.has_sinks != 0u);
  var maximum = raised(LOWEST, sink);
  var poisoned = false;
  for (var part = 0u; part < shape.num_parts; part++) {
    poisoned = poisoned || is_poison(lse_bits(part, row));
    maximum = raised(maximum, lse_bits(part, row));
  }
  let at = b * shape.batch + h * shape.head + i * shape.position + d * shape.feature;
  var sum = share(sink, maximum);
  var o = 0.0f;
  var not_number = false;
  for (var part = 0u; part < shape.num_parts; part++) {
    if (lse_bits(part, row) == MINUS_INFINITY) { continue; }  // the part saw no key
    let weight = share(lse_bits(part, row), maximum);
    sum += weight;
    let value = outputs[part * shape.part_stride + at];
    not_number = not_number || is_nan(value);
    // As on wasm, what is not finite reaches the result however small its weight is.
    o += select(weight, 1.0f, not_finite(value)) * bitcast<f32>(value);
  }
  let empty = sum == 0.0f;
  output[at] = select(select(bitcast<u32>(o / max(sum, 1e-37f)), 0u, empty), NOT_A_NUMBER, poisoned || not_number);
  if (d == 0u) {
    lse[row] = select(select(bitcast<u32>(maximum + log(max(sum, 1e-37f))), MINUS_INFINITY, empty), NOT_A_NUMBER, poisoned);
  }
}
