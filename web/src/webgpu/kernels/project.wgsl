// A projection of many rows. A workgroup computes a tile of 8 * ROW_THREADS rows by 8 * COLUMN_THREADS columns, each
// invocation 8 rows by 8 columns: the vec4 ty and ROW_THREADS + ty of rows, tx and COLUMN_THREADS + tx of columns.
// If there are several parts, a workgroup computes one part of the depth, and project_sum adds them. While a tile is
// multiplied, the next one is on its way into registers. The product stands in `main`, because there
// the compiler sees that no index leaves its array.

@group(0) @binding(1) var<storage, read> x: array<vec4<f32>>;         // [rows, in4]
@group(0) @binding(2) var<storage, read> weight: array<weight_four>;  // [in, weight4], in is a multiple of DEPTH
@group(0) @binding(6) var<storage, read_write> part_sums: array<vec4<f32>>;  // [parts, rows, columns in vec4]

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

/// Multiplies 4 rows in one vec4 of columns by the columns' scales.
fn scale_rows(first: u32, scale: vec4<f32>) {
  sums[first] *= scale;
  sums[first + 2u] *= scale;
  sums[first + 4u] *= scale;
  sums[first + 6u] *= scale;
}

/// Adds the bias to 4 rows in one vec4 of columns.
fn add_bias(first: u32, bias: vec4<f32>) {
  sums[first] += bias;
  sums[first + 2u] += bias;
  sums[first + 4u] += bias;
  sums[first + 6u] += bias;
}

/// The largest sizes of 4 rows in one vec4 of columns.
fn largest_of(first: u32) -> vec4<f32> {
  return vec4<f32>(largest_in(sums[first]), largest_in(sums[first + 2u]),
                   largest_in(sums[first + 4u]), largest_in(sums[first + 6u]));
}

/// The squares of 4 rows in one vec4 of columns.
fn squares_of(first: u32) -> vec4<f32> {
  let a = sums[first];
  let b = sums[first + 2u];
  let c = sums[first + 4u];
  let d = sums[first + 6u];
  return vec4<f32>(dot(a, a), dot(b, b), dot(c, c), dot(d, d));
}

/// Multiplies 4 rows in one vec4 of columns by their factors.
fn raise_rows(first: u32, factors: vec4<f32>) {
  sums[first] *= factors.x;
  sums[first + 2u] *= factors.y;
  sums[first + 4u] *= factors.z;
  sums[first + 6u] *= factors.w;
}

/// Divides 4 rows in one vec4 of columns by their sizes.
fn norm_rows(first: u32, gain: vec4<f32>, sizes: vec4<f32>) {
  sums[first] = sums[first] / sizes.x * gain;
  sums[first + 2u] = sums[first + 2u] / sizes.y * gain;
  sums[first + 4u] = sums[first + 4u] / sizes.z * gain;
  sums[first + 6u] = sums[first + 6u] / sizes.w * gain;
}

/// Norms the heads in the two vec4 of columns. w_tile holds what each group of 4 rows by one vec4 of columns gives to its
/// head, [half of the rows][column][ty].
fn norm_heads(first4: u32, tx: u32, ty: u32) {
  var powers: array<vec4<i32>, 4>;  // of the groups: [half][two vec4 of columns]
  unroll (g < 4) { w_tile[(g * COLUMN_THREADS + tx) * ROW_THREADS + ty] = largest_of(g / 2u * 8u + g % 2u); }
  workgroupBarrier();  // the largest numbers are there
  unroll (g < 4) {
    let column4 = g % 2u * COLUMN_THREADS + tx;
    if (is_head(first4 + column4)) {
      let begin = g / 2u * COLUMNS4 + column4 - place_in_head(first4 + column4);
      var largest = vec4<f32>();
      for (var c = begin; c < begin + shape.head4; c++) { largest = max(largest, w_tile[c * ROW_THREADS + ty]); }
      powers[g] = head_powers(largest);
      raise_rows(g / 2u * 8u + g % 2u, two_to(powers[g]));
    }
  }
  workgroupBarrier();  // the largest numbers have been read
  unroll (g < 4) { w_tile[(g * COLUMN_THREADS + tx) * ROW_THREADS + ty] = squares_of(g / 2u * 8u + g % 2u); }
  workgroupBarrier();  // the squares are complete
  unroll (g < 4) {
    let column4 = g % 2u * COLUMN_THREADS + tx;
    if (is_head(first4 + column4)) {
      let begin = g / 2u * COLUMNS4 + column4 - place_in_head(first4 + column4);
      var squares = vec4<f32>();
      for (var c = begin; c < begin + shape.head4; c++) { squares += w_tile[c * ROW_THREADS + ty]; }
      norm_rows(g / 2u * 8u + g % 2u, columns[shape.weight4 + first4 + column4], head_sizes(squares, powers[g]));
    }
  }
  workgroupBarrier();  // the squares have been read
}

/// Puts 4 rows of one vec4 of columns where only this invocation reads them.
fn set_aside(t: u32, first: u32) {
  w_tile[t] = sums[first];
  w_tile[t + THREADS] = sums[first + 2u];
  w_tile[t + 2u * THREADS] = sums[first + 4u];
  w_tile[t + 3u * THREADS] = sums[first + 6u];
}

/// Stores all sums in one loop, because the text of a store is long.
fn store_sums(t: u32, first_row: u32, first4: u32, part: u32, tile: u32) {
  for (var quarter = 0u; quarter < 4u; quarter++) {
    switch (quarter) {
      case 0u: { set_aside(t, 0u); }
      case 1u: { set_aside(t, 1u); }
      case 2u: { set_aside(t, 8u); }
      default: { set_aside(t, 9u); }
    }
    let row = first_row + 4u * (t / COLUMN_THREADS + quarter / 2u * ROW_THREADS);
    let column4 = t % COLUMN_THREADS + quarter % 2u * COLUMN_THREADS;
    let end = min(row + 4u, shape.rows);
    for (var r = row; r < end; r++) {
      let sum = w_tile[t + (r - row) * THREADS];
      if (shape.parts == 1u) {
        store_four(r, first4 + column4, sum);
      } else {
        part_sums[((part * shape.rows + r) * shape.column_tiles + tile) * COLUMNS4 + column4] = sum;
      }
    }
  }
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) id: vec3<u32>, @builtin(local_invocation_index) t: u32) {
  let work = shape.first_workgroup + id.y * shape.grid_width + id.x;
  let tile = work % shape.column_tiles;
  let part = work / shape.column_tiles % shape.parts;
  let first_row = work / shape.column_tiles / shape.parts * 4u * ROWS4;
  let first4 = shape.first4 + tile * COLUMNS4;
  if (first_row >= shape.rows) { return; }
  let tx = t % COLUMN_THREADS;
  let ty = t / COLUMN_THREADS;
  let x_rows = shape.in4 * min(vec4<u32>(first_row + 4u * (t % ROWS4)) + vec4<u32>(0u, 1u, 2u, 3u), vec4<u32>(shape.rows - 1u));
  let begin4 = part * shape.part4;
  let end4 = min(begin4 + shape.part4, shape.in4);
  let x_k4 = t / ROWS4;
  var w_at = (4u * begin4 + t / COLUMNS4) * shape.weight4 + first4 + t % COLUMNS4;
  if (t < X_THREADS) { load_x(x_rows, begin4 + x_k4, false); }
  load_w(w_at);
  for (var depth4 = begin4; depth4 < end4; depth4 += DEPTH / 4u) {
    workgroupBarrier();  // the tile before has been read
    store_tiles(t);
    workgroupBarrier();  // the tile is complete
    let next4 = depth4 + DEPTH / 4u;
    w_at += DEPTH * shape.weight4;
    if (next4 < end4) {
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

  workgroupBarrier();  // the last tile has been read
  if (shape.parts == 1u) {
    if (SCALED) {
      let scale = scales[first4 + tx];
      let scale2 = scales[first4 + COLUMN_THREADS + tx];
      scale_rows(0u, scale);
      scale_rows(8u, scale);
      scale_rows(1u, scale2);
      scale_rows(9u, scale2);
    }
    let bias = columns[first4 + tx];
    let bias2 = columns[first4 + COLUMN_THREADS + tx];
    add_bias(0u, bias);
    add_bias(8u, bias);
    add_bias(1u, bias2);
    add_bias(9u, bias2);
    if (HEADS && shape.norm != NO_NORM && is_head(first4)) { norm_heads(first4, tx, ty); }
  }
  store_sums(t, first_row, first4, part, tile);
}
