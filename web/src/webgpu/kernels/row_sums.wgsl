// What the kernels of whole rows share: a workgroup computes one row.

struct Rows {
  rows: u32,
  width: u32,
  // where the first row of x begins, and how far apart rows lie, in words
  x_at: u32,
  x_stride: u32,
  number: u32,  // epsilon, a factor or a count, as the kernel says
  grid_width: u32,
}

@group(0) @binding(0) var<uniform> shape: Rows;
@group(0) @binding(1) var<storage, read> x: array<u32>;

var<workgroup> sums: array<f32, THREADS>;
var<workgroup> most: array<u32, THREADS>;

/// The sum over the invocations, in a fixed order.
fn sum_over(t: u32, own: f32) -> f32 {
  sums[t] = own;
  for (var half = THREADS / 2u; half > 0u; half /= 2u) {
    workgroupBarrier();  // the sums of this round are there
    if (t < half) { sums[t] += sums[t + half]; }
  }
  return workgroupUniformLoad(&sums[0]);
}

/// The largest word over the invocations.
fn largest_over(t: u32, own: u32) -> u32 {
  most[t] = own;
  for (var half = THREADS / 2u; half > 0u; half /= 2u) {
    workgroupBarrier();  // the words of this round are there
    if (t < half) { most[t] = max(most[t], most[t + half]); }
  }
  return workgroupUniformLoad(&most[0]);
}

/// Words in the order of their numbers: -0 and 0 are one place, and NaN is the last. No place is 0.
fn rank_of(word: u32) -> u32 {
  if (is_nan(word)) { return 0xfffffffeu; }
  if ((word & SIZE) == 0u) { return SIGN; }
  return select(word | SIGN, ~word, (word & SIGN) != 0u);
}
