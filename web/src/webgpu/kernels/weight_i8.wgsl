
/// Four whole numbers. Their sums are scaled at the end.
fn weight_at(n: u32) -> vec4<f32> {
  let word = bitcast<i32>(weight[n]);
  return vec4<f32>(vec4<i32>(word << 24u, word << 16u, word << 8u, word) >> vec4<u32>(24u));
}
