// y = x W + b. Each workgroup computes a tile of 4 * THREADS_Y rows by 4 * COLUMNS4 * THREADS_X columns, each
// invocation 4 rows by COLUMNS4 vec4 columns. Columns are split into heads of head_width; the heads have a stride of
// their own.

struct Shape {
  rows: u32,     // B * S
  length: u32,   // S
  in4: u32,      // vec4 of a row of x
  out4: u32,     // vec4 of a row of W
  columns: u32,  // columns of y
  head_width: u32,
  // strides of y in elements
  batch: u32,
  head: u32,
  position: u32,
  feature: u32,
  has_bias: u32,
  grid_width: u32,
}

@group(0) @binding(0) var<uniform> shape: Shape;
@group(0) @binding(1) var<storage, read> x: array<vec4<f32>>;       // [rows, in4]
@group(0) @binding(2) var<storage, read> weight: array<vec4<f32>>;  // [4 * in4, out4]
@group(0) @binding(3) var<storage, read> bias: array<f32>;          // [columns]
@group(0) @binding(4) var<storage, read_write> y: array<f32>;

const TILE_ROWS = 4u * THREADS_Y;
const TILE_COLUMNS4 = COLUMNS4 * THREADS_X;

var<workgroup> x_tile: array<vec4<f32>, DEPTH4 * TILE_ROWS>;            // [depth in vec4][row]
var<workgroup> w_tile: array<vec4<f32>, 4 * DEPTH4 * TILE_COLUMNS4>;    // [depth][column in vec4]
var<private> sums: array<vec4<f32>, 4 * COLUMNS4>;                      // [row][column in vec4]

fn load_tiles(first_row: u32, first_column4: u32, depth: u32, t: u32) {
  for (var n = t; n < DEPTH4 * TILE_ROWS; n += THREADS_X * THREADS_Y) {
    let k4 = depth + n % DEPTH4;
    let row = first_row + n / DEPTH4;
    var value = vec4<f32>();
    if (row < shape.rows && k4 < shape.in4) { value = x[row * shape.in4 + k4]; }
    x_tile[(n % DEPTH4) * TILE_ROWS + n / DEPTH4] = value;
  }
  for (var n = t; n < 4u * DEPTH4 * TILE_COLUMNS4; n += THREADS_X * THREADS_Y) {
    let k = 4u * depth + n / TILE_COLUMNS4;
    let c4 = first_column4 + n % TILE_COLUMNS4;
    var value = vec4<f32>();
    if (k < 4u * shape.in4 && c4 < shape.out4) { value = weight[k * shape.out4 + c4]; }
    w_tile[n] = value;
  }
}

fn multiply(tx: u32, ty: u32) {
  for (var k4 = 0u; k4 < DEPTH4; k4++) {
    for (var r = 0u; r < 4u; r++) {
      let a = x_tile[k4 * TILE_ROWS + ty * 4u + r];
      for (var c = 0u; c < COLUMNS4; c++) {
        let at = 4u * k4 * TILE_COLUMNS4 + c * THREADS_X + tx;
        sums[r * COLUMNS4 + c] += a.x * w_tile[at] + a.y * w_tile[at + TILE_COLUMNS4] +
                                  a.z * w_tile[at + 2u * TILE_COLUMNS4] + a.w * w_tile[at + 3u * TILE_COLUMNS4];
      }
    }
  }
}

fn store_y(row: u32, column: u32, sum: f32) {
  if (row >= shape.rows || column >= shape.columns) { return; }
  let at = row / shape.length * shape.batch + column / shape.head_width * shape.head +
           row % shape.length * shape.position + column % shape.head_width * shape.feature;
  y[at] = sum + select(0.0f, bias[column * shape.has_bias], shape.has_bias != 0u);
}

@compute @workgroup_size(THREADS_X * THREADS_Y)
fn main(@builtin(workgroup_id) id: vec3<u32>, @builtin(local_invocation_index) t: u32) {
  let work = id.y * shape.grid_width + id.x;
  let column_tiles = (shape.out4 + TILE_COLUMNS4 - 1u) / TILE_COLUMNS4;
  let first_row = work / column_tiles * TILE_ROWS;
  let first_column4 = work % column_tiles * TILE_COLUMNS4;
  if (first_row >= shape.rows) { return; }
  let tx = t % THREADS_X;
  let ty = t / THREADS_X;
  for (var n = 0u; n < 4u * COLUMNS4; n++) { sums[n] = vec4<f32>(); }
  for (var depth = 0u; depth < shape.in4; depth += DEPTH4) {
    workgroupBarrier();  // the tiles of the step before have been read
    load_tiles(first_row, first_column4, depth, t);
    workgroupBarrier();  // both tiles are complete
    multiply(tx, ty);
  }
  for (var r = 0u; r < 4u; r++) {
    for (var c = 0u; c < COLUMNS4; c++) {
      for (var n = 0u; n < 4u; n++) {
        store_y(first_row + ty * 4u + r, 4u * (first_column4 + c * THREADS_X + tx) + n, sums[r * COLUMNS4 + c][n]);
      }
    }
  }
}
