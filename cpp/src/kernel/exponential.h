#pragma once

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
