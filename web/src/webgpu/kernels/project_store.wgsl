// What the kernels of projections share: their numbers, and how they finish and store a row's numbers. y = x W + b; each
// head of queries and keys is then normed, and turned by the angle of its token (rotary embedding). So that the two
// features of a pair are neighbours, the columns of a turned head of W are ordered by pairs; y has the usual order.

struct Shape {
  rows: u32,         // B * S
  length: u32,       // S
  in4: u32,          // vec4 of a row of x
  weight4: u32,      // vec4 of a row of W
  first4: u32,       // the first column that is computed, in vec4
  column_tiles: u32, // tiles of columns that are computed
  columns: u32,      // columns of y. W may be padded
  // strides of y in elements
  batch: u32,
  position: u32,
  feature: u32,
  parts: u32,        // of the depth
  part4: u32,        // vec4 of a part of the depth
  // heads, only with HEADS: columns before query_end4, and from key_first4 to key_end4
  query_end4: u32,
  key_first4: u32,
  key_end4: u32,
  head4: u32,        // vec4 of a head
  head_dim: u32,
  norm: u32,         // NO_NORM, RMS or L2
  epsilon: u32,      // an f32 as bits
  pairs: u32,        // that turn, of a head; 0 without rotary embedding
  interleaved: u32,
  key_angles: u32,   // the row of `angles` of the first key
  // the map, only with FUNCTION: two f32 as bits, where the first row of `other` begins, and how far apart its rows lie
  divisor: u32,
  scale: u32,
  other_at: u32,
  other_stride: u32,
  first_workgroup: u32,  // of this dispatch
  grid_width: u32,
}

@group(0) @binding(0) var<uniform> shape: Shape;
@group(0) @binding(3) var<storage, read> columns: array<vec4<f32>>;  // [2, weight4]: bias, and the norm's gain
@group(0) @binding(4) var<storage, read> angles: array<vec2<f32>>;   // cos and sin, [rows, pairs]
@group(0) @binding(5) var<storage, read_write> y: array<f32>;
@group(0) @binding(7) var<storage, read> scales: array<vec4<f32>>;   // [weight4], with SCALED: W holds whole numbers

fn is_head(column4: u32) -> bool {
  return column4 < shape.query_end4 || (column4 >= shape.key_first4 && column4 < shape.key_end4);
}

/// The column's place in its head, in vec4.
fn place_in_head(column4: u32) -> u32 {
  return (column4 - select(0u, shape.key_first4, column4 >= shape.key_first4)) % shape.head4;
}

/// The size of the largest of four numbers.
fn largest_in(numbers: vec4<f32>) -> f32 {
  let sizes = abs(numbers);
  return max(max(sizes.x, sizes.y), max(sizes.z, sizes.w));
}

fn row_at(row: u32) -> u32 { return row / shape.length * shape.batch + row % shape.length * shape.position; }

with map {
@group(0) @binding(8) var<storage, read> other: array<u32>;  // the rows that the map multiplies by, or adds

/// scale f(number / divisor) times + plus
fn mapped(number: f32, row: u32, column: u32) -> f32 {
  let at = shape.other_at + row * shape.other_stride + column;
  var word = scaled_function_of(word_of(number));
  if (TIMES) { word = product_of(word, other[at]); }
  if (PLUS) { word = sum_of(word, other[at]); }
  return float_from(word);
}
}

fn store_plain(row: u32, column4: u32, value: vec4<f32>) {
  let first = 4u * (column4 - shape.first4);
  let at = row_at(row) + first * shape.feature;
  for (var n = 0u; n < 4u && first + n < shape.columns; n++) {
    var number = value[n];
    with map { number = mapped(number, row, first + n); }
    y[at + n * shape.feature] = number;
  }
}

fn turned(pair: vec2<f32>, angle: vec2<f32>) -> vec2<f32> {
  return vec2<f32>(angle.x * pair.x - angle.y * pair.y, angle.x * pair.y + angle.y * pair.x);
}

fn store_pair(at: u32, place: u32, pair: vec2<f32>) {
  let split = shape.interleaved == 0u && place < 2u * shape.pairs;
  let first = at + select(place, place / 2u, split);
  y[first] = pair.x;
  y[first + select(1u, shape.pairs, split)] = pair.y;
}

/// Stores four numbers of a head. A head lies side by side in y.
fn store_head(row: u32, column4: u32, value: vec4<f32>) {
  let place4 = place_in_head(column4);
  let at = row_at(row) + 4u * (column4 - shape.first4 - place4);
  let angle = (row + select(0u, shape.key_angles, column4 >= shape.key_first4)) * shape.pairs + 2u * place4;
  var low = value.xy;
  var high = value.zw;
  if (2u * place4 < shape.pairs) { low = turned(low, angles[angle]); }
  if (2u * place4 + 1u < shape.pairs) { high = turned(high, angles[angle + 1u]); }
  store_pair(at, 4u * place4, low);
  store_pair(at, 4u * place4 + 2u, high);
}

fn store_four(row: u32, column4: u32, value: vec4<f32>) {
  if (HEADS && is_head(column4)) {
    store_head(row, column4, value);
  } else {
    store_plain(row, column4, value);
  }
}
