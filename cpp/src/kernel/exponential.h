#pragma once

#include "kernel/arch.h"

namespace headwise {

/// exp(x) for x <= 88.37, relative error <= 2 ulp; below -87.33654 (where float32 turns subnormal) exactly 0.
/// x = n ln2 + r with |r| <= ln2/2; Cephes' polynomial of degree 7 for exp(r), n added to its exponent.
/// NaN is for the callers to keep out.
template <class Arch>
inline Floats<Arch> exponential(Floats<Arch> x) {
  using V = Floats<Arch>;
  const V shift(12582912.0f);  // 1.5 * 2^23: adding it leaves the nearest integer in the low bits
  const V biased = multiply_add<Arch>(x, V(1.44269504f), shift);
  const V n = biased - shift;
  V r = multiply_add<Arch>(n, V(-0.693359375f), x);
  r = multiply_add<Arch>(n, V(2.12194440e-4f), r);
  V p(1.9875691500e-4f);
  p = multiply_add<Arch>(p, r, V(1.3981999507e-3f));
  p = multiply_add<Arch>(p, r, V(8.3334519073e-3f));
  p = multiply_add<Arch>(p, r, V(4.1665795894e-2f));
  p = multiply_add<Arch>(p, r, V(1.6666665459e-1f));
  p = multiply_add<Arch>(p, r, V(5.0000001201e-1f));
  p = multiply_add<Arch>(p, r * r, r) + V(1.0f);
  const auto exponent = xsimd::bitwise_cast<std::int32_t>(biased) << 23;
  const V result = xsimd::bitwise_cast<float>(xsimd::bitwise_cast<std::int32_t>(p) + exponent);
  return xsimd::select(x < V(-87.33654f), V(0.0f), result);
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
