// Shared by the kernels of a backward call that compute pairs. `row_words` has two vec4 for each row, [B, Hq, Sq]: lse,
// delta, 1 if lse or dLse is not finite, plus 2 if O or dO is not, what lse has lost (see backward_lse.wgsl); then, written by backward_queries.wgsl, its flags, sum p (do . v) and the sum of ds
// times distance. dO follows, [B, Hq, Sq, Dv / 4], with 0 in place of a number that is not finite.

@group(0) @binding(10) var<storage, read_write> gradient: array<u32>;

/// Four numbers of row `index` of dO.
fn output_gradient(index: u32, c4: u32) -> vec4<f32> {
  return bitcast<vec4<f32>>(row_words[2u * params.num_rows + index * params.value4 + c4]);
}
