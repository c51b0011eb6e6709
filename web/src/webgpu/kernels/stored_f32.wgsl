// Four float32 numbers of a key or value as they lie in memory; only int8 has a scale.

fn key_scale(row: u32) -> u32 { return 0u; }
fn value_scale(row: u32) -> u32 { return 0u; }

fn any_not_finite(x: stored, scale: u32) -> bool { return any((x & vec4<u32>(EXPONENT)) == vec4<u32>(EXPONENT)); }

/// The numbers, with 0 in place of what is not finite: a hidden NaN must not reach a neighbour as 0 * NaN.
fn finite_part(x: stored, scale: u32) -> vec4<f32> {
  return bitcast<vec4<f32>>(select(x, vec4<u32>(0u), (x & vec4<u32>(EXPONENT)) == vec4<u32>(EXPONENT)));
}
