// The mean of the keys that an append gives to an empty batch of an int8 cache, for each head: what is subtracted from
// all its keys before they are quantised. cpp/src/cache/append.cpp says which rows and features count. The numbers of
// `shape` are those of store_rows.wgsl. One workgroup computes one head, and an invocation every THREADS-th feature.

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
  num_rows: u32,
  places: u32,
  row_words: u32,
  first_scale: u32,
  first_mean: u32,  // of the cache, a word
  ring_kept: u32,
  ring_window: u32,
  grid_width: u32,
}

@group(0) @binding(0) var<uniform> shape: Shape;
@group(0) @binding(1) var<storage, read> source: array<u32>;
@group(0) @binding(2) var<storage, read> batches: array<vec2<u32>>;  // [B]: tokens held so far, tokens to append
@group(0) @binding(3) var<storage, read_write> cache: array<u32>;

const STANDARD_ERRORS = 5.0f;
const LARGEST_MEAN = 18446744073709551616.0f;  // 2^64

var<workgroup> counts: array<u32, THREADS>;  // whether a row is finite
var<workgroup> sizes: array<f32, THREADS>;   // sums of magnitudes, by invocation

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) id: vec3<u32>, @builtin(local_invocation_index) t: u32) {
  let n = id.y * shape.grid_width + id.x;
  if (n >= shape.num_rows / shape.length) { return; }
  let before = batches[n / shape.heads].x;
  let gain = batches[n / shape.heads].y;
  if (before > 0u || gain == 0u) { return; }
  let base = n / shape.heads * shape.batch_stride + n % shape.heads * shape.head_stride;
  let mean = shape.first_mean + 4u * shape.width4 * n;

  for (var d = t; d < 4u * shape.width4; d += THREADS) { cache[mean + d] = 0u; }
  var size = 0.0f;
  var rows = 0u;
  for (var first = 0u; first < gain; first += THREADS) {
    var largest = 0u;
    for (var d = 0u; first + t < gain && d < shape.width; d++) {
      largest = max(largest, element(base + (first + t) * shape.position_stride + d * shape.feature_stride) & 0x7fffffffu);
    }
    counts[t] = select(0u, 1u, first + t < gain && !not_finite(largest));
    workgroupBarrier();  // it is known which rows count
    for (var r = 0u; r < min(THREADS, gain - first); r++) { rows += counts[r]; }
    for (var d = t; d < shape.width; d += THREADS) {
      var sum = bitcast<f32>(cache[mean + d]);
      for (var r = 0u; r < min(THREADS, gain - first); r++) {
        if (counts[r] == 0u) { continue; }
        let x = bitcast<f32>(element(base + (first + r) * shape.position_stride + d * shape.feature_stride));
        sum += x;
        size += abs(x);
      }
      cache[mean + d] = bitcast<u32>(sum);
    }
    workgroupBarrier();  // counts has been read
  }

  sizes[t] = size / f32(max(rows, 1u));
  workgroupBarrier();  // the sums of all features are there
  var all = 0.0f;
  for (var i = 0u; i < THREADS; i++) { all += sizes[i]; }
  let chance = STANDARD_ERRORS * all / f32(shape.width) / sqrt(f32(max(rows, 1u)));
  for (var d = t; d < shape.width; d += THREADS) {
    let bits = cache[mean + d];
    let m = bitcast<f32>(select(bits, 0u, not_finite(bits))) / f32(max(rows, 1u));
    cache[mean + d] = select(0u, bitcast<u32>(m), abs(m) > chance && abs(m) < LARGEST_MEAN);
  }
}
