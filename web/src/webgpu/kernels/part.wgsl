// One part of the keys: what merge_parts.wgsl unites. Parts follow each other in `output` and `rows`.

fn store_part(part: u32, index: u32, s: Statistics, write: bool) {
  if (!write) { return; }
  let at = 4u * (part * params.num_rows + index);
  rows[at] = bitcast<u32>(s.maximum);
  rows[at + 1u] = bitcast<u32>(s.sum);
  rows[at + 2u] = bitcast<u32>(s.weighted);
  rows[at + 3u] = s.flags;
}

fn store_part_o(part: u32, index: u32, c4: u32, o: vec4<f32>) {
  let at = 4u * ((part * params.num_rows + index) * params.value4 + c4);
  for (var c = 0u; c < 4u; c++) { output[at + c] = bitcast<u32>(o[c]); }
}
