// Four float32 numbers as they lie in memory.

fn any_not_finite(x: stored) -> bool { return any((x & vec4<u32>(EXPONENT)) == vec4<u32>(EXPONENT)); }

/// The numbers, with 0 in place of what is not finite: a hidden NaN must not reach a neighbour as 0 * NaN.
fn finite_part(x: stored) -> vec4<f32> {
  return bitcast<vec4<f32>>(select(x, vec4<u32>(0u), (x & vec4<u32>(EXPONENT)) == vec4<u32>(EXPONENT)));
}
