// The mean of chosen rows, for each of some heads. A workgroup computes LANES features of one head: SLICES invocations
// share a feature, and each sums every SLICES-th row, BLOCK of them at a time, so that the error of the sum grows slowly.

struct Shape {
  // strides in elements
  batch: u32,
  head: u32,
  position: u32,
  feature: u32,
  width: u32,
  rows: u32,
  heads: u32,
  tiles: u32,  // of features
  grid_width: u32,
}

@group(0) @binding(0) var<uniform> shape: Shape;
@group(0) @binding(1) var<storage, read> x: array<u32>;
/// For each row its batch and its number; then the heads.
@group(0) @binding(2) var<storage, read> lists: array<u32>;
@group(0) @binding(3) var<storage, read_write> means: array<u32>;  // [heads, width]

const THREADS = LANES * SLICES;
const BLOCK = 16u;

var<workgroup> sums: array<f32, THREADS>;     // [slice][lane]
var<workgroup> spoiled: array<u32, THREADS>;  // whether a number is not finite

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) id: vec3<u32>, @builtin(local_invocation_index) t: u32) {
  let work = id.y * shape.grid_width + id.x;
  let n = work / shape.tiles;
  if (n >= shape.heads) { return; }
  let d = work % shape.tiles * LANES + t % LANES;
  let column = lists[2u * shape.rows + n] * shape.head + min(d, shape.width - 1u) * shape.feature;
  var sum = 0.0f;
  var is_spoiled = 0u;
  for (var first = t / LANES; first < shape.rows; first += BLOCK * SLICES) {
    var block = 0.0f;
    for (var row = first; row < min(first + BLOCK * SLICES, shape.rows); row += SLICES) {
      let bits = x[lists[2u * row] * shape.batch + lists[2u * row + 1u] * shape.position + column];
      is_spoiled |= select(0u, 1u, not_finite(bits));
      block += bitcast<f32>(select(bits, 0u, not_finite(bits)));
    }
    sum += block;
  }
  sums[t] = sum;
  spoiled[t] = is_spoiled;
  workgroupBarrier();  // the sums of all slices are there
  if (t >= LANES || d >= shape.width) { return; }
  for (var s = 1u; s < SLICES; s++) {
    sum += sums[s * LANES + t];
    is_spoiled |= spoiled[s * LANES + t];
  }
  means[n * shape.width + d] = select(bitcast<u32>(sum / f32(shape.rows)), NOT_A_NUMBER, is_spoiled != 0u);
}
