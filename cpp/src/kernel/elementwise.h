#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "base/numbers.h"
#include "headwise/array.h"
#include "kernel/arch.h"
#include "kernel/functions.h"
#include "kernel/stored_rows.h"

namespace headwise::kernels {
namespace {

/// A score whose quotient would be subnormal, and lose bits, stays what it is: tanh(x) is x there.
template <class Arch>
void softcap(float* scores, std::int64_t count, float cap) {
  using V = Floats<Arch>;
  const V factor(cap), uncapped(0x1p-125f * cap);
  const HyperbolicTangent<Arch> hyperbolic_tangent;
  for (std::int64_t j = 0; j < count; j += V::size) {
    const V score = V::load_unaligned(scores + j), capped = factor * hyperbolic_tangent(score / factor);
    xsimd::select(xsimd::abs(score) <= uncapped, score, capped).store_unaligned(scores + j);
  }
}

template <class Arch>
void scale(float* values, std::int64_t count, float factor) {
  using V = Floats<Arch>;
  std::int64_t j = 0;
  for (; j + static_cast<std::int64_t>(V::size) <= count; j += V::size)
    (V::load_unaligned(values + j) * V(factor)).store_unaligned(values + j);
  for (; j < count; ++j) values[j] *= factor;
}

template <class Arch>
void subtract_distances(float* scores, std::int64_t count, float slope, float start) {
  using V = Floats<Arch>;
  constexpr std::int64_t lanes = V::size;
  float first[lanes];
  for (std::int64_t i = 0; i < lanes; ++i) first[i] = start - static_cast<float>(i);
  V distance = V::load_unaligned(first);
  const V step(static_cast<float>(lanes)), factor(slope);
  std::int64_t j = 0;
  for (; j + lanes <= count; j += lanes, distance -= step)
    (V::load_unaligned(scores + j) - factor * xsimd::abs(distance)).store_unaligned(scores + j);
  for (; j < count; ++j) scores[j] -= slope * std::abs(start - static_cast<float>(j));
}

/// A key whose bias is -inf gets the score -inf, even if its own score is NaN.
template <class Arch, class T>
bool add_stored_bias(const T* bias, std::int64_t count, float* scores) {
  using V = Floats<Arch>;
  constexpr std::int64_t lanes = V::size;
  constexpr float hidden = -std::numeric_limits<float>::infinity();
  const V hiding(hidden);
  auto any = hiding != hiding;
  const auto add = [&](std::int64_t first, auto vectors) {
    V b[vectors()];
    StoredRows<T>::template load_unscaled<Arch>(bias + first, b);
    for (int v = 0; v < vectors(); ++v) {
      float* const at = scores + first + v * lanes;
      const auto hides = b[v] == hiding;
      any = any | hides;
      xsimd::select(hides, hiding, V::load_unaligned(at) + b[v]).store_unaligned(at);
    }
  };
  std::int64_t j = 0;
  for (; j + 2 * lanes <= count; j += 2 * lanes) add(j, std::integral_constant<int, 2>());
  for (; j + lanes <= count; j += lanes) add(j, std::integral_constant<int, 1>());
  bool hides_rest = false;
  for (; j < count; ++j) {
    const float b = load_element(bias + j);
    hides_rest |= b == hidden;
    scores[j] = b == hidden ? hidden : scores[j] + b;
  }
  return xsimd::any(any) || hides_rest;
}

template <class Arch>
bool add_bias(ConstArray bias, std::int64_t count, float* scores) {
  if (bias.dtype == Dtype::float16)
    return add_stored_bias<Arch>(static_cast<const std::uint16_t*>(bias.data), count, scores);
  return add_stored_bias<Arch>(static_cast<const float*>(bias.data), count, scores);
}

template <class Arch>
bool hide(float* scores, const std::uint8_t* visible, std::int64_t count) {
  using V = Floats<Arch>;
  constexpr std::int64_t lanes = V::size;
  constexpr float hidden = -std::numeric_limits<float>::infinity();
  const V hiding(hidden);
  Integers<Arch> any(0);
  const auto* bytes = reinterpret_cast<const std::int8_t*>(visible);
  const auto apply = [&](std::int64_t first, auto vectors) {
    Integers<Arch> shown[vectors()];
    load_bytes<Arch>(bytes + first, shown);
    for (int v = 0; v < vectors(); ++v) {
      float* const at = scores + first + v * lanes;
      any = any | shown[v];
      const auto hides = xsimd::batch_bool_cast<float>(shown[v] == Integers<Arch>(0));
      xsimd::select(hides, hiding, V::load_unaligned(at)).store_unaligned(at);
    }
  };
  std::int64_t j = 0;
  for (; j + 2 * lanes <= count; j += 2 * lanes) apply(j, std::integral_constant<int, 2>());
  for (; j + lanes <= count; j += lanes) apply(j, std::integral_constant<int, 1>());
  std::uint8_t any_of_rest = 0;
  for (; j < count; ++j) {
    any_of_rest |= visible[j];
    scores[j] = visible[j] ? scores[j] : hidden;
  }
  return xsimd::any(any != Integers<Arch>(0)) || any_of_rest;
}

}  // namespace
}  // namespace headwise::kernels
