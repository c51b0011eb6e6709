// Packs rows of float32 or float16 in any layout to float32 [B, H, S, width4] with whole vec4, padded with zeros. The
// attention kernels need that if an input is "BES", if 4 does not divide its width, or if dtypes differ.

struct Shape {
  batch_stride: u32,
  head_stride: u32,
  position_stride: u32,
  feature_stride: u32,
  heads: u32,
  length: u32,
  width: u32,
  width4: u32,
  count: u32,  // vec4 to write
  grid_width: u32,
}

@group(0) @binding(0) var<uniform> shape: Shape;
@group(0) @binding(1) var<storage, read> source: array<u32>;
@group(0) @binding(2) var<storage, read_write> packed: array<vec4<u32>>;

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) id: vec3<u32>, @builtin(local_invocation_index) t: u32) {
  let n = (id.y * shape.grid_width + id.x) * THREADS + t;
  if (n >= shape.count) { return; }
  let c4 = n % shape.width4;
  let s = n / shape.width4 % shape.length;
  let h = n / shape.width4 / shape.length % shape.heads;
  let b = n / shape.width4 / shape.length / shape.heads;
  let base = b * shape.batch_stride + h * shape.head_stride + s * shape.position_stride;
  var words = vec4<u32>();
  for (var c = 0u; c < 4u; c++) {
    let d = 4u * c4 + c;
    if (d < shape.width) { words[c] = element(base + d * shape.feature_stride); }
  }
  packed[n] = words;
}
