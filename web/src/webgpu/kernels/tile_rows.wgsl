// The rows of a tile and their queries, Q_TILE of them.

var<workgroup> row_tile: array<Row, Q_TILE>;
var<workgroup> query_poison: array<atomic<u32>, Q_TILE>;

/// Four features of row r times the scale; 0 where they are not finite (the row is marked), and for a row that is none.
fn scaled_query(r: u32, at: u32) -> vec4<f32> {
  if (at >= params.depth4 || row_tile[r].begin > row_tile[r].end) { return vec4<f32>(); }
  let bits = query_bits(row_tile[r].query + at);
  let special = (bits & vec4<u32>(EXPONENT)) == vec4<u32>(EXPONENT);
  if (any(special)) { atomicStore(&query_poison[r], 1u); }
  return params.scale * bitcast<vec4<f32>>(select(bits, vec4<u32>(0u), special));
}
