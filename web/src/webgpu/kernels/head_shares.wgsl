// The shares of chosen heads in the output of a layer, for chosen rows: the result of a head times its rows of the output
// projection, without the bias. One invocation computes ROWS rows of one head in one vec4 of columns, so it reads a
// weight once for all of them.

struct Shape {
  // strides of the heads' results, in elements
  batch: u32,
  head: u32,
  position: u32,
  feature: u32,
  width: u32,        // of a head
  head_rows: u32,    // rows of W from one head to the next
  weight4: u32,      // vec4 of a row of W
  columns: u32,      // of the output
  columns4: u32,
  batch_rows: u32,   // chosen rows
  rows: u32,         // B * batch_rows
  row_blocks: u32,
  heads: u32,        // chosen heads
  count: u32,        // invocations with work
  grid_width: u32,
}

@group(0) @binding(0) var<uniform> shape: Shape;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read> weight: array<weight_four>;  // [heads * head_rows, weight4]
@group(0) @binding(3) var<storage, read> lists: array<u32>;           // the chosen rows, then the chosen heads
@group(0) @binding(4) var<storage, read_write> shares: array<f32>;    // [B, heads, rows, columns]
@group(0) @binding(7) var<storage, read> scales: array<vec4<f32>>;    // [weight4], with SCALED: W holds whole numbers

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) id: vec3<u32>, @builtin(local_invocation_index) t: u32) {
  let n = (id.y * shape.grid_width + id.x) * THREADS + t;
  if (n >= shape.count) { return; }
  let column4 = n % shape.columns4;
  let first = n / shape.columns4 % shape.row_blocks * ROWS;
  let h = n / shape.columns4 / shape.row_blocks;
  let head = lists[shape.batch_rows + h];
  var row_at: array<u32, ROWS>;
  var sums: array<vec4<f32>, ROWS>;
  for (var r = 0u; r < ROWS; r++) {
    let row = min(first + r, shape.rows - 1u);
    row_at[r] = row / shape.batch_rows * shape.batch + head * shape.head + lists[row % shape.batch_rows] * shape.position;
  }
  for (var d = 0u; d < shape.width; d++) {
    let w = weight_at((head * shape.head_rows + d) * shape.weight4 + column4);
    for (var r = 0u; r < ROWS; r++) { sums[r] += x[row_at[r] + d * shape.feature] * w; }
  }
  for (var r = 0u; r < ROWS; r++) {
    let row = first + r;
    if (row >= shape.rows) { return; }
    let b = row / shape.batch_rows;
    if (SCALED) { sums[r] *= scales[column4]; }
    let at = ((b * shape.heads + h) * shape.batch_rows + row % shape.batch_rows) * shape.columns + 4u * column4;
    for (var c = 0u; c < 4u; c++) {
      if (4u * column4 + c < shape.columns) { shares[at + c] = sums[r][c]; }
    }
  }
}
