// Packs a piece of one weight of float32, float16, bfloat16 or int8, as it was given, into its columns of a matrix
// [in, weight4] of float32, float16, bfloat16, or int8 if the weight is int8. Heads are padded to whole vec4, and `in` and
// the columns to whole tiles. If heads turn, the two features of a pair become neighbours. The matrix holds zeros at first;
// pieces are added to it bit by bit. One invocation packs one vec4.

struct Shape {
  first: u32,        // element (0, 0)
  in_stride: u32,
  out_stride: u32,
  in_heads: u32,
  in_width: u32,
  in_padded: u32,
  out_heads: u32,
  out_width: u32,
  out_padded: u32,
  split_pairs: u32,  // pairs of features, this far apart, that become neighbours
  weight4: u32,      // vec4 of a row of the matrix
  first4: u32,       // the weight's first column in the matrix, in vec4
  columns4: u32,
  count: u32,        // vec4 to write
  begin: u32,        // the piece, as elements of the weight's array: an even number of them is before it
  end: u32,
  dtype: u32,        // of the weight: FLOAT32, FLOAT16, INT8 or BFLOAT16
  to: u32,           // the same of the matrix
  of_inputs: u32,    // whether the scales are one for each input, not for each output
  grid_width: u32,
}

@group(0) @binding(0) var<uniform> shape: Shape;
@group(0) @binding(1) var<storage, read> source: array<u32>;
@group(0) @binding(2) var<storage, read_write> packed: array<u32>;
@group(0) @binding(3) var<storage, read> scales: array<f32>;  // of a weight of int8 that becomes floats

const FLOAT32 = 0u;
const FLOAT16 = 1u;
const INT8 = 2u;
const BFLOAT16 = 3u;

/// 16 bits of a number.
fn half_at(at: u32) -> u32 { return (source[at / 2u] >> (16u * (at % 2u))) & 0xffffu; }

fn byte_at(at: u32) -> i32 { return extractBits(bitcast<i32>(source[at / 4u]), 8u * (at % 4u), 8u); }

/// The bits of a number as it is stored in the matrix; 0 if it is not in the piece.
fn element(k: u32, column: u32) -> u32 {
  let in_head = k / shape.in_padded;
  let in_place = k % shape.in_padded;
  let out_head = column / shape.out_padded;
  let place = column % shape.out_padded;
  let split = place < 2u * shape.split_pairs;
  let out_place = select(place, place / 2u + place % 2u * shape.split_pairs, split);
  if (in_head >= shape.in_heads || in_place >= shape.in_width) { return 0u; }
  if (out_head >= shape.out_heads || out_place >= shape.out_width) { return 0u; }
  let input = in_head * shape.in_width + in_place;
  let output = out_head * shape.out_width + out_place;
  let at = shape.first + input * shape.in_stride + output * shape.out_stride;
  if (at < shape.begin || at >= shape.end) { return 0u; }
  let n = at - shape.begin;
  if (shape.to == INT8) { return u32(byte_at(n)) & 0xffu; }
  if (shape.to == shape.dtype && shape.to != FLOAT32) { return half_at(n); }
  var bits = 0u;
  if (shape.dtype == FLOAT16) {
    bits = wide_of(half_at(n));
  } else if (shape.dtype == BFLOAT16) {
    bits = half_at(n) << 16u;
  } else if (shape.dtype == INT8) {
    bits = bitcast<u32>(f32(byte_at(n)) * scales[select(output, input, shape.of_inputs != 0u)]);
  } else {
    bits = source[n];
  }
  if (shape.to == FLOAT16) { return half_of(bits); }
  if (shape.to == BFLOAT16) { return bfloat_of(bits); }
  return bits;
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) id: vec3<u32>, @builtin(local_invocation_index) t: u32) {
  let n = (id.y * shape.grid_width + id.x) * THREADS + t;
  if (n >= shape.count) { return; }
  let k = n / shape.columns4;
  let c4 = n % shape.columns4;
  var bits = vec4<u32>();
  for (var c = 0u; c < 4u; c++) { bits[c] = element(k, 4u * c4 + c); }
  let at = k * shape.weight4 + shape.first4 + c4;
  if (shape.to == INT8) {
    packed[at] |= bits.x | (bits.y << 8u) | (bits.z << 16u) | (bits.w << 24u);
  } else if (shape.to == FLOAT16 || shape.to == BFLOAT16) {
    packed[2u * at] |= bits.x | (bits.y << 16u);
    packed[2u * at + 1u] |= bits.z | (bits.w << 16u);
  } else {
    for (var c = 0u; c < 4u; c++) { packed[4u * at + c] |= bits[c]; }
  }
}
