// y = scale f(x / divisor) times + plus, number by number. Rows may lie apart, and a row of `times` and `plus` may repeat.
// Numbers are words (see formula_numbers.wgsl), so NaN and infinity follow IEEE 754.

struct Shape {
  count: u32,  // numbers to write
  width: u32,
  // where each first row begins, and how far apart rows lie, in words
  x_at: u32,
  x_stride: u32,
  times_at: u32,
  times_stride: u32,
  plus_at: u32,
  plus_stride: u32,
  divisor: u32,
  scale: u32,
  grid_width: u32,
}

@group(0) @binding(0) var<uniform> shape: Shape;
@group(0) @binding(1) var<storage, read> x: array<u32>;
@group(0) @binding(2) var<storage, read> times: array<u32>;
@group(0) @binding(3) var<storage, read> plus: array<u32>;
@group(0) @binding(4) var<storage, read_write> y: array<u32>;

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) id: vec3<u32>, @builtin(local_invocation_index) t: u32) {
  let n = (id.y * shape.grid_width + id.x) * THREADS + t;
  if (n >= shape.count) { return; }
  let row = n / shape.width;
  let column = n % shape.width;
  var number = scaled_function_of(x[shape.x_at + row * shape.x_stride + column]);
  if (TIMES) { number = product_of(number, times[shape.times_at + row * shape.times_stride + column]); }
  if (PLUS) { number = sum_of(number, plus[shape.plus_at + row * shape.plus_stride + column]); }
  y[n] = number;
}
