// Four int8 numbers of a cached key or value in a word. Behind a row lies the scale of all its numbers, NaN for a row that
// was not finite when it was stored.

fn key_scale(row: u32) -> u32 { return key[row + params.depth4]; }
fn value_scale(row: u32) -> u32 { return value[row + params.value4]; }

fn any_not_finite(x: stored, scale: u32) -> bool { return not_finite(scale); }

/// The numbers, with 0 in place of what is not finite: a hidden NaN must not reach a neighbour as 0 * NaN.
fn finite_part(x: stored, scale: u32) -> vec4<f32> {
  let bytes = vec4<i32>(i32(x << 24u), i32(x << 16u), i32(x << 8u), i32(x)) >> vec4<u32>(24u);
  return bitcast<f32>(select(scale, 0u, not_finite(scale))) * vec4<f32>(bytes);
}
