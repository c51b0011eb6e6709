#pragma once

#include <cmath>
#include <limits>

namespace headwise {

/// A row that has seen all its keys: p_j = exp(s_j - maximum) * share, and -ln p_j = log_sum - (s_j - maximum).
struct FinishedSoftmax {
  float maximum;  ///< of the scores seen; a sink may lie far above it
  float share;    ///< exp(-log_sum)
  float log_sum;  ///< lse - maximum
  float lse;      ///< ln of the sum of exponentials, the sink's included; -inf for nothing
  bool seen;
};

/// The running statistics of one row: sum = sum_j exp(s_j - maximum) over the keys seen so far.
struct OnlineSoftmax {
  float maximum = -std::numeric_limits<float>::infinity();
  float sum = 0.0f;
  bool seen = false;  ///< whether any key was visible; visibility alone makes a row empty, not its scores

  /// Makes room for scores as high as `other_maximum`; returns the factor for what was accumulated so far.
  float raise(float other_maximum) {
    const float raised = other_maximum > maximum ? other_maximum : maximum;
    // exp(-inf - -inf) is NaN: with nothing seen so far there is nothing to scale
    const float factor = maximum == raised ? 1.0f : std::exp(maximum - raised);
    maximum = maximum != maximum ? maximum : raised;
    sum *= factor;
    return factor;
  }

  /// Takes in `other`; on return the weight of this row's accumulation is `*kept`, that of the other's `*added`.
  void merge(const OnlineSoftmax& other, float* kept, float* added) {
    *kept = *added = 1.0f;
    if (!other.seen) return;
    if (other.maximum != other.maximum) maximum = other.maximum;
    *kept = raise(other.maximum);
    *added = other.maximum == maximum ? 1.0f : std::exp(other.maximum - maximum);
    sum += other.sum * *added;
    seen = true;
  }

  /// The row when all keys have been seen, with a sink's exp(sink) in the sum; -inf is no sink.
  [[nodiscard]] FinishedSoftmax finish(float sink) const {
    constexpr float kNothing = -std::numeric_limits<float>::infinity();
    if (sink == kNothing) return {maximum, 1.0f / sum, std::log(sum), maximum + std::log(sum), seen};
    if (maximum == kNothing) return {sink, 1.0f, 0.0f, sink, seen};
    // In double: in float32 a small score less a high sink errs by half an ulp of the sink, and every p by as much.
    const double above = static_cast<double>(sink) - maximum;
    const double rest = above > 0 ? std::log1p(sum * std::exp(-above)) : std::log(sum + std::exp(above));
    const double log_sum = std::fmax(above, 0.0) + rest, lse = std::fmax(sink, maximum) + rest;
    return {maximum, static_cast<float>(std::exp(-log_sum)), static_cast<float>(log_sum), static_cast<float>(lse),
            seen};
  }
};

}  // namespace headwise
