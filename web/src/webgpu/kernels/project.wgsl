// A projection of many rows. A workgroup computes a tile of 8 * ROW_THREADS rows by 8 * COLUMN_THREADS columns, each
// invocation 8 rows by 8 columns: the vec4 ty and ROW_THREADS + ty of rows, tx and COLUMN_THREADS + tx of columns.
// While a tile is multiplied, the next one is on its way into registers. The product stands in `main`, because there
// the compiler sees that no index leaves its array.

@group(0) @binding(1) var<storage, read> x: array<vec4<f32>>;         // [rows, in4]
@group(0) @binding(2) var<storage, read> weight: array<weight_four>;  // [in, weight4], in is a multiple of DEPTH

const THREADS = ROW_THREADS * COLUMN_THREADS;
const ROWS4 = 2u * ROW_THREADS;
const COLUMNS4 = 2u * COLUMN_THREADS;
const DEPTH = 16u;
const X_THREADS = ROWS4 * DEPTH / 4u;        // each loads 4 rows by one vec4 of x
const W_ROWS = THREADS / COLUMNS4;           // each invocation loads W_LOADS vec4 of W, so many rows apart
const W_LOADS = DEPTH / W_ROWS;

var<workgroup> x_tile: array<vec4<f32>, DEPTH * ROWS4>;     // [depth][row in vec4]
var<workgroup> w_tile: array<vec4<f32>, DEPTH * COLUMNS4>;  // [depth][column in vec4]

var<private> sums: array<vec4<f32>, 16>;  // [row][two vec4 of columns]
var<private> next_x: mat4x4<f32>;
var<private> next_w: array<vec4<f32>, 4>;

/// Loads 4 rows by one vec4 of x. The last tile may reach beyond the row; what lies there must not count.
fn load_x(rows: vec4<u32>, k4: u32, whole: bool) {
  if (whole) {
    next_x = mat4x4<f32>(x[rows.x + k4], x[rows.y + k4], x[rows.z + k4], x[rows.w + k4]);
  } else if (k4 < shape.in4) {
    next_x = mat4x4<f32>(x[rows.x + k4], x[rows.y + k4], x[rows.z + k4], x[rows.w + k4]);
  } else {
    next_x = mat4x4<f32>();
  }
}

fn load_w(at: u32) {
  next_w[0] = weight_at(at);
  next_w[1] = weight_at(at + W_ROWS * shape.weight4);
  next_w[2] = weight_at(at + 2u * W_ROWS * shape.weight4);
  next_w[3] = weight_at(at + 3u * W_ROWS * shape.weight4);
}

fn store_tiles(t: u32) {
  if (t < X_THREADS) {
    let columns = transpose(next_x);
    let at = t / ROWS4 * 4u * ROWS4 + t % ROWS4;
    x_tile[at] = columns[0];
    x_tile[at + ROWS4] = columns[1];
    x_tile[at + 2u * ROWS4] = columns[2];
    x_tile[at + 3u * ROWS4] = columns[3];
  }
  w_tile[t] = next_w[0];
  w_tile[t + THREADS] = next_w[1];
  w_tile[t + 2u * THREADS] = next_w[2];
  w_tile[t + 3u * THREADS] = next_w[3];
}

/// The squares of 4 rows in one vec4 of columns.
fn squares_of(first: u32) -> vec4<f32> {
  let a = sums[first];
  let b = sums[first + 2u];
  let c = sums[first + 4u];
  let d = sums[first + 6u];
  return vec4<f32>(dot(a, a), dot(b, b), dot(c, c), dot(d, d));
}

/// The sizes of 4 rows of the head with this column of the tile. w_tile holds the squares, [half][column][ty].
fn size_in_tile(half: u32, first4: u32, column4: u32, ty: u32) -> vec4<f32> {
  let begin = column4 - place_in_head(first4 + column4);
  var squares = vec4<f32>();
  for (var c = begin; c < begin + shape.head4; c++) { squares += w_tile[(half * COLUMNS4 + c) * ROW_THREADS + ty]; }
  return size_of(squares);
}

fn store_rows(row: u32, column4: u32, first: u32, sizes: vec4<f32>) {
  store_four(row, column4, sums[first], sizes.x);
  store_four(row + 1u, column4, sums[first + 2u], sizes.y);
  store_four(row + 2u, column4, sums[first + 4u], sizes.z);
  store_four(row + 3u, column4, sums[first + 6u], sizes.w);
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) id: vec3<u32>, @builtin(local_invocation_index) t: u32) {
  let work = id.y * shape.grid_width + id.x;
  let first_row = work / shape.column_tiles * 4u * ROWS4;
  let first4 = shape.first4 + work % shape.column_tiles * COLUMNS4;
  if (first_row >= shape.rows) { return; }
  let tx = t % COLUMN_THREADS;
  let ty = t / COLUMN_THREADS;
  let x_rows = shape.in4 * min(vec4<u32>(first_row + 4u * (t % ROWS4)) + vec4<u32>(0u, 1u, 2u, 3u), vec4<u32>(shape.rows - 1u));
  let x_k4 = t / ROWS4;
  var w_at = t / COLUMNS4 * shape.weight4 + first4 + t % COLUMNS4;
  for (var n = 0u; n < 16u; n++) { sums[n] = vec4<f32>(); }
  if (t < X_THREADS) { load_x(x_rows, x_k4, false); }
  load_w(w_at);
  for (var depth4 = 0u; depth4 < shape.in4; depth4 += DEPTH / 4u) {
    workgroupBarrier();  // the tile before has been read
    store_tiles(t);
    workgroupBarrier();  // the tile is complete
    let next4 = depth4 + DEPTH / 4u;
    w_at += DEPTH * shape.weight4;
    if (next4 < shape.in4) {
      if (t < X_THREADS) { load_x(x_rows, next4 + x_k4, next4 + DEPTH / 4u <= shape.in4); }
      load_w(w_at);
    }
    for (var k = 0u; k < DEPTH; k++) {
      let a = x_tile[k * ROWS4 + ty];
      let b = x_tile[k * ROWS4 + ROW_THREADS + ty];
      let v = w_tile[k * COLUMNS4 + tx];
      let w = w_tile[k * COLUMNS4 + COLUMN_THREADS + tx];
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

  let v4 = first4 + tx;
  let w4 = first4 + COLUMN_THREADS + tx;
  let bias = columns[v4];
  let bias2 = columns[w4];
  for (var n = 0u; n < 16u; n += 2u) {
    sums[n] += bias;
    sums[n + 1u] += bias2;
  }
  var sizes = mat4x4<f32>();  // of the upper and lower rows in v4, then in w4
  if (HEADS && shape.norm != NO_NORM && is_head(first4)) {
    workgroupBarrier();  // the last tile has been read
    w_tile[tx * ROW_THREADS + ty] = squares_of(0u);
    w_tile[(COLUMN_THREADS + tx) * ROW_THREADS + ty] = squares_of(1u);
    w_tile[(COLUMNS4 + tx) * ROW_THREADS + ty] = squares_of(8u);
    w_tile[(COLUMNS4 + COLUMN_THREADS + tx) * ROW_THREADS + ty] = squares_of(9u);
    workgroupBarrier();  // the squares are complete
    sizes = mat4x4<f32>(
      size_in_tile(0u, first4, tx, ty),
      size_in_tile(1u, first4, tx, ty),
      size_in_tile(0u, first4, COLUMN_THREADS + tx, ty),
      size_in_tile(1u, first4, COLUMN_THREADS + tx, ty),
    );
  }
  let upper = first_row + 4u * ty;
  let lower = upper + 4u * ROW_THREADS;
  store_rows(upper, v4, 0u, sizes[0]);
  store_rows(lower, v4, 8u, sizes[1]);
  store_rows(upper, w4, 1u, sizes[2]);
  store_rows(lower, w4, 9u, sizes[3]);
}
