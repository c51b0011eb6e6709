// Copies chosen heads of chosen rows from one strided array into another: what a call shows of the inside of a layer, and
// what it puts there. One invocation copies one number. Numbers are copied as bits, so a NaN keeps its bits. The source
// may be a cache; numbers of float16 and int8 become float32.

struct Shape {
  // strides in elements
  from_batch: u32,
  from_head: u32,
  from_position: u32,
  from_feature: u32,
  to_batch: u32,
  to_head: u32,
  to_position: u32,
  to_feature: u32,
  heads: u32,
  width: u32,
  heads_at: u32,     // in lists
  count: u32,        // numbers to copy
  row_width: u32,    // elements of an int8 row
  first_scale: u32,  // the word of the first scale of int8 rows
  first_mean: u32,   // the word of the first mean of int8 rows; 0: there are none
  grid_width: u32,
}

@group(0) @binding(0) var<uniform> shape: Shape;
@group(0) @binding(1) var<storage, read> source: array<u32>;
/// For each row its batch, its number in `source` and its number in `copy`; then for each head the latter two.
@group(0) @binding(2) var<storage, read> lists: array<u32>;
@group(0) @binding(3) var<storage, read_write> copy: array<u32>;

const SCALE_BLOCK = 32u;  // numbers of an int8 row that share a scale
const NOWHERE = 0xffffffffu;  // a row that the source does not have: its copy is 0

fn number_at(at: u32) -> u32 {
  if (!INT8) { return element(at); }
  let d = at % shape.row_width;
  let scales = (shape.row_width + SCALE_BLOCK - 1u) / SCALE_BLOCK;
  let scale = source[shape.first_scale + at / shape.row_width * scales + d / SCALE_BLOCK];
  if (not_finite(scale)) { return NOT_A_NUMBER; }
  let byte = i32(source[at / 4u] << (24u - 8u * (at % 4u))) >> 24u;
  let number = bitcast<f32>(scale) * f32(byte);
  if (shape.first_mean == 0u) { return bitcast<u32>(number); }
  return bitcast<u32>(number + bitcast<f32>(source[shape.first_mean + at / shape.from_head * shape.row_width + d]));
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) id: vec3<u32>, @builtin(local_invocation_index) t: u32) {
  let n = (id.y * shape.grid_width + id.x) * THREADS + t;
  if (n >= shape.count) { return; }
  let d = n % shape.width;
  let head = shape.heads_at + 2u * (n / shape.width % shape.heads);
  let row = 3u * (n / shape.width / shape.heads);
  let batch = lists[row];
  let to = batch * shape.to_batch + lists[head + 1u] * shape.to_head + lists[row + 2u] * shape.to_position +
           d * shape.to_feature;
  if (lists[row + 1u] == NOWHERE) {
    copy[to] = 0u;
    return;
  }
  copy[to] = number_at(batch * shape.from_batch + lists[head] * shape.from_head + lists[row + 1u] * shape.from_position +
                       d * shape.from_feature);
}
