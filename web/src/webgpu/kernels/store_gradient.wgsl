// Adds the parts of a gradient in their order, and stores it as the weight is stored: element (i, o) at first + i *
// in_stride + o * out_stride. The parts have heads padded to whole vec4 and may have other columns beside. One
// invocation computes one element.

struct Shape {
  parts: u32,
  part: u32,        // elements from one part to the next
  row: u32,         // elements from one row of a part to the next
  column: u32,      // of the parts, where the gradient begins
  in_width: u32,    // numbers of a head, without and with its padding
  in_padded: u32,
  outs: u32,        // columns of the gradient
  out_width: u32,
  out_padded: u32,
  first: u32,
  in_stride: u32,
  out_stride: u32,
  count: u32,       // elements of the gradient
  grid_width: u32,
}

@group(0) @binding(0) var<uniform> shape: Shape;
@group(0) @binding(1) var<storage, read> part_sums: array<f32>;
@group(0) @binding(2) var<storage, read_write> gradient: array<f32>;

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) id: vec3<u32>, @builtin(local_invocation_index) t: u32) {
  let n = (id.y * shape.grid_width + id.x) * THREADS + t;
  if (n >= shape.count) { return; }
  let i = n / shape.outs;
  let o = n % shape.outs;
  let row = i / shape.in_width * shape.in_padded + i % shape.in_width;
  let column = shape.column + o / shape.out_width * shape.out_padded + o % shape.out_width;
  var sum = 0.0f;
  for (var part = 0u; part < shape.parts; part++) { sum += part_sums[part * shape.part + row * shape.row + column]; }
  gradient[shape.first + i * shape.in_stride + o * shape.out_stride] = sum;
}
