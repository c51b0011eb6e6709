#include "attention/top_k.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>

#include "base/memory.h"
#include "base/numbers.h"

namespace headwise {

namespace {

/// A probability and its key as one number. The higher it ranks, the larger the number. Larger values rank higher;
/// among equal values the lower key does. NaN ranks highest, so that it is seen.
std::uint64_t ranked(float value, std::int64_t key) {
  const std::uint32_t bits = value == value ? std::bit_cast<std::uint32_t>(value) : 0x7fffffffu;  // values are >= 0
  return std::uint64_t{bits} << 32 | (0xffffffffu - static_cast<std::uint32_t>(key));
}

/// A bound that at least k values of a row reach: the k-th largest maximum of 4 k groups of values. -inf if the row is
/// too short for that many groups.
float reached_by(const float* values, std::int64_t count, std::int64_t k) {
  constexpr std::int64_t kMaxGroups = 256;
  const std::int64_t groups = round_up(4 * k, 32);
  if (groups > kMaxGroups || count < groups) return -kInfinity;
  float maxima[kMaxGroups];
  std::copy_n(values, groups, maxima);
  for (std::int64_t begin = groups; begin + groups <= count; begin += groups)
    for (std::int64_t i = 0; i < groups; ++i) maxima[i] = std::max(maxima[i], values[begin + i]);
  std::uint32_t bits[kMaxGroups];  // ordered as the values are, which are >= 0 or NaN
  std::memcpy(bits, maxima, groups * sizeof(float));
  std::nth_element(bits, bits + k - 1, bits + groups, std::greater<>());
  return std::bit_cast<float>(bits[k - 1]);
}

constexpr std::int64_t kChunk = 8;

/// Most chunks hold no value that reaches the bound.
bool any_reaches(const float* chunk, float bound) {
  bool any = false;
  for (std::int64_t i = 0; i < kChunk; ++i) any |= !(chunk[i] < bound);  // true for a NaN
  return any;
}

}  // namespace

void select_top_k(const float* values, const std::uint8_t* visible, std::int64_t count, std::int64_t first_key,
                  std::int64_t k, std::uint64_t* candidates, float* top_values, std::int32_t* top_indices) {
  std::uint64_t* end = candidates;
  const float bound = reached_by(values, count, k);
  for (std::int64_t begin = 0; begin < count; begin += kChunk) {
    if (!any_reaches(values + begin, bound)) continue;
    for (std::int64_t j = begin; j < begin + kChunk; ++j) {  // no branch: it would be mispredicted
      *end = ranked(values[j], first_key + j);
      end += visible[j] & !(values[j] < bound);
    }
  }
  const std::int64_t found = std::min(k, static_cast<std::int64_t>(end - candidates));
  std::partial_sort(candidates, candidates + found, end, std::greater<>());
  for (std::int64_t n = 0; n < found; ++n) {
    top_values[n] = std::bit_cast<float>(static_cast<std::uint32_t>(candidates[n] >> 32));
    top_indices[n] = static_cast<std::int32_t>(0xffffffffu - static_cast<std::uint32_t>(candidates[n]));
  }
  std::fill(top_values + found, top_values + k, 0.0f);
  std::fill(top_indices + found, top_indices + k, -1);
}

}  // namespace headwise
