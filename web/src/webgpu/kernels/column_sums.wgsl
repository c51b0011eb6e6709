// The sums of the columns of a matrix. A workgroup sums 4 * LANES columns over one part of the rows: SLICES invocations
// share a vec4 of columns, and each sums every SLICES-th row. store_gradient adds the parts.

struct Shape {
  row4: u32,       // vec4 of a row
  rows: u32,
  part_rows: u32,  // rows of a part
  tiles: u32,      // tiles of columns
  grid_width: u32,
}

@group(0) @binding(0) var<uniform> shape: Shape;
@group(0) @binding(1) var<storage, read> x: array<vec4<f32>>;                // [rows, row4]
@group(0) @binding(2) var<storage, read_write> part_sums: array<vec4<f32>>;  // [parts, row4]

const THREADS = LANES * SLICES;

var<workgroup> slices: array<vec4<f32>, THREADS>;  // [slice][lane]

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) id: vec3<u32>, @builtin(local_invocation_index) t: u32) {
  let work = id.y * shape.grid_width + id.x;
  let part = work / shape.tiles;
  let begin = part * shape.part_rows;
  if (begin >= shape.rows) { return; }
  let end = min(begin + shape.part_rows, shape.rows);
  let column4 = work % shape.tiles * LANES + t % LANES;
  var sum = vec4<f32>();
  if (column4 < shape.row4) {
    for (var row = begin + t / LANES; row < end; row += SLICES) { sum += x[row * shape.row4 + column4]; }
  }
  slices[t] = sum;
  workgroupBarrier();  // the sums of all slices are there
  if (t >= LANES || column4 >= shape.row4) { return; }
  for (var s = 1u; s < SLICES; s++) { sum += slices[s * LANES + t]; }
  part_sums[part * shape.row4 + column4] = sum;
}
