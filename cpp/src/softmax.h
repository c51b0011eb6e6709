#pragma once

#include <cmath>
#include <limits>

namespace headwise {

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

  /// Adds a sink's share, exp(sink), which belongs to no key; returns the factor for what was accumulated so far.
  float add_sink(float sink) {
    if (sink == -std::numeric_limits<float>::infinity()) return 1.0f;
    const float factor = raise(sink);
    sum += std::exp(sink - maximum);
    return factor;
  }

  /// ln of the sum of exponentials; -inf for nothing.
  [[nodiscard]] float lse() const {
    return sum == 0.0f ? -std::numeric_limits<float>::infinity() : maximum + std::log(sum);
  }
};

}  // namespace headwise
