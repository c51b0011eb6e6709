// Converts float32 to float16, two numbers in a word.

struct Shape {
  count: u32,  // number of float32
  grid_width: u32,
}

@group(0) @binding(0) var<uniform> shape: Shape;
@group(0) @binding(1) var<storage, read> wide: array<u32>;
@group(0) @binding(2) var<storage, read_write> narrow: array<u32>;

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) id: vec3<u32>, @builtin(local_invocation_index) t: u32) {
  let n = (id.y * shape.grid_width + id.x) * THREADS + t;
  if (2u * n >= shape.count) { return; }
  var word = half_of(wide[2u * n]);
  if (2u * n + 1u < shape.count) { word |= half_of(wide[2u * n + 1u]) << 16u; }
  narrow[n] = word;
}
