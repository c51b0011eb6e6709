#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "base/numbers.h"
#include "kernel/arch.h"
#include "kernel/functions.h"

namespace headwise::kernels {
namespace {

/// A row is *poisoned* if a visible score is NaN or +inf. It is NaN from then on. Weights of hidden keys stay 0.
inline float poisoned_step(float* scores, std::int64_t count, float* maximum, float* sum) {
  for (std::int64_t j = 0; j < count; ++j) scores[j] = scores[j] == -kInfinity ? 0.0f : kNan;
  *maximum = *sum = kNan;
  return kNan;
}

/// Calls visit(first, vectors) for all vectors of a row: `at_a_time` vectors at a time, then one at a time. Running
/// sums and maxima then wait for each other less often.
template <class Arch, int at_a_time, class Visit>
inline void for_each_vectors(std::int64_t count, Visit visit) {
  constexpr std::int64_t lanes = Floats<Arch>::size;
  std::int64_t j = 0;
  for (; j + at_a_time * lanes <= count; j += at_a_time * lanes) visit(j, std::integral_constant<int, at_a_time>());
  for (; j < count; j += lanes) visit(j, std::integral_constant<int, 1>());
}

/// Combines 1, 2 or 4 vectors into one.
template <class V, std::size_t count, class Combine>
inline V fold(V (&vectors)[count], Combine combine) {
  if constexpr (count == 4)
    return combine(combine(vectors[0], vectors[1]), combine(vectors[2], vectors[3]));
  else if constexpr (count == 2)
    return combine(vectors[0], vectors[1]);
  else
    return vectors[0];
}

/// The maximum of a row, and whether the row is poisoned. The first test looks at the sum alone. Finite scores can also
/// fail it, if their sum overflows to both infinities. A second, exact test then decides.
template <class Arch>
float row_maximum(const float* scores, std::int64_t count, bool* poisoned) {
  using V = Floats<Arch>;
  V highest(-kInfinity), total(0.0f);
  for_each_vectors<Arch, 4>(count, [&](std::int64_t j, auto vectors) {
    V s[vectors()];
    for (int v = 0; v < vectors(); ++v) s[v] = V::load_unaligned(scores + j + v * V::size);
    highest = xsimd::max(highest, fold(s, [](V x, V y) { return xsimd::max(x, y); }));
    total += fold(s, [](V x, V y) { return x + y; });  // NaN survives addition; a vector maximum may drop it
  });
  float maximum = xsimd::reduce_max(highest);
  const float sum = xsimd::reduce_add(total);
  *poisoned = false;
  if (sum != sum || maximum == kInfinity || maximum != maximum) {
    maximum = -kInfinity;
    for (std::int64_t j = 0; j < count; ++j) {
      *poisoned |= scores[j] != scores[j] || scores[j] == kInfinity;
      maximum = scores[j] > maximum ? scores[j] : maximum;
    }
  }
  return maximum;
}

template <class Arch>
float softmax_step(float* scores, std::int64_t count, float* maximum, float* sum) {
  using V = Floats<Arch>;
  bool poisoned;
  const float tile_maximum = row_maximum<Arch>(scores, count, &poisoned);
  if (poisoned || *maximum != *maximum) return poisoned_step(scores, count, maximum, sum);
  const float raised = tile_maximum > *maximum ? tile_maximum : *maximum;
  if (raised == -kInfinity) {  // nothing is visible yet, and exp(-inf - -inf) is NaN
    std::memset(scores, 0, count * sizeof(float));
    return 1.0f;
  }
  const V shift(raised);
  const Exponential<Arch> exponential;
  V total(0.0f);
  for_each_vectors<Arch, 2>(count, [&](std::int64_t j, auto vectors) {
    V weight[vectors()];
    for (int v = 0; v < vectors(); ++v) {
      weight[v] = exponential(V::load_unaligned(scores + j + v * V::size) - shift);
      weight[v].store_unaligned(scores + j + v * V::size);
    }
    total += fold(weight, [](V x, V y) { return x + y; });
  });
  // Before the first key there is nothing to scale.
  const float factor = *maximum == raised || *maximum == -kInfinity ? 1.0f : std::exp(*maximum - raised);
  *sum = *sum * factor + xsimd::reduce_add(total);
  *maximum = raised;
  return factor;
}

template <class Arch>
void exponentials(float* values, std::int64_t count, float maximum, float factor) {
  using V = Floats<Arch>;
  bool poisoned = maximum != maximum || factor != factor;
  if (!poisoned) row_maximum<Arch>(values, count, &poisoned);
  if (maximum == -kInfinity) {
    std::memset(values, 0, count * sizeof(float));
    return;
  }
  if (poisoned) {
    float ignored_maximum, ignored_sum;
    poisoned_step(values, count, &ignored_maximum, &ignored_sum);
    return;
  }
  const V shift(maximum), scale(factor);
  const Exponential<Arch> exponential;
  for (std::int64_t j = 0; j < count; j += V::size)
    (exponential(V::load_unaligned(values + j) - shift) * scale).store_unaligned(values + j);
}

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
