// Reads four float16 numbers of a key or value as float32, without shader-f16.

fn key_scale(row: u32) -> u32 { return 0u; }
fn value_scale(row: u32) -> u32 { return 0u; }

fn halves(x: stored) -> vec4<u32> { return vec4<u32>(x.x & 0xffffu, x.x >> 16u, x.y & 0xffffu, x.y >> 16u); }

fn any_not_finite(x: stored, scale: u32) -> bool {
  return any((halves(x) & vec4<u32>(HALF_EXPONENT)) == vec4<u32>(HALF_EXPONENT));
}

/// The numbers, with 0 in place of a number that is not finite. Otherwise a hidden NaN would spoil other rows, because
/// 0 * NaN is NaN.
fn finite_part(x: stored, scale: u32) -> vec4<f32> {
  let bits = halves(x);
  let clean = select(bits, vec4<u32>(0u), (bits & vec4<u32>(HALF_EXPONENT)) == vec4<u32>(HALF_EXPONENT));
  return vec4<f32>(unpack2x16float(clean.x | (clean.y << 16u)), unpack2x16float(clean.z | (clean.w << 16u)));
}
