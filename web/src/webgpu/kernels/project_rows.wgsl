// A projection of few rows. A workgroup computes up to ROWS rows by 4 * LANES columns: SLICES invocations share a vec4 of
// columns, and each reads its part of the depth, so each weight is read once. If there are several parts, a workgroup
// computes one part of the depth, and project_sum adds them.

@group(0) @binding(1) var<storage, read> x: array<vec4<f32>>;         // [rows, in4]
@group(0) @binding(2) var<storage, read> weight: array<weight_four>;  // [in, weight4]
@group(0) @binding(6) var<storage, read_write> part_sums: array<vec4<f32>>;  // [parts, rows, columns in vec4]

const THREADS = LANES * SLICES;

var<workgroup> shared4: array<vec4<f32>, SLICES * ROWS * LANES>;  // [slice][row][lane]
var<private> sums: array<vec4<f32>, ROWS>;

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) id: vec3<u32>, @builtin(local_invocation_index) t: u32) {
  let work = id.y * shape.grid_width + id.x;
  let tile = work % shape.column_tiles;
  let part = work / shape.column_tiles % shape.parts;
  let first_row = work / shape.column_tiles / shape.parts * ROWS;
  if (first_row >= shape.rows) { return; }
  let first4 = shape.first4 + tile * LANES;
  let lane = t % LANES;
  let slice = t / LANES;
  for (var r = 0u; r < ROWS; r++) { sums[r] = vec4<f32>(); }
  let end4 = min((part + 1u) * shape.part4, shape.in4);
  for (var k4 = part * shape.part4 + slice; k4 < end4; k4 += SLICES) {
    let at = 4u * k4 * shape.weight4 + first4 + lane;
    let w0 = weight_at(at);
    let w1 = weight_at(at + shape.weight4);
    let w2 = weight_at(at + 2u * shape.weight4);
    let w3 = weight_at(at + 3u * shape.weight4);
    for (var r = 0u; r < ROWS; r++) {
      let a = x[min(first_row + r, shape.rows - 1u) * shape.in4 + k4];
      sums[r] += a.x * w0;
      sums[r] += a.y * w1;
      sums[r] += a.z * w2;
      sums[r] += a.w * w3;
    }
  }
  for (var r = 0u; r < ROWS; r++) { shared4[(slice * ROWS + r) * LANES + lane] = sums[r]; }
  workgroupBarrier();  // the sums of all slices are there
  var sum = vec4<f32>();
  if (t < ROWS * LANES) {
    for (var s = 0u; s < SLICES; s++) { sum += shared4[s * ROWS * LANES + t]; }
  }
  let row = first_row + t / LANES;
  if (shape.parts == 1u) {
    finish(t, row, first4, sum);
  } else if (t < ROWS * LANES && row < shape.rows) {
    part_sums[((part * shape.rows + row) * shape.column_tiles + tile) * LANES + lane] = sum;
  }
}
