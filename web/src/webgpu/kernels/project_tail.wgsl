
// The end of a projection with one vec4 of a row for each invocation. LANES invocations have a row of the tile.

/// Norms the head with this column. Must be called by the whole workgroup.
fn normed(t: u32, column4: u32, number: vec4<f32>) -> vec4<f32> {
  let begin = t - place_in_head(column4);
  let end = select(begin, begin + shape.head4, is_head(column4));
  workgroupBarrier();  // shared4 has been read
  if (t < ROWS * LANES) { shared4[t].x = largest_in(number); }
  workgroupBarrier();  // the largest numbers are there
  var largest = 0.0f;
  for (var n = begin; n < end; n++) { largest = max(largest, shared4[n].x); }
  let powers = head_powers(vec4<f32>(largest));
  let value = number * two_to(powers);
  if (t < ROWS * LANES) { shared4[t].y = dot(value, value); }
  workgroupBarrier();  // the squares are complete
  if (!is_head(column4)) { return number; }
  var squares = 0.0f;
  for (var n = begin; n < end; n++) { squares += shared4[n].y; }
  return value / head_sizes(vec4<f32>(squares), powers) * columns[shape.weight4 + column4];
}

/// Must be called by the whole workgroup. `first4` is the first column of the tile.
fn finish(t: u32, row: u32, first4: u32, sum: vec4<f32>) {
  let column4 = first4 + t % LANES;
  var value = sum;
  if (SCALED) { value *= scales[column4]; }
  value += columns[column4];
  if (HEADS && shape.norm != NO_NORM && is_head(first4)) { value = normed(t, column4, value); }
  if (t < ROWS * LANES && row < shape.rows) { store_four(row, column4, value); }
}
