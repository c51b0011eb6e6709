// Where the gradients of queries, keys and values are written.

/// Strides in elements of `gradient`, and the element where each gradient begins in it. In a uniform a struct begins at a
/// multiple of 16 bytes.
struct Target {
  @align(16) first: u32,
  batch: u32,
  head: u32,
  position: u32,
  feature: u32,
}

struct Targets {
  query: Target,
  key: Target,
  value: Target,
  depth: u32,   // head dim
  wanted: u32,  // WANTS_…
  grid_width: u32,
}

@group(0) @binding(11) var<uniform> targets: Targets;

const WANTS_QUERY = 1u;
const WANTS_KEY = 2u;
const WANTS_VALUE = 4u;

fn wants(gradients: u32) -> bool { return (targets.wanted & gradients) != 0u; }

/// Writes four numbers of a row that begins at `row`.
fn store_four(row: u32, feature: u32, c4: u32, width: u32, x: vec4<u32>) {
  for (var c = 0u; c < 4u; c++) {
    if (4u * c4 + c < width) { gradient[row + (4u * c4 + c) * feature] = x[c]; }
  }
}
