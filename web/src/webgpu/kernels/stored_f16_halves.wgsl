// Reads four float16 numbers of a key or value and keeps them as float16, which takes half the room in workgroup
// memory. It needs shader-f16. Products and sums are still float32.

fn key_scale(row: u32) -> u32 { return 0u; }
fn value_scale(row: u32) -> u32 { return 0u; }

/// Which of the numbers are not finite.
fn special_halves(x: stored) -> vec4<bool> {
  return (vec4<u32>(x.x, x.x >> 16u, x.y, x.y >> 16u) & vec4<u32>(HALF_EXPONENT)) == vec4<u32>(HALF_EXPONENT);
}

fn any_not_finite(x: stored, scale: u32) -> bool { return any(special_halves(x)); }

/// The numbers, with 0 in place of a number that is not finite. Otherwise a hidden NaN would spoil other rows, because
/// 0 * NaN is NaN.
fn finite_part(x: stored, scale: u32) -> vec4<f16> {
  let masks = select(vec4<u32>(0xffffu), vec4<u32>(0u), special_halves(x));
  return bitcast<vec4<f16>>(x & vec2<u32>(masks.x | (masks.y << 16u), masks.z | (masks.w << 16u)));
}
