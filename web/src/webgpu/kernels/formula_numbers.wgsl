// The arithmetic of formulas. A number that may be NaN or infinite is a word, the bits of a float32, because WGSL does
// not define floats that are not finite. So NaN and infinity follow IEEE 754 on every device; only an overflow of
// finite numbers relies on the device to give infinity. Subnormal numbers may count as 0.

const SIGN = 0x80000000u;
const SIZE = 0x7fffffffu;
const FRACTION = 0x7fffffu;
const LEADING = 0x800000u;  // the leading bit of a normal fraction, and the size of the smallest normal number
const INFINITE = EXPONENT;
const ONE = 0x3f800000u;

fn word_of(x: f32) -> u32 { return bitcast<u32>(x); }
fn float_from(word: u32) -> f32 { return bitcast<f32>(word); }
fn is_nan(word: u32) -> bool { return (word & SIZE) > INFINITE; }
fn any_special(a: u32, b: u32) -> bool { return max(a & EXPONENT, b & EXPONENT) == EXPONENT; }

// Sums and products.

fn special_sum(a: u32, b: u32) -> u32 {
  if (is_nan(a) || is_nan(b) || (not_finite(a) && not_finite(b) && a != b)) { return NOT_A_NUMBER; }
  return select(b, a, not_finite(a));
}
fn sum_of(a: u32, b: u32) -> u32 {
  if (any_special(a, b)) { return special_sum(a, b); }
  return word_of(float_from(a) + float_from(b));
}
fn difference_of(a: u32, b: u32) -> u32 { return sum_of(a, b ^ SIGN); }

fn product_of(a: u32, b: u32) -> u32 {
  if (any_special(a, b)) {
    let undefined = is_nan(a) || is_nan(b) || (a & SIZE) == 0u || (b & SIZE) == 0u;
    return select(((a ^ b) & SIGN) | INFINITE, NOT_A_NUMBER, undefined);
  }
  return word_of(float_from(a) * float_from(b));
}

/// Rounded as IEEE 754 says. The device's quotient of the fractions is only a first guess: the rest of the division is
/// computed in whole numbers. It is small, so its lower 32 bits are all of it.
fn quotient_of(a: u32, b: u32) -> u32 {
  let sign = (a ^ b) & SIGN;
  let x = a & SIZE;
  let y = b & SIZE;
  if (x > INFINITE || y > INFINITE) { return NOT_A_NUMBER; }
  if (x == INFINITE) { return select(sign | INFINITE, NOT_A_NUMBER, y == INFINITE); }
  if (y == INFINITE) { return sign; }
  if (y < LEADING) { return select(sign | INFINITE, NOT_A_NUMBER, x < LEADING); }
  if (x < LEADING) { return sign; }
  let m = (x & FRACTION) | LEADING;
  let n = (y & FRACTION) | LEADING;
  let is_less = m < n;
  let shift = select(24u, 25u, is_less);
  let exponent = i32(x >> 23u) - i32(y >> 23u) + select(127, 126, is_less);
  if (exponent >= 255) { return sign | INFINITE; }
  if (exponent <= 0) { return word_of(float_from(a) / float_from(b)); }
  var quotient = u32(f32(m) / f32(n) * f32(1u << shift));
  var rest = i32((m << shift) - quotient * n);
  let step = i32(floor(f32(rest) / f32(n)));
  quotient += u32(step);
  rest -= step * i32(n);
  if (rest < 0) {
    quotient -= 1u;
    rest += i32(n);
  }
  if (rest >= i32(n)) {
    quotient += 1u;
    rest -= i32(n);
  }
  let kept = quotient >> 1u;
  let up = (quotient & 1u) == 1u && (rest != 0 || (kept & 1u) == 1u);
  return sign | ((u32(exponent) << 23u) + (kept - LEADING) + select(0u, 1u, up));
}

/// The exact remainder, with the sign of `a`: the fraction of `a` modulo that of `b`, eight bits at a time.
fn remainder_of(a: u32, b: u32) -> u32 {
  let x = a & SIZE;
  let y = b & SIZE;
  if (x >= INFINITE || y > INFINITE || y < LEADING) { return NOT_A_NUMBER; }
  if (y == INFINITE || x < y) { return a; }
  let n = (y & FRACTION) | LEADING;
  var rest = ((x & FRACTION) | LEADING) % n;
  for (var bits = (x >> 23u) - (y >> 23u); bits > 0u;) {
    let step = min(bits, 8u);
    rest = (rest << step) % n;
    bits -= step;
  }
  if (rest == 0u) { return a & SIGN; }
  let down = countLeadingZeros(rest) - 8u;  // its leading bit is that many places below
  if (down >= y >> 23u) { return a & SIGN; }
  return (a & SIGN) | ((((y >> 23u) - down) << 23u) + ((rest << down) - LEADING));
}

/// Rounded as IEEE 754 says, like quotient_of.
fn root_of(a: u32) -> u32 {
  if (is_nan(a)) { return NOT_A_NUMBER; }
  if ((a & SIZE) < LEADING) { return a & SIGN; }
  if (a >= INFINITE) { return select(NOT_A_NUMBER, a, a == INFINITE); }
  let exponent = i32(a >> 23u) - 127;
  let shift = 25u + u32(exponent & 1);
  let m = (a & FRACTION) | LEADING;
  var root = u32(sqrt(f32(m) * f32(1u << shift)));
  let first = i32((m << shift) - root * root);
  root += u32(i32(floor(f32(first) / f32(2u * root))));
  var rest = i32((m << shift) - root * root);
  if (rest < 0) {
    root -= 1u;
    rest += i32(2u * root + 1u);
  }
  if (rest > i32(2u * root)) { root += 1u; }
  return (u32((exponent >> 1u) + 127) << 23u) + ((root + 1u) / 2u - LEADING);
}

// Order.

/// Words as integers of the same order. Both zeros are 0.
fn place_in_order(word: u32) -> i32 { return select(i32(word & SIZE), -i32(word & SIZE), (word & SIGN) != 0u); }

fn is_below(a: u32, b: u32) -> bool { return !is_nan(a) && !is_nan(b) && place_in_order(a) < place_in_order(b); }
fn is_at_most(a: u32, b: u32) -> bool { return !is_nan(a) && !is_nan(b) && place_in_order(a) <= place_in_order(b); }
fn is_equal(a: u32, b: u32) -> bool { return !is_nan(a) && !is_nan(b) && place_in_order(a) == place_in_order(b); }

fn least_of(a: u32, b: u32) -> u32 {
  if (is_nan(a) || is_nan(b)) { return NOT_A_NUMBER; }
  return select(b, a, place_in_order(a) <= place_in_order(b));
}
fn greatest_of(a: u32, b: u32) -> u32 {
  if (is_nan(a) || is_nan(b)) { return NOT_A_NUMBER; }
  return select(b, a, place_in_order(a) >= place_in_order(b));
}

fn floor_of(a: u32) -> u32 {
  if (not_finite(a)) { return a; }
  return word_of(floor(float_from(a)));
}

fn sign_of(a: u32) -> u32 { return select((a & SIGN) | ONE, a, is_nan(a) || (a & SIZE) == 0u); }

// Functions.

/// 2^n for n from -126 to 127.
fn power_of_two(n: i32) -> f32 { return float_from(u32(n + 127) << 23u); }

/// x * 2^n for n from -252 to 254.
fn scaled_by(x: f32, n: i32) -> f32 { return x * power_of_two(n >> 1u) * power_of_two(n - (n >> 1u)); }

/// e^x for x from -104 to 88.7.
fn exp_within(x: f32) -> f32 {
  let n = floor(x * 1.44269504f + 0.5f);
  let r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  let series = ((((1.9875691500e-4f * r + 1.3981999507e-3f) * r + 8.3334519073e-3f) * r + 4.1665795894e-2f) * r
                + 1.6666665459e-1f) * r + 5.0000001201e-1f;
  return scaled_by(series * r * r + r + 1.0f, i32(n));
}

fn exp_of(a: u32) -> u32 {
  if (is_nan(a)) { return NOT_A_NUMBER; }
  let place = place_in_order(a);
  if (place > 0x42b17217) { return INFINITE; }    // 88.7228
  if (place < -0x42cff1b5) { return 0u; }         // -103.97
  return word_of(exp_within(float_from(a)));
}

/// A positive number as fraction * 2^exponent, with a fraction from √½ to √2.
struct Parts {
  fraction: f32,
  exponent: f32,
}
fn parts_of(size: u32) -> Parts {
  let shift = select(0u, countLeadingZeros(size) - 8u, size < LEADING);  // of a subnormal number
  let normal = (size << shift) - select(0u, LEADING, shift > 0u);
  let exponent = i32(normal >> 23u) - i32(shift) + select(0, 1, shift > 0u) - 127;
  let fraction = float_from((normal & FRACTION) | ONE);
  let is_large = fraction > 1.41421354f;
  return Parts(select(fraction, 0.5f * fraction, is_large), f32(exponent + select(0, 1, is_large)));
}

fn log_of(a: u32) -> u32 {
  if ((a & SIZE) == 0u) { return MINUS_INFINITY; }
  if (a >= INFINITE) { return select(NOT_A_NUMBER, a, a == INFINITE); }
  let parts = parts_of(a);
  let e = parts.exponent;
  let x = parts.fraction - 1.0f;
  let z = x * x;
  let series = (((((((7.0376836292e-2f * x - 1.1514610310e-1f) * x + 1.1676998740e-1f) * x - 1.2420140846e-1f) * x
                 + 1.4249322787e-1f) * x - 1.6668057665e-1f) * x + 2.0000714765e-1f) * x - 2.4999993993e-1f) * x
                 + 3.3333331174e-1f;
  return word_of((x + ((series * x * z - 2.12194440e-4f * e) - 0.5f * z)) + 0.693359375f * e);
}

fn tanh_of(a: u32) -> u32 {
  if (is_nan(a)) { return NOT_A_NUMBER; }
  let size = a & SIZE;
  if (size > 0x41200000u) { return (a & SIGN) | ONE; }  // 10
  let x = float_from(a);
  if (size >= 0x3f200000u) {  // 0.625
    return (a & SIGN) | word_of(1.0f - 2.0f / (exp_within(2.0f * float_from(size)) + 1.0f));
  }
  let z = x * x;
  return word_of(((((-5.70498872745e-3f * z + 2.06390887954e-2f) * z - 5.37397155531e-2f) * z + 1.33314422036e-1f) * z
                  - 3.33332819422e-1f) * z * x + x);
}

/// The bits of 2/π, after a word of zeros.
const QUARTERS = array<u32, 8>(0u, 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u, 0x3c439041u, 0xfe5163abu);

/// The angle from the nearest multiple of π/2, and the number of that multiple modulo 4.
struct Angle {
  rest: f32,
  quarter: u32,
}

/// Of any finite angle: its fraction times the bits of 2/π that matter, in whole numbers.
fn angle_of(size: u32) -> Angle {
  if (size < 0x3f490fdbu) { return Angle(float_from(size), 0u); }  // π/4
  let m = (size & FRACTION) | LEADING;
  let first = (size >> 23u) - 120u;  // angle * 2/π = m * 2^(first - 30) * 2/π; 6 <= first <= 134
  let at = first / 32u;
  let by = first % 32u;
  var words: array<u32, 3>;
  for (var n = 0u; n < 3u; n++) {
    words[n] = (QUARTERS[at + n] << by) | select(0u, QUARTERS[at + n + 1u] >> (32u - by), by > 0u);
  }
  let low = m * words[1] + high_product(m, words[2]);
  let carry = select(0u, 1u, low < m * words[1]);
  let high = m * words[0] + high_product(m, words[1]) + carry;
  // (high, low) is in units of 2^-62 quarters of the circle, modulo 4 of them
  let quarter = (high + 0x20000000u) >> 30u;
  var rest = vec2<u32>(high - (quarter << 30u), low);
  let is_negative = (rest.x >> 31u) == 1u;
  if (is_negative) { rest = vec2<u32>(~rest.x + select(0u, 1u, rest.y == 0u), ~rest.y + 1u); }
  let zeros = select(countLeadingZeros(rest.x), 32u + countLeadingZeros(rest.y), rest.x == 0u);
  let shift = zeros % 32u;
  let upper = select(rest.x, rest.y, zeros >= 32u);
  let lower = select(rest.y, 0u, zeros >= 32u);
  let top = (upper << shift) | select(0u, lower >> (32u - shift), shift > 0u);
  let turned = f32(top) * power_of_two(-30 - i32(zeros)) * 1.57079637f;
  return Angle(select(turned, -turned, is_negative), quarter & 3u);
}

fn sine_within(x: f32) -> f32 {
  let z = x * x;
  return ((-1.9515295891e-4f * z + 8.3321608736e-3f) * z - 1.6666654611e-1f) * z * x + x;
}
fn cosine_within(x: f32) -> f32 {
  let z = x * x;
  return ((2.443315711809948e-5f * z - 1.388731625493765e-3f) * z + 4.166664568298827e-2f) * z * z - 0.5f * z + 1.0f;
}

/// sin of an angle of this size, `quarters` of a circle later.
fn wave(size: u32, quarters: u32) -> f32 {
  let angle = angle_of(size);
  let quarter = angle.quarter + quarters;
  var x = 0.0f;
  if ((quarter & 1u) == 0u) { x = sine_within(angle.rest); } else { x = cosine_within(angle.rest); }
  return select(x, -x, (quarter & 2u) != 0u);
}
fn sin_of(a: u32) -> u32 {
  if (not_finite(a)) { return NOT_A_NUMBER; }
  return word_of(wave(a & SIZE, 0u)) ^ (a & SIGN);
}
fn cos_of(a: u32) -> u32 {
  if (not_finite(a)) { return NOT_A_NUMBER; }
  return word_of(wave(a & SIZE, 1u));
}

/// The leading 12 bits of a fraction: products of two such numbers are exact. Compilers may simplify a + b - a to b, but
/// they do not see through this.
fn leading_of(x: f32) -> f32 { return float_from(word_of(x) & 0xfffff000u); }

/// A number as the sum of two floats. `high` has 12 bits.
struct Double {
  high: f32,
  low: f32,
}

/// log2 of a positive number: 2 / ln 2 times the series of artanh.
fn double_log2(size: u32) -> Double {
  let parts = parts_of(size);
  let above = parts.fraction - 1.0f;
  let below = parts.fraction + 1.0f;
  let below_high = leading_of(below);
  let below_low = parts.fraction - (below_high - 1.0f);
  let s = above / below;
  let s_high = leading_of(s);
  let s_low = ((above - s_high * below_high) - s_high * below_low) / below;
  let z = s * s;
  let series = s * z * ((((0.262308189f * z + 0.320598898f) * z + 0.412198583f) * z + 0.577078016f) * z + 0.961796694f);
  let high = s_high * 2.884765625f;  // the leading bits of 2 / ln 2
  let low = (s_high * 6.24456778e-4f + s_low * 2.88539004f) + series;
  let all = leading_of(parts.exponent + (high + low));
  return Double(all, ((parts.exponent - all) + high) + low);
}

/// size^y for a positive number and a finite y.
fn power_within(size: u32, y: f32) -> u32 {
  let log2 = double_log2(size);
  let rough = (log2.high + log2.low) * min(max(y, -1e30f), 1e30f);
  if (rough > 128.5f) { return INFINITE; }
  if (rough < -151.0f) { return 0u; }
  let y_high = leading_of(y);
  let high = log2.high * y_high;
  let low = log2.high * (y - y_high) + log2.low * y;
  let n = floor(high + low + 0.5f);
  let f = (high - n) + low;
  let series = ((((((1.52527338e-5f * f + 1.54035304e-4f) * f + 1.33335581e-3f) * f + 9.61812911e-3f) * f
                 + 5.55041087e-2f) * f + 2.40226507e-1f) * f + 6.93147181e-1f) * f + 1.0f;
  return word_of(scaled_by(series, i32(n)));
}

/// As Math.pow.
fn power_of(a: u32, b: u32) -> u32 {
  let size = b & SIZE;
  if (size == 0u) { return ONE; }
  if (is_nan(a) || is_nan(b)) { return NOT_A_NUMBER; }
  let x = a & SIZE;
  let grows = (b & SIGN) == 0u;
  if (size == INFINITE) {
    if (x == ONE) { return NOT_A_NUMBER; }
    return select(0u, INFINITE, (x > ONE) == grows);
  }
  let y = float_from(b);
  let is_whole = size >= 0x4b000000u || floor(y) == y;                                         // 2^23
  let is_odd = is_whole && size < 0x4b800000u && (u32(abs(y)) & 1u) == 1u;                     // 2^24
  let sign = select(0u, a & SIGN, is_odd);
  if (x == 0u || x == INFINITE) { return sign | select(0u, INFINITE, (x == INFINITE) == grows); }
  if ((a & SIGN) != 0u && !is_whole) { return NOT_A_NUMBER; }
  return sign | power_within(x, y);
}
