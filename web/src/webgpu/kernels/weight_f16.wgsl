
fn weight_at(n: u32) -> vec4<f32> {
  let bits = weight[n];
  return vec4<f32>(unpack2x16float(bits.x), unpack2x16float(bits.y));
}
