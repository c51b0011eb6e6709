// Adds the parts of a projection of few rows. A workgroup adds ROWS rows of a tile of 4 * LANES columns, an invocation
// one vec4 of a row.

@group(0) @binding(6) var<storage, read> part_sums: array<vec4<f32>>;  // [parts, rows, columns in vec4]

var<workgroup> shared4: array<vec4<f32>, ROWS * LANES>;

@compute @workgroup_size(ROWS * LANES)
fn main(@builtin(workgroup_id) id: vec3<u32>, @builtin(local_invocation_index) t: u32) {
  let work = id.y * shape.grid_width + id.x;
  let tile = work % shape.column_tiles;
  let first_row = work / shape.column_tiles * ROWS;
  if (first_row >= shape.rows) { return; }
  let row = first_row + t / LANES;
  var sum = vec4<f32>();
  if (row < shape.rows) {
    for (var part = 0u; part < shape.parts; part++) {
      sum += part_sums[((part * shape.rows + row) * shape.column_tiles + tile) * LANES + t % LANES];
    }
  }
  finish(t, row, shape.first4 + tile * LANES, sum);
}
