// The Q_TILE rows of a tile and their queries.

var<workgroup> row_tile: array<Row, Q_TILE>;
var<workgroup> query_poison: array<atomic<u32>, Q_TILE>;

/// Four features of row r times query_scale. A feature that is not finite becomes 0, and the row is marked. A row after
/// the last one is 0.
fn scaled_query(r: u32, at: u32) -> vec4<f32> {
  if (at >= params.depth4 || row_tile[r].begin > row_tile[r].end) { return vec4<f32>(); }
  let bits = query_bits(row_tile[r].query + at);
  let special = (bits & vec4<u32>(EXPONENT)) == vec4<u32>(EXPONENT);
  if (any(special)) { atomicStore(&query_poison[r], 1u); }
  return params.query_scale * bitcast<vec4<f32>>(select(bits, vec4<u32>(0u), special));
}
