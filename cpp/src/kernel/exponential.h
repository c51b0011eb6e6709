#pragma once

#include "kernel/arch.h"

namespace headwise {

/// exp(x) for x <= 88.37, relative error <= 1.3 ulp; where float32 turns subnormal, below -87.33654, so does the
/// result, and below -87.68 it is exactly 0. exp(0) is exactly 1. NaN is for the callers to keep out.
///
/// x = n ln2 + r with |r| <= ln2/2, and exp(x) = 2^n exp(r): a minimax polynomial of degree 6 for exp(r), and a number
/// whose exponent is n, which for the n = -127 that everything below is raised to happens to be 0.
template <class Arch>
inline Floats<Arch> exponential(Floats<Arch> x) {
  using V = Floats<Arch>;
  // adding 1.5 * 2^23 leaves the nearest integer in the low bits; 127 is the bias of the exponent
  const V shift(12582912.0f + 127.0f);
  x = xsimd::max(x, V(-88.0f));
  const V shifted = multiply_add<Arch>(x, V(1.44269504f), shift);
  const V minus_n = shift - shifted;
  V r = multiply_add<Arch>(minus_n, V(0.693359375f), x);
  r = multiply_add<Arch>(minus_n, V(-2.12194440e-4f), r);
  // two short chains instead of one long one: processors do not look far enough ahead to hide its latency
  const V r2 = r * r;
  V high = multiply_add<Arch>(r, V(8.368673734e-3f), V(4.166826233e-2f));
  high = multiply_add<Arch>(r2, V(1.382101444e-3f), high);
  const V low = multiply_add<Arch>(r, V(1.666652113e-1f), V(4.999999404e-1f));
  const V p = multiply_add<Arch>(r2, multiply_add<Arch>(r2, high, low), r + V(1.0f));
  return p * xsimd::bitwise_cast<float>(xsimd::bitwise_cast<std::int32_t>(shifted) << 23);
}

/// tanh(x), relative error <= 4 ulp: an odd polynomial below 0.625, 1 - 2 / (exp(2x) + 1) above (Cephes' tanhf).
template <class Arch>
inline Floats<Arch> hyperbolic_tangent(Floats<Arch> x) {
  using V = Floats<Arch>;
  const V magnitude = xsimd::abs(x);
  const V z = x * x;
  V p(-5.70498872745e-3f);
  p = multiply_add<Arch>(p, z, V(2.06390887954e-2f));
  p = multiply_add<Arch>(p, z, V(-5.37397155531e-2f));
  p = multiply_add<Arch>(p, z, V(1.33314422036e-1f));
  p = multiply_add<Arch>(p, z, V(-3.33332819422e-1f));
  const V small = multiply_add<Arch>(p * z, x, x);
  // beyond 10 tanh is 1 in float32, and exp must not overflow
  const V doubled = xsimd::select(magnitude < V(10.0f), magnitude + magnitude, V(20.0f));
  const V large = V(1.0f) - V(2.0f) / (exponential<Arch>(doubled) + V(1.0f));
  const V signed_large = xsimd::select(x < V(0.0f), V(0.0f) - large, large);
  return xsimd::select(magnitude < V(0.625f), small, xsimd::select(x == x, signed_large, x));
}

}  // namespace headwise
