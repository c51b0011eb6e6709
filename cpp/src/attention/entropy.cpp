#include "attention/entropy.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "attention/finish.h"

namespace headwise {

float entropy_of(const float* scores, const float* probabilities, std::int64_t count, const FinishedSoftmax& softmax) {
  // -ln p = log_sum - (s - maximum). Every term is >= 0, so float32 sums of chunks are accurate.
  constexpr std::int64_t kChunk = 512, kLanes = 8;
  double total = 0.0;
  for (std::int64_t begin = 0; begin < count; begin += kChunk) {
    float sums[kLanes] = {};
    for (std::int64_t j = begin; j < std::min(begin + kChunk, count); j += kLanes) {
      for (std::int64_t i = 0; i < kLanes; ++i) {
        const float p = probabilities[j + i];
        sums[i] += p == 0.0f ? 0.0f : p * (softmax.log_sum - (scores[j + i] - softmax.maximum));
      }
    }
    for (const float sum : sums) total += sum;
  }
  return static_cast<float>(total);
}

float entropy_of(const float* weights, std::int64_t count) {
  double total = 0.0;
  for (std::int64_t j = 0; j < count; ++j)
    if (weights[j] != 0.0f) total -= static_cast<double>(weights[j]) * std::log(static_cast<double>(weights[j]));
  return static_cast<float>(total);
}

float entropy_of_empty_row(const Call& call, const Sequence& sequence, const QueryRow& row,
                           const FinishedSoftmax& softmax) {
  if (!follows_policy(sequence, row, softmax.seen)) return 0.0f;
  if (call.options.empty_rows == EmptyRows::nan) return std::numeric_limits<float>::quiet_NaN();
  if (call.options.empty_rows == EmptyRows::uniform && sequence.key_length > 0)
    return std::log(static_cast<float>(sequence.key_length));
  return 0.0f;
}

}  // namespace headwise
