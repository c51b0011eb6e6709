// Reads four int8 numbers of a cached key or value from a word. After all rows come their scales: a word for every
// BLOCK4 times four numbers of a row. All scales of a row are NaN if it was not finite when it was stored. After the
// scales of keys come the means of their heads, which were subtracted from all keys.

const BLOCK4 = 8u;

const HAS_MEANS = true;

/// The scale of four numbers of key row `number`. Rows are counted over all heads.
fn key_scale_of(number: u32, c4: u32) -> u32 {
  return key_word(params.key_scales + number * ((params.depth4 + BLOCK4 - 1u) / BLOCK4) + c4 / BLOCK4);
}
/// The same for the row whose first vec4 is `row`.
fn key_scale(row: u32, c4: u32) -> u32 { return key_scale_of(row / params.key_position, c4); }
fn value_scale_of(number: u32, c4: u32) -> u32 {
  let word = params.value_scales + number * ((params.value4 + BLOCK4 - 1u) / BLOCK4) + c4 / BLOCK4;
  return part_of(value[word / PER], word % PER);
}
fn value_scale(row: u32, c4: u32) -> u32 { return value_scale_of(row / params.value_position, c4); }

fn key_word(word: u32) -> u32 { return part_of(key[word / PER], word % PER); }

/// The mean of the keys of a row's head.
fn key_mean(row: u32, c4: u32) -> vec4<f32> {
  let at = params.key_means + 4u * (row / params.key_head * params.depth4 + c4);
  return bitcast<vec4<f32>>(vec4<u32>(key_word(at), key_word(at + 1u), key_word(at + 2u), key_word(at + 3u)));
}

/// The numbers of a key, with the mean of its head.
fn key_numbers(x: stored, scale: u32, row: u32, c4: u32) -> tile4 { return numbers_of(x, scale) + key_mean(row, c4); }

fn any_not_finite(x: stored, scale: u32) -> bool { return not_finite(scale); }

/// The numbers as bits. Their scale alone may not be finite.
fn cleaned(x: stored) -> stored { return x; }

/// The numbers. A scale that is not finite counts as 0.
fn numbers_of(x: stored, scale: u32) -> vec4<f32> {
  let bytes = vec4<i32>(i32(x << 24u), i32(x << 16u), i32(x << 8u), i32(x)) >> vec4<u32>(24u);
  return bitcast<f32>(select(scale, 0u, not_finite(scale))) * vec4<f32>(bytes);
}
