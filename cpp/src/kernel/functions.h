#pragma once

#include <cstdint>
#include <limits>

#include "kernel/arch.h"

namespace headwise {

/// exp(x) for x <= 88.37, relative error <= 1.3 ulp. Below 2^-114.5 (x < -79.365) it is exactly 0: processors are slow
/// with subnormal numbers, which products of smaller weights and values would often be. exp(0) is exactly 1. Callers
/// keep NaN out.
///
/// x = n ln2 + r with |r| <= ln2/2, and exp(x) = 2^(n - 12) * 2^12 exp(r). 2^12 exp(r) is a minimax polynomial of
/// degree
/// 6. 2^(n - 12) is a number whose exponent bits are n + 115. x is clamped at -79.7, so that n >= -115; n = -115 gives
/// the bits of 0.
///
/// Why not xsimd::exp: the error bound of this one is documented and tested, its chains of multiply-adds are shorter,
/// and V8 loads its constants from memory once (`held`) instead of building them anew at every use.
///
/// Construct one before a loop: the constants are then loaded once.
template <class Arch>
class Exponential {
  using V = Floats<Arch>;

 public:
  V operator()(V x) const {
    x = xsimd::max(x, lowest_);
    const V shifted = multiply_add<Arch>(x, log2e_, shift_);
    const V minus_n = shift_ - shifted;
    V r = multiply_add<Arch>(minus_n, ln2_, x);
    r = multiply_add<Arch>(minus_n, ln2_rest_, r);
    // Two short chains instead of one long chain: processors do not look far enough ahead to hide the latency of a long
    // one.
    const V r2 = r * r;
    const V high = multiply_add<Arch>(r2, c6_, multiply_add<Arch>(r, c5_, c4_));
    const V low = multiply_add<Arch>(r, c3_, c2_);
    const V p = multiply_add<Arch>(r2, multiply_add<Arch>(r2, high, low), multiply_add<Arch>(r, unit_, unit_));
    return p * xsimd::bitwise_cast<float>(xsimd::bitwise_cast<std::int32_t>(shifted) << 23);
  }

 private:
  static constexpr float kUnit = 0x1p12f;
  // Adding 1.5 * 2^23 leaves the nearest integer in the low bits. 127 is the bias of the exponent.
  const V shift_ = held<Arch>(12582912.0f + 127.0f - 12.0f);
  const V lowest_ = held<Arch>(-79.7f), log2e_ = held<Arch>(1.44269504f);
  const V ln2_ = held<Arch>(0.693359375f), ln2_rest_ = held<Arch>(-2.12194440e-4f);
  const V unit_ = held<Arch>(kUnit), c2_ = held<Arch>(4.999999404e-1f * kUnit),
          c3_ = held<Arch>(1.666652113e-1f * kUnit), c4_ = held<Arch>(4.166826233e-2f * kUnit),
          c5_ = held<Arch>(8.368673734e-3f * kUnit), c6_ = held<Arch>(1.382101444e-3f * kUnit);
};

/// tanh(x), relative error <= 4 ulp. Below 0.625 it is an odd polynomial, above it is 1 - 2 / (exp(2x) + 1). From
/// Cephes' tanhf.
template <class Arch>
class HyperbolicTangent {
  using V = Floats<Arch>;

 public:
  V operator()(V x) const {
    const V magnitude = xsimd::abs(x);
    const V z = x * x;
    V p = multiply_add<Arch>(c11_, z, c9_);
    p = multiply_add<Arch>(p, z, c7_);
    p = multiply_add<Arch>(p, z, c5_);
    p = multiply_add<Arch>(p, z, c3_);
    const V small = multiply_add<Arch>(p * z, x, x);
    const V doubled = xsimd::select(magnitude < largest_, magnitude + magnitude, largest_ + largest_);
    const V large = one_ - two_ / (exponential_(doubled) + one_);
    const V signed_large = xsimd::select(x < zero_, zero_ - large, large);
    return xsimd::select(magnitude < end_of_small_, small, xsimd::select(x == x, signed_large, x));
  }

 private:
  const Exponential<Arch> exponential_{};
  const V zero_ = V(0.0f), one_ = held<Arch>(1.0f), two_ = held<Arch>(2.0f), end_of_small_ = held<Arch>(0.625f);
  // Above this value tanh is 1 in float32. The limit keeps exp from overflowing.
  const V largest_ = held<Arch>(10.0f);
  const V c3_ = held<Arch>(-3.33332819422e-1f), c5_ = held<Arch>(1.33314422036e-1f),
          c7_ = held<Arch>(-5.37397155531e-2f), c9_ = held<Arch>(2.06390887954e-2f),
          c11_ = held<Arch>(-5.70498872745e-3f);
};

}  // namespace headwise

namespace headwise::kernels {
namespace {

/// Functions of floats, computed in double and rounded once: each errs by at most 0.501 ulp. No multiply-add is fused,
/// so all instruction sets give the same bits.
template <class Arch>
struct DoubleFunctions {
  using V = Doubles<Arch>;
  using Bits = xsimd::batch<std::uint64_t, Arch>;

  static constexpr double kInfinity = std::numeric_limits<double>::infinity();
  static constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  /// Adding it leaves a whole number in the low bits.
  static constexpr double kShift = 0x1.8p52;

  static Bits bits(V x) { return xsimd::bitwise_cast<std::uint64_t>(x); }
  static V number(Bits x) { return xsimd::bitwise_cast<double>(x); }
  static auto is(Bits x, std::uint64_t y) { return xsimd::batch_bool_cast<double>(x == Bits(y)); }

  /// c_0 + x (c_1 + x (c_2 + ...))
  template <class... More>
  static V polynomial(V x, double c, More... more) {
    if constexpr (sizeof...(more) == 0)
      return V(c);
    else
      return V(c) + x * polynomial(x, more...);
  }

  /// x = n ln2 + r, and exp(x) = 2^n exp(r). As a float the result is 0 or infinite at the limits of x.
  static V exp(V x) {
    const V limited = xsimd::min(xsimd::max(x, V(-110.0)), V(90.0));
    const V shifted = limited * V(0x1.71547652b82fep+0) + V(kShift);
    const V n = shifted - V(kShift);
    const V r = limited - n * V(0x1.62e42fefa39efp-1);
    const V p = polynomial(r, 1.0, 1.0, 1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040, 1.0 / 40320,
                           1.0 / 362880);
    const V power = number((bits(shifted) + Bits(1023)) << 52);
    return xsimd::select(x == x, p * power, x);
  }

  /// The logarithm of a positive number that is not subnormal, as floats never are in double: x = 2^e m with m in
  /// [1/sqrt 2, sqrt 2], and ln m = 2 atanh(f), f = (m - 1) / (m + 1).
  static V positive_log(V x) {
    V e = number((bits(x) >> 52) | Bits(0x4330000000000000u)) - V(0x1p52 + 1023);
    V m = number((bits(x) & Bits(0x000fffffffffffffu)) | Bits(0x3ff0000000000000u));
    const auto large = m > V(1.4142135623730951);
    e = xsimd::select(large, e + V(1.0), e);
    m = xsimd::select(large, m * V(0.5), m);
    const V f = (m - V(1.0)) / (m + V(1.0));
    const V series = polynomial(f * f, 2.0, 2.0 / 3, 2.0 / 5, 2.0 / 7, 2.0 / 9, 2.0 / 11, 2.0 / 13, 2.0 / 15);
    return e * V(0x1.62e42fefa39efp-1) + f * series;
  }

  /// The same for 0, which has -inf, and for infinity. A negative number is taken for positive.
  static V log_of_magnitude(V x) {
    const V magnitude = xsimd::abs(x);
    const V some = positive_log(magnitude);
    return xsimd::select(magnitude == V(0.0), V(-kInfinity), xsimd::select(magnitude < V(kInfinity), some, magnitude));
  }

  static V log(V x) { return xsimd::select(x < V(0.0), V(kNan), log_of_magnitude(x)); }

  /// sin(x + quarters pi/2). x = n pi/2 + r; the parts of pi/2 have 29 bits, so that n times a part is exact up to
  /// |x| = 2^24. Beyond, the result is somewhere in [-1, 1].
  static V sine(V x, std::uint64_t quarters) {
    const V shifted = x * V(0x1.45f306dc9c883p-1) + V(kShift);
    const V n = shifted - V(kShift);
    V r = x - n * V(0x1.921fb54p+0);
    r = r - n * V(0x1.10b4610p-30);
    r = r - n * V(0x1.a62633145c06ep-58);
    const V r2 = r * r;
    const V odd =
        r * polynomial(r2, 1.0, -1.0 / 6, 1.0 / 120, -1.0 / 5040, 1.0 / 362880, -1.0 / 39916800, 1.0 / 6227020800);
    const V even = polynomial(r2, 1.0, -1.0 / 2, 1.0 / 24, -1.0 / 720, 1.0 / 40320, -1.0 / 3628800, 1.0 / 479001600);
    const Bits quarter = bits(shifted) + Bits(quarters);
    const V value = xsimd::select(is(quarter & Bits(1), 0), odd, even);
    const V signed_value = number(bits(value) ^ ((quarter & Bits(2)) << 62));
    const V limited = xsimd::min(xsimd::max(signed_value, V(-1.0)), V(1.0));
    return xsimd::select(xsimd::abs(x) < V(kInfinity), limited, V(kNan));
  }

  static V sin(V x) { return sine(x, 0); }
  static V cos(V x) { return sine(x, 1); }

  /// As Math.pow: 1 to the power of an infinity is NaN, and anything to the power of 0 is 1.
  static V power(V x, V y) {
    const V magnitude = exp(y * log_of_magnitude(x));
    const V half = y * V(0.5);
    const auto is_whole = xsimd::floor(y) == y;  // so are infinities
    const auto is_odd = is_whole & (xsimd::floor(half) != half);
    const auto has_no_root = (x < V(0.0)) & (x > V(-kInfinity)) & !is_whole;
    const V sign = number(bits(x) & Bits(0x8000000000000000u));
    const V with_sign = number(bits(magnitude) | bits(xsimd::select(is_odd, sign, V(0.0))));
    return xsimd::select(y == V(0.0), V(1.0), xsimd::select(has_no_root, V(kNan), with_sign));
  }

  /// The rest of x / y with the sign of x, as fmod. It is exact for |x / y| < 2^28, and 0 beyond.
  static V remainder(V x, V y) {
    const V dividend = xsimd::abs(x), divisor = xsimd::abs(y);
    const V quotient = xsimd::floor(dividend / divisor);
    const V rest = xsimd::select(quotient < V(0x1p28), dividend - divisor * quotient, V(0.0));
    // x / infinity is x. Infinity / y and x / 0 are NaN.
    const V all = xsimd::select((divisor == V(kInfinity)) & (dividend < V(kInfinity)), dividend, rest);
    const auto is_number = (dividend < V(kInfinity)) & (divisor > V(0.0));
    return xsimd::select(is_number, number(bits(all) | (bits(x) & Bits(0x8000000000000000u))), V(kNan));
  }
};

}  // namespace
}  // namespace headwise::kernels
