// y[n] = scale table[numbers[n]].

struct Shape {
  count: u32,  // numbers of y
  width: u32,
  scale: u32,
  grid_width: u32,
}

@group(0) @binding(0) var<uniform> shape: Shape;
@group(0) @binding(1) var<storage, read> numbers: array<u32>;
@group(0) @binding(2) var<storage, read> source: array<u32>;
@group(0) @binding(3) var<storage, read> scales: array<u32>;  // of INT8: one for each row of the table
@group(0) @binding(4) var<storage, read_write> y: array<u32>;

/// A number of the table as float32.
fn number_at(at: u32) -> u32 {
  if (INT8) { return word_of(f32(i32(source[at / 4u] << (24u - 8u * (at % 4u))) >> 24u)); }
  if (BRAIN) { return select(source[at / 2u] << 16u, source[at / 2u] & 0xffff0000u, at % 2u == 1u); }
  return element(at);
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) id: vec3<u32>, @builtin(local_invocation_index) t: u32) {
  let n = (id.y * shape.grid_width + id.x) * THREADS + t;
  if (n >= shape.count) { return; }
  let row = numbers[n / shape.width];
  var scale = shape.scale;
  if (INT8) { scale = product_of(scales[row], scale); }
  let number = number_at(row * shape.width + n % shape.width);
  y[n] = select(product_of(number, scale), number, scale == ONE);
}
