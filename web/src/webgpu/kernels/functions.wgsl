// The functions of numbers that a step has. Numbers are words (see formula_numbers.wgsl).

// The functions in the order of ACTIVATIONS (stepProblem.ts); 0 is the number itself.
const GELU = 1u;
const GELU_TANH = 2u;
const QUICK_GELU = 3u;
const SILU = 4u;
const RELU = 5u;
const TANH = 6u;

/// erfc(z) for z >= 0, with a relative error of 1.2e-7 (Press et al., Numerical Recipes, 6.2).
fn erfc_of(z: f32) -> f32 {
  let t = 1.0f / (1.0f + 0.5f * z);
  let series = (((((((0.17087277f * t - 0.82215223f) * t + 1.48851587f) * t - 1.13520398f) * t + 0.27886807f) * t
                 - 0.18628806f) * t + 0.09678418f) * t + 0.37409196f) * t + 1.00002368f;
  return t * float_from(exp_of(word_of(series * t - 1.26551223f - z * z)));
}

/// x Phi(x), with the normal distribution Phi.
fn gelu(a: u32) -> u32 {
  if (a == (INFINITE | SIGN)) { return SIGN; }
  if (not_finite(a)) { return select(NOT_A_NUMBER, a, a == INFINITE); }
  let number = float_from(a);
  let tail = 0.5f * erfc_of(abs(number) * 0.70710678f);
  return word_of(number * select(tail, 1.0f - tail, number > 0.0f));
}

/// x sigmoid(z) = x / (1 + exp(-z)). Below z = -87 the sigmoid is below 2^-125, and here 0, also times infinity.
fn gated(a: u32, z: u32) -> u32 {
  if (is_below(z, 0xc2ae0000u)) { return SIGN; }
  return quotient_of(a, sum_of(ONE, exp_of(z ^ SIGN)));
}

fn product(number: f32, a: u32) -> u32 { return product_of(word_of(number), a); }

fn function_of(a: u32) -> u32 {
  switch FUNCTION {
    case GELU: { return gelu(a); }
    case GELU_TANH: {
      let cubic = sum_of(ONE, product_of(product(0.044715f, a), a));
      return gated(a, product_of(product(1.59576912f, a), cubic));  // 2 sqrt(2 / pi)
    }
    case QUICK_GELU: { return gated(a, product(1.702f, a)); }
    case SILU: { return gated(a, a); }
    case RELU: { return select(a, 0u, is_below(a, 0u)); }
    case TANH: { return tanh_of(a); }
    default: { return a; }
  }
}

/// Whether tanh(a / divisor) is a / divisor to the last bit. So small a quotient could be subnormal, and be 0 on the device.
fn is_straight(a: u32) -> bool { return FUNCTION == TANH && is_at_most(a & SIZE, product(2.44140625e-4f, shape.divisor)); }

/// scale f(a / divisor), with the numbers of the kernel.
fn scaled_function_of(a: u32) -> u32 {
  if (is_straight(a)) { return product_of(a, quotient_of(shape.scale, shape.divisor)); }
  var number = a;
  if (shape.divisor != ONE) { number = quotient_of(number, shape.divisor); }
  number = function_of(number);
  if (shape.scale != ONE) { number = product_of(number, shape.scale); }
  return number;
}
