// float32 to float16, two a word, rounded to the nearest with ties to even as the contract's storage rule asks: WGSL
// lets pack2x16float round either way and says nothing about what overflows.

struct Shape {
  count: u32,  // float32 to read
  grid_width: u32,
}

@group(0) @binding(0) var<uniform> shape: Shape;
@group(0) @binding(1) var<storage, read> wide: array<u32>;
@group(0) @binding(2) var<storage, read_write> narrow: array<u32>;

fn half_of(bits: u32) -> u32 {
  let sign = (bits >> 16u) & 0x8000u;
  let size = bits & 0x7fffffffu;
  if (size > 0x7f800000u) { return sign | 0x7e00u; }
  if (size >= 0x477ff000u) { return sign | 0x7c00u; }  // rounds to 65520 or more
  if (size < 0x33000000u) { return sign; }             // below half of the smallest
  let exponent = size >> 23u;
  let fraction = (size & 0x7fffffu) | 0x800000u;
  // subnormal halves lose one more bit for each step below 2^-14
  let shift = select(13u, 126u - exponent, exponent < 113u);
  let kept = fraction >> shift;
  let rest = fraction & ((1u << shift) - 1u);
  let middle = 1u << (shift - 1u);
  let rounded = kept + select(0u, 1u, rest > middle || (rest == middle && (kept & 1u) == 1u));
  return sign | (rounded + select((exponent - 113u) << 10u, 0u, exponent < 113u));
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) id: vec3<u32>, @builtin(local_invocation_index) t: u32) {
  let n = (id.y * shape.grid_width + id.x) * THREADS + t;
  if (2u * n >= shape.count) { return; }
  var word = half_of(wide[2u * n]);
  if (2u * n + 1u < shape.count) { word |= half_of(wide[2u * n + 1u]) << 16u; }
  narrow[n] = word;
}
