// Reads four features of a float16 query as float32.
fn query_bits(at: u32) -> vec4<u32> {
  let x = query[at];
  return vec4<u32>(wide_of(x.x & 0xffffu), wide_of(x.x >> 16u), wide_of(x.y & 0xffffu), wide_of(x.y >> 16u));
}
