// The sizes by which the norm of heads (qkNorm) divides, of four heads. `shape` says the norm.

const NO_NORM = 0u;
const L2 = 2u;

/// `largest` are the sizes of the largest numbers of the heads.
fn head_powers(largest: vec4<f32>) -> vec4<i32> {
  return powers_for(bitcast<vec4<u32>>(largest), shape.epsilon, select(2, 1, shape.norm == L2));
}

/// `squares` are the sums of the squares of the heads' numbers, each times two to the power of its head.
fn head_sizes(squares: vec4<f32>, powers: vec4<i32>) -> vec4<f32> {
  if (shape.norm == L2) { return max(sqrt(squares), epsilon_at(shape.epsilon, powers)); }
  return sqrt(squares / f32(shape.head_dim) + epsilon_at(shape.epsilon, 2 * powers));
}
