// The gradient of a weight: dW = Xᵀ dY, a sum over rows. A workgroup computes a tile of 64 columns of X by 64 columns of
// dY, each invocation 8 by 8: the vec4 ty and 8 + ty of columns of X, tx and 8 + tx of dY. It sums one part of the rows;
// store_gradient adds the parts. While a tile is multiplied, the next one is on its way into registers.

struct Shape {
  x4: u32,         // vec4 of a row of x
  dy4: u32,        // vec4 of a row of dy
  rows: u32,
  part_rows: u32,  // rows of a part, a multiple of DEPTH
  x_tiles: u32,    // tiles of columns
  dy_tiles: u32,
  first_workgroup: u32,  // of this dispatch
  grid_width: u32,
}

@group(0) @binding(0) var<uniform> shape: Shape;
@group(0) @binding(1) var<storage, read> x: array<vec4<u32>>;   // [rows, x4], float32 as bits
@group(0) @binding(2) var<storage, read> dy: array<vec4<u32>>;  // [rows, dy4]
@group(0) @binding(3) var<storage, read_write> part_sums: array<vec4<f32>>;  // [parts, 4 * x4, dy4]

const TILE4 = 16u;
const DEPTH = 16u;
const THREADS = 64u;
const LOAD_ROWS = THREADS / TILE4;  // each invocation loads 4 vec4 of x and of dy, so many rows apart

var<workgroup> x_tile: array<vec4<f32>, DEPTH * TILE4>;   // [row][column in vec4]
var<workgroup> dy_tile: array<vec4<f32>, DEPTH * TILE4>;

var<private> sums: array<vec4<f32>, 16>;  // [column of x][two vec4 of columns of dy]
var<private> next_x: array<vec4<f32>, 4>;
var<private> next_dy: array<vec4<f32>, 4>;

/// Whether the gradient of a whole row is zero. Such a row counts for nothing, also if its x is NaN: that may be a token
/// that no other token sees.
fn is_silent(row: u32) -> bool {
  for (var c = 0u; c < shape.dy4; c++) {
    if (any((dy[row * shape.dy4 + c] & vec4<u32>(0x7fffffffu)) != vec4<u32>())) { return false; }
  }
  return true;
}

fn x_at(row: u32, column4: u32) -> vec4<f32> {
  let bits = x[row * shape.x4 + column4];
  let special = any((bits & vec4<u32>(EXPONENT)) == vec4<u32>(EXPONENT));
  if (special && is_silent(row)) { return vec4<f32>(); }
  return bitcast<vec4<f32>>(bits);
}

/// Loads a tile. Rows past the end of the part are zero in x.
fn load_tiles(first: u32, end: u32, x_column4: u32, dy_column4: u32) {
  unroll (n < 4) {
    let row = first + n * LOAD_ROWS;
    let inside = min(row, end - 1u);
    next_x[n] = select(vec4<f32>(), x_at(inside, x_column4), row < end);
    next_dy[n] = bitcast<vec4<f32>>(dy[inside * shape.dy4 + dy_column4]);
  }
}

fn store_tiles(t: u32) {
  unroll (n < 4) {
    x_tile[t + n * THREADS] = next_x[n];
    dy_tile[t + n * THREADS] = next_dy[n];
  }
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) id: vec3<u32>, @builtin(local_invocation_index) t: u32) {
  let work = shape.first_workgroup + id.y * shape.grid_width + id.x;
  let first_dy4 = work % shape.dy_tiles * TILE4;
  let first_x4 = work / shape.dy_tiles % shape.x_tiles * TILE4;
  let part = work / shape.dy_tiles / shape.x_tiles;
  let begin = part * shape.part_rows;
  if (begin >= shape.rows) { return; }
  let end = min(begin + shape.part_rows, shape.rows);
  let tx = t % 8u;
  let ty = t / 8u;
  // columns past the end are loaded from the last one, and not stored
  let x_column4 = min(first_x4 + t % TILE4, shape.x4 - 1u);
  let dy_column4 = min(first_dy4 + t % TILE4, shape.dy4 - 1u);
  let load_row = t / TILE4;
  load_tiles(begin + load_row, end, x_column4, dy_column4);
  for (var row = begin; row < end; row += DEPTH) {
    workgroupBarrier();  // the tile before has been read
    store_tiles(t);
    workgroupBarrier();  // the tile is complete
    if (row + DEPTH < end) { load_tiles(row + DEPTH + load_row, end, x_column4, dy_column4); }
    for (var k = 0u; k < DEPTH; k++) {
      let a = x_tile[k * TILE4 + ty];
      let b = x_tile[k * TILE4 + 8u + ty];
      let v = dy_tile[k * TILE4 + tx];
      let w = dy_tile[k * TILE4 + 8u + tx];
      sums[0] += a.x * v;
      sums[1] += a.x * w;
      sums[2] += a.y * v;
      sums[3] += a.y * w;
      sums[4] += a.z * v;
      sums[5] += a.z * w;
      sums[6] += a.w * v;
      sums[7] += a.w * w;
      sums[8] += b.x * v;
      sums[9] += b.x * w;
      sums[10] += b.y * v;
      sums[11] += b.y * w;
      sums[12] += b.z * v;
      sums[13] += b.z * w;
      sums[14] += b.w * v;
      sums[15] += b.w * w;
    }
  }

  unroll (n < 16) {
    let i4 = first_x4 + ty + n / 8u * 8u;
    let c4 = first_dy4 + tx + n % 2u * 8u;
    if (i4 < shape.x4 && c4 < shape.dy4) {
      part_sums[((part * shape.x4 + i4) * 4u + n / 2u % 4u) * shape.dy4 + c4] = sums[n];
    }
  }
}
