// Reads four float16 numbers of a key or value and keeps them as float16, which takes half the room in workgroup
// memory. It needs shader-f16. Products and sums are still float32.

/// The numbers, if all are finite. (naga refuses a bitcast from vec2<u32> to vec4<f16>.)
fn numbers_of(x: stored, scale: u32) -> vec4<f16> {
  return vec4<f16>(vec4<f32>(unpack2x16float(x.x), unpack2x16float(x.y)));
}
