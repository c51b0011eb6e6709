// Reads four float32 numbers of a key or value.

fn special_parts(x: stored) -> vec4<bool> { return (x & vec4<u32>(EXPONENT)) == vec4<u32>(EXPONENT); }
fn any_not_finite(x: stored, scale: u32) -> bool { return any(special_parts(x)); }

/// The numbers as bits, with 0 in place of a number that is not finite.
fn cleaned(x: stored) -> stored { return select(x, vec4<u32>(0u), special_parts(x)); }

/// The numbers, if all are finite.
fn numbers_of(x: stored, scale: u32) -> vec4<f32> { return bitcast<vec4<f32>>(x); }

/// Finds numbers that are not finite among many: positive ones are the largest as signed words, negative ones as
/// unsigned words.
struct Extremes {
  positive: vec4<i32>,
  negative: vec4<u32>,
}
fn no_extremes() -> Extremes { return Extremes(vec4<i32>(), vec4<u32>()); }
fn with_extremes(e: Extremes, x: stored) -> Extremes {
  return Extremes(max(e.positive, bitcast<vec4<i32>>(x)), max(e.negative, x));
}
/// Whether some are so large, LARGE or more, that the products of a row may overflow.
fn some_large(e: Extremes) -> bool {
  return any(e.positive >= vec4<i32>(0x5d000000)) || any(e.negative >= vec4<u32>(0xdd000000u));
}
fn some_not_finite(e: Extremes) -> bool {
  return any(e.positive >= vec4<i32>(0x7f800000)) || any(e.negative >= vec4<u32>(MINUS_INFINITY));
}
