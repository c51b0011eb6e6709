/// A number of `source`, which holds float32 or, if HALF, float16. The result is the bits of a float32.
fn element(at: u32) -> u32 {
  if (!HALF) { return source[at]; }
  return wide_of((source[at / 2u] >> (16u * (at % 2u))) & 0xffffu);
}
