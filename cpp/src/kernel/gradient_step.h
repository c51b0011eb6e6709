#pragma once

#include <cstdint>

#include "kernel/arch.h"
#include "kernel/exponential.h"
#include "kernel/softmax_step.h"

namespace headwise::kernels {
namespace {

template <class Arch>
float gradient_step(float* scores, float* products, std::int64_t count, float lse, float delta, float gain) {
  using V = Floats<Arch>;
  // exp(88) is finite. A score above its lse by more than rounding is no result of this forward.
  const V shift(lse), mean(delta), factor(gain), none(0.0f), hidden = held<Arch>(-kInfinity), most = held<Arch>(88.0f);
  const Exponential<Arch> exponential;
  V total(0.0f);
  for (std::int64_t j = 0; j < count; j += V::size) {
    const V score = V::load_unaligned(scores + j), product = V::load_unaligned(products + j);
    const V exponent = score - shift;
    const V power = xsimd::select(exponent == exponent, exponential(xsimd::min(exponent, most)), exponent);
    const V weight = xsimd::select(score == hidden, none, power);
    const auto weightless = weight == none;
    weight.store_unaligned(scores + j);
    xsimd::select(weightless, none, weight * (factor * product - mean)).store_unaligned(products + j);
    total += xsimd::select(weightless, none, weight * product);
  }
  return xsimd::reduce_add(total);
}

}  // namespace
}  // namespace headwise::kernels
