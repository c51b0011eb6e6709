
// The end of a projection with one vec4 of a row for each invocation. LANES invocations have a row of the tile.

/// The size of the head with this column, from the squares of the tile's columns.
fn size_in_row(t: u32, column4: u32) -> f32 {
  let begin = t - place_in_head(column4);
  var squares = 0.0f;
  for (var n = begin; n < begin + shape.head4; n++) { squares += shared4[n].x; }
  return size_of(vec4<f32>(squares)).x;
}

/// Must be called by the whole workgroup. `first4` is the first column of the tile.
fn finish(t: u32, row: u32, first4: u32, sum: vec4<f32>) {
  let column4 = first4 + t % LANES;
  var value = sum;
  if (SCALED) { value *= scales[column4]; }
  value += columns[column4];
  if (HEADS && shape.norm != NO_NORM && is_head(first4)) {
    workgroupBarrier();  // shared4 has been read
    if (t < ROWS * LANES) { shared4[t].x = dot(value, value); }
    workgroupBarrier();  // the squares are complete
    if (is_head(column4)) { value = value / size_in_row(t, column4) * columns[shape.weight4 + column4]; }
  }
  if (t < ROWS * LANES && row < shape.rows) { store_four(row, column4, value); }
}
