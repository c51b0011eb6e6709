// Reads four float32 numbers of a key or value. Only int8 has a scale.

fn key_scale(row: u32) -> u32 { return 0u; }
fn value_scale(row: u32) -> u32 { return 0u; }

fn any_not_finite(x: stored, scale: u32) -> bool { return any((x & vec4<u32>(EXPONENT)) == vec4<u32>(EXPONENT)); }

/// The numbers, with 0 in place of a number that is not finite. Otherwise a hidden NaN would spoil other rows, because
/// 0 * NaN is NaN.
fn finite_part(x: stored, scale: u32) -> vec4<f32> {
  return bitcast<vec4<f32>>(select(x, vec4<u32>(0u), (x & vec4<u32>(EXPONENT)) == vec4<u32>(EXPONENT)));
}
