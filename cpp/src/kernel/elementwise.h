#pragma once

#include <cstdint>

#include "kernel/arch.h"
#include "kernel/exponential.h"

namespace headwise::kernels {
namespace {

template <class Arch>
void softcap(float* scores, std::int64_t count, float cap) {
  using V = Floats<Arch>;
  const V factor(cap);
  const HyperbolicTangent<Arch> hyperbolic_tangent;
  for (std::int64_t j = 0; j < count; j += V::size)
    (factor * hyperbolic_tangent(V::load_unaligned(scores + j) / factor)).store_unaligned(scores + j);
}

template <class Arch>
void scale(float* values, std::int64_t count, float factor) {
  using V = Floats<Arch>;
  std::int64_t j = 0;
  for (; j + static_cast<std::int64_t>(V::size) <= count; j += V::size)
    (V::load_unaligned(values + j) * V(factor)).store_unaligned(values + j);
  for (; j < count; ++j) values[j] *= factor;
}

}  // namespace
}  // namespace headwise::kernels
