// Tests four float16 numbers of a key or value, as they are stored.

/// Which of the numbers are not finite.
fn special_parts(x: stored) -> vec4<bool> {
  return (vec4<u32>(x.x, x.x >> 16u, x.y, x.y >> 16u) & vec4<u32>(HALF_EXPONENT)) == vec4<u32>(HALF_EXPONENT);
}

fn any_not_finite(x: stored, scale: u32) -> bool { return any(special_parts(x)); }

/// The numbers as bits, with 0 in place of a number that is not finite.
fn cleaned(x: stored) -> stored {
  let masks = select(vec4<u32>(0xffffu), vec4<u32>(0u), special_parts(x));
  return x & vec2<u32>(masks.x | (masks.y << 16u), masks.z | (masks.w << 16u));
}

/// Finds numbers that are not finite among many: adding 1 to their exponent carries into the place of the sign.
struct Extremes {
  carries: vec2<u32>,
}
fn no_extremes() -> Extremes { return Extremes(vec2<u32>()); }
fn with_extremes(e: Extremes, x: stored) -> Extremes {
  return Extremes(e.carries | ((x & vec2<u32>(0x7fff7fffu)) + vec2<u32>(0x04000400u)));
}
fn some_large(e: Extremes) -> bool { return some_not_finite(e); }
fn some_not_finite(e: Extremes) -> bool { return ((e.carries.x | e.carries.y) & 0x80008000u) != 0u; }
