// y = softmax(scale x) of each row. `shape.number` is the scale. A row of -infinity gives 0; a row with NaN or +infinity
// gives NaN.

@group(0) @binding(2) var<storage, read_write> y: array<u32>;

fn score_at(at: u32) -> u32 { return product_of(x[at], shape.number); }

/// exp(score - largest) for score <= largest. The halves cannot overflow, and halving is exact.
fn weight_of(score: u32, largest: f32) -> f32 {
  if (score == MINUS_INFINITY) { return 0.0f; }
  return float_from(exp_of(word_of(2.0f * (0.5f * float_from(score) - 0.5f * largest))));
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) id: vec3<u32>, @builtin(local_invocation_index) t: u32) {
  let row = id.y * shape.grid_width + id.x;
  if (row >= shape.rows) { return; }
  let base = shape.x_at + row * shape.x_stride;
  var place = 0u;
  for (var i = t; i < shape.width; i += THREADS) { place = max(place, rank_of(score_at(base + i))); }
  let highest = largest_over(t, place);
  let of_nothing = rank_of(MINUS_INFINITY);
  if (highest == of_nothing || highest >= rank_of(INFINITE)) {
    let filling = select(NOT_A_NUMBER, 0u, highest == of_nothing);
    for (var i = t; i < shape.width; i += THREADS) { y[row * shape.width + i] = filling; }
    return;
  }
  let largest = float_from(select(~highest, highest & SIZE, (highest & SIGN) != 0u));
  var sum = 0.0f;
  for (var i = t; i < shape.width; i += THREADS) { sum += weight_of(score_at(base + i), largest); }
  let total = sum_over(t, sum);
  for (var i = t; i < shape.width; i += THREADS) {
    y[row * shape.width + i] = word_of(weight_of(score_at(base + i), largest) / total);
  }
}
