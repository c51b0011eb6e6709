// Four float16 numbers of a key or value as they lie in memory, kept as float16 by devices that can: half the room in
// workgroup memory. Products and sums are float32 all the same.

fn key_scale(row: u32) -> u32 { return 0u; }
fn value_scale(row: u32) -> u32 { return 0u; }

/// Which of them are not finite.
fn special_halves(x: stored) -> vec4<bool> {
  return (vec4<u32>(x.x, x.x >> 16u, x.y, x.y >> 16u) & vec4<u32>(HALF_EXPONENT)) == vec4<u32>(HALF_EXPONENT);
}

fn any_not_finite(x: stored, scale: u32) -> bool { return any(special_halves(x)); }

/// The numbers, with 0 in place of what is not finite: a hidden NaN must not reach a neighbour as 0 * NaN.
fn finite_part(x: stored, scale: u32) -> vec4<f16> {
  let masks = select(vec4<u32>(0xffffu), vec4<u32>(0u), special_halves(x));
  return bitcast<vec4<f16>>(x & vec2<u32>(masks.x | (masks.y << 16u), masks.z | (masks.w << 16u)));
}
