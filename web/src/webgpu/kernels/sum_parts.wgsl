// Adds the parts of an array of float32, in their order. A number that is not finite in some part gives NaN.

struct Shape {
  count: u32,
  parts: u32,
  stride: u32,  // elements from one part to the next
  grid_width: u32,
}

@group(0) @binding(0) var<uniform> shape: Shape;
@group(0) @binding(1) var<storage, read> parts: array<u32>;
@group(0) @binding(2) var<storage, read_write> sums: array<u32>;

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) id: vec3<u32>, @builtin(local_invocation_index) t: u32) {
  let n = (id.y * shape.grid_width + id.x) * THREADS + t;
  if (n >= shape.count) { return; }
  var sum = 0.0f;
  var special = false;
  for (var part = 0u; part < shape.parts; part++) {
    let bits = parts[part * shape.stride + n];
    special = special || not_finite(bits);
    sum += bitcast<f32>(select(bits, 0u, not_finite(bits)));
  }
  sums[n] = select(bitcast<u32>(sum), NOT_A_NUMBER, special);
}
