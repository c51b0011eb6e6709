// The gradient of a table whose rows are added to tokens: row r is the sum over the tokens that have got it, in their
// order. One invocation computes one number.

struct Shape {
  // strides of the tokens' gradients, in elements
  batch: u32,
  position: u32,
  feature: u32,
  length: u32,  // tokens of a batch
  width: u32,   // numbers of a row
  count: u32,   // numbers of the table
  grid_width: u32,
}

@group(0) @binding(0) var<uniform> shape: Shape;
@group(0) @binding(1) var<storage, read> dx: array<f32>;
@group(0) @binding(2) var<storage, read> lists: array<u32>;  // where the list of each row begins and the last one ends; then the tokens
@group(0) @binding(3) var<storage, read_write> table: array<f32>;

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) id: vec3<u32>, @builtin(local_invocation_index) t: u32) {
  let n = (id.y * shape.grid_width + id.x) * THREADS + t;
  if (n >= shape.count) { return; }
  let row = n / shape.width;
  var sum = 0.0f;
  for (var at = lists[row]; at < lists[row + 1u]; at++) {
    let token = lists[at];
    sum += dx[token / shape.length * shape.batch + token % shape.length * shape.position + n % shape.width * shape.feature];
  }
  table[n] = sum;
}
