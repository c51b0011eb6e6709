
fn weight_at(n: u32) -> vec4<f32> {
  let bits = weight[n];
  return bitcast<vec4<f32>>(vec4<u32>(bits.x << 16u, bits.x & 0xffff0000u, bits.y << 16u, bits.y & 0xffff0000u));
}
