// Appends rows of float32 or float16 in any layout to one side of a cache, [B, Hkv, places, row], as float32, float16
// or int8. Rows are padded with zeros to whole vec4. The scales of int8 rows come after all rows, one for every LANES
// times four numbers. From keys the mean of the head is subtracted first: see key_means.wgsl. LANES invocations store
// one row.

struct Shape {
  // strides of the source, in elements
  batch_stride: u32,
  head_stride: u32,
  position_stride: u32,
  feature_stride: u32,
  heads: u32,
  length: u32,
  width: u32,
  width4: u32,
  num_rows: u32,    // B * Hkv * length
  places: u32,      // of the cache
  row_words: u32,   // of the cache
  first_scale: u32, // of the cache, a word
  first_mean: u32,  // of the cache, a word; 0: nothing is subtracted
  ring_kept: u32,
  ring_window: u32, // 0 without a ring
  grid_width: u32,
}

@group(0) @binding(0) var<uniform> shape: Shape;
@group(0) @binding(1) var<storage, read> source: array<u32>;
@group(0) @binding(2) var<storage, read> batches: array<vec2<u32>>;  // [B]: tokens held so far, tokens to append
@group(0) @binding(3) var<storage, read_write> cache: array<u32>;

const LANES = 8u;  // a block of 32 numbers, which share a scale, is one vec4 for each
const ROWS = THREADS / LANES;
const LARGEST_SCALE = 0x7c010203u;  // 127 times this is still finite

// The bits of the largest magnitude. Bits have the order of the magnitudes; numbers that are not finite are largest.
var<workgroup> largest: array<atomic<u32>, ROWS>;

fn four(base: u32, c4: u32) -> vec4<u32> {
  var bits = vec4<u32>();
  for (var c = 0u; c < 4u; c++) {
    let d = 4u * c4 + c;
    if (d < shape.width) { bits[c] = element(base + d * shape.feature_stride); }
  }
  return bits;
}

/// Finite numbers without the mean that lies at `mean`, whose numbers are padded with zeros like the row.
fn centred(bits: vec4<u32>, mean: u32, c4: u32) -> vec4<u32> {
  if (shape.first_mean == 0u) { return bits; }
  let at = mean + 4u * c4;
  let means = vec4<u32>(cache[at], cache[at + 1u], cache[at + 2u], cache[at + 3u]);
  return bitcast<vec4<u32>>(bitcast<vec4<f32>>(bits) - bitcast<vec4<f32>>(means));
}

/// The place of the token at a position after `total` tokens were appended, or `places` if a ring has dropped it by
/// then.
fn place_of(position: u32, total: u32) -> u32 {
  if (shape.ring_window == 0u || position < shape.ring_kept) { return position; }
  if (position + shape.ring_window < total) { return shape.places; }
  return shape.ring_kept + (position - shape.ring_kept) % shape.ring_window;
}

/// max|x| / 127, or the bits of NaN if a number is not finite. It must be rounded to the nearest, as on the CPU, but
/// WGSL's division need not be. So it divides whole numbers: the fraction times 128 by 127.
fn scale_of(largest_bits: u32) -> u32 {
  if (not_finite(largest_bits)) { return NOT_A_NUMBER; }
  let exponent = largest_bits >> 23u;
  if (exponent < 8u) { return bitcast<u32>(bitcast<f32>(largest_bits) / 127.0f); }  // next to nothing
  let dividend = ((largest_bits & 0x7fffffu) | 0x800000u) << 7u;
  let quotient = dividend / 127u;
  let rest = dividend % 127u;
  let carries = quotient >> 24u;  // one bit more than a fraction has
  let odd = (quotient >> carries) & 1u;
  let up = select(2u * rest > 127u, (quotient & 1u) == 1u && (rest > 0u || odd == 1u), carries == 1u);
  let fraction = (quotient >> carries) + select(0u, 1u, up);
  return min(((exponent - 8u + carries) << 23u) + fraction, LARGEST_SCALE);
}

/// Four numbers as bytes, rounded to the nearest with ties to even.
fn quantised(bits: vec4<u32>, scale: u32) -> u32 {
  if (not_finite(scale) || scale == 0u) { return 0u; }
  let q = vec4<i32>(clamp(round(bitcast<vec4<f32>>(bits) / bitcast<f32>(scale)), vec4<f32>(-127.0f), vec4<f32>(127.0f)));
  let bytes = vec4<u32>(q) & vec4<u32>(0xffu);
  return bytes.x | (bytes.y << 8u) | (bytes.z << 16u) | (bytes.w << 24u);
}

fn store_four(row: u32, c4: u32, bits: vec4<u32>, scale: u32) {
  if (TO_INT8) {
    cache[row + c4] = quantised(bits, scale);
  } else if (TO_HALF) {
    cache[row + 2u * c4] = half_of(bits.x) | (half_of(bits.y) << 16u);
    cache[row + 2u * c4 + 1u] = half_of(bits.z) | (half_of(bits.w) << 16u);
  } else {
    for (var c = 0u; c < 4u; c++) { cache[row + 4u * c4 + c] = bits[c]; }
  }
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) id: vec3<u32>, @builtin(local_invocation_index) t: u32) {
  let lane = t % LANES;
  let slot = t / LANES;
  let n = (id.y * shape.grid_width + id.x) * ROWS + slot;
  let s = n % shape.length;
  let h = n / shape.length % shape.heads;
  let b = min(n, shape.num_rows - 1u) / shape.length / shape.heads;
  let before = batches[b].x;
  let gain = batches[b].y;
  let place = place_of(before + s, before + gain);
  let stays = n < shape.num_rows && s < gain && place < shape.places;
  let base = b * shape.batch_stride + h * shape.head_stride + s * shape.position_stride;
  let slot_of_cache = (b * shape.heads + h) * shape.places + place;
  let row = slot_of_cache * shape.row_words;

  if (!TO_INT8) {
    for (var c4 = lane; stays && c4 < shape.width4; c4 += LANES) { store_four(row, c4, four(base, c4), 0u); }
    return;
  }
  if (lane == 0u) { atomicStore(&largest[slot], 0u); }
  workgroupBarrier();  // largest is clear
  for (var c4 = lane; stays && c4 < shape.width4; c4 += LANES) {
    let sizes = four(base, c4) & vec4<u32>(0x7fffffffu);
    atomicMax(&largest[slot], max(max(sizes.x, sizes.y), max(sizes.z, sizes.w)));
  }
  workgroupBarrier();  // largest is that of the row
  let spoiled = not_finite(atomicLoad(&largest[slot]));
  let mean = shape.first_mean + 4u * shape.width4 * (b * shape.heads + h);
  let blocks = (shape.width4 + LANES - 1u) / LANES;
  for (var block = 0u; block < blocks; block++) {
    workgroupBarrier();  // largest has been read
    if (lane == 0u) { atomicStore(&largest[slot], 0u); }
    workgroupBarrier();  // largest is clear
    let c4 = block * LANES + lane;
    let has_numbers = stays && !spoiled && c4 < shape.width4;
    var numbers = vec4<u32>();
    if (has_numbers) {
      numbers = centred(four(base, c4), mean, c4);
      let sizes = numbers & vec4<u32>(0x7fffffffu);
      atomicMax(&largest[slot], max(max(sizes.x, sizes.y), max(sizes.z, sizes.w)));
    }
    workgroupBarrier();  // largest is that of the block
    let scale = select(scale_of(atomicLoad(&largest[slot])), NOT_A_NUMBER, spoiled);
    if (stays && lane == 0u) { cache[shape.first_scale + slot_of_cache * blocks + block] = scale; }
    if (stays && c4 < shape.width4) { store_four(row, c4, numbers, scale); }
  }
}
