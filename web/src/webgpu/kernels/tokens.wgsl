// The tokens of a layer's input, [rows, width in vec4], from float32 or float16 in any layout. The row of a table may be
// added to each token. Padding is 0. One invocation writes one vec4.

struct Shape {
  batch: u32,
  position: u32,
  feature: u32,
  length: u32,
  width: u32,
  width4: u32,
  count: u32,  // vec4 to write
  adds: u32,
  grid_width: u32,
}

@group(0) @binding(0) var<uniform> shape: Shape;
@group(0) @binding(1) var<storage, read> source: array<u32>;
@group(0) @binding(2) var<storage, read> table: array<f32>;   // [rows of the table, width]
@group(0) @binding(3) var<storage, read> added: array<i32>;   // the table's row for each token, or -1
@group(0) @binding(4) var<storage, read_write> tokens: array<vec4<u32>>;

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) id: vec3<u32>, @builtin(local_invocation_index) t: u32) {
  let n = (id.y * shape.grid_width + id.x) * THREADS + t;
  if (n >= shape.count) { return; }
  let token = n / shape.width4;
  let base = token / shape.length * shape.batch + token % shape.length * shape.position;
  var row = -1;
  if (shape.adds != 0u) { row = added[token]; }
  var words = vec4<u32>();
  for (var c = 0u; c < 4u; c++) {
    let d = 4u * (n % shape.width4) + c;
    if (d < shape.width) {
      let bits = element(base + d * shape.feature);
      words[c] = bits;
      if (row >= 0 && !not_finite(bits)) {
        words[c] = bitcast<u32>(bitcast<f32>(bits) + table[u32(row) * shape.width + d]);
      }
    }
  }
  tokens[n] = words;
}
