
fn weight_at(n: u32) -> vec4<f32> { return weight[n]; }
