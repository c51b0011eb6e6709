// Reads four float16 numbers of a key or value as float32, without shader-f16.

/// The numbers, if all are finite.
fn numbers_of(x: stored, scale: u32) -> vec4<f32> { return vec4<f32>(unpack2x16float(x.x), unpack2x16float(x.y)); }
