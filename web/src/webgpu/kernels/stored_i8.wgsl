// Reads four int8 numbers of a cached key or value from a word. After all rows come their scales, a word each. A scale is
// NaN if its row was not finite when it was stored.

fn key_scale(row: u32) -> u32 {
  let word = params.key_scales + row / params.key_position;
  return part_of(key[word / PER], word % PER);
}
fn value_scale(row: u32) -> u32 {
  let word = params.value_scales + row / params.value_position;
  return part_of(value[word / PER], word % PER);
}

fn any_not_finite(x: stored, scale: u32) -> bool { return not_finite(scale); }

/// The numbers as bits. Their scale alone may not be finite.
fn cleaned(x: stored) -> stored { return x; }

/// The numbers. A scale that is not finite counts as 0.
fn numbers_of(x: stored, scale: u32) -> vec4<f32> {
  let bytes = vec4<i32>(i32(x << 24u), i32(x << 16u), i32(x << 8u), i32(x)) >> vec4<u32>(24u);
  return bitcast<f32>(select(scale, 0u, not_finite(scale))) * vec4<f32>(bytes);
}
