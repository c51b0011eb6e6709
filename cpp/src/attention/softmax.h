#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "attention/call.h"
#include "attention/scores.h"

namespace headwise {

/// The statistics of a row that has seen all its keys: p_j = exp(s_j - maximum) * share, and
/// -ln p_j = log_sum - (s_j - maximum).
struct FinishedSoftmax {
  float maximum;  ///< of the scores seen; a sink may lie far above it
  float share;    ///< exp(-log_sum)
  float log_sum;  ///< lse - maximum
  float lse;      ///< ln of the sum of exponentials, the sink's included; -inf if there are none
  float rest;     ///< what lse has lost to rounding: far from 0 that is the whole sum
  bool seen;
};

/// The running statistics of one row: sum = sum_j exp(s_j - maximum) over the keys seen so far.
struct OnlineSoftmax {
  float maximum = -std::numeric_limits<float>::infinity();
  float sum = 0.0f;
  bool seen = false;  ///< whether any key was visible; a row is empty by visibility, not by its scores

  /// Raises the maximum to `other_maximum` if that is higher. Returns the factor for what was accumulated so far.
  float raise(float other_maximum) {
    const float raised = other_maximum > maximum ? other_maximum : maximum;
    // exp(-inf - -inf) is NaN. With nothing seen so far there is nothing to scale.
    const float factor = maximum == raised ? 1.0f : std::exp(maximum - raised);
    maximum = maximum != maximum ? maximum : raised;
    sum *= factor;
    return factor;
  }

  /// Adds the keys of `other`. The sums accumulated so far must then be multiplied by `*kept`, those of `other` by
  /// `*added`.
  void merge(const OnlineSoftmax& other, float* kept, float* added) {
    *kept = *added = 1.0f;
    if (!other.seen) return;
    if (other.maximum != other.maximum) maximum = other.maximum;
    *kept = raise(other.maximum);
    *added = other.maximum == maximum ? 1.0f : std::exp(other.maximum - maximum);
    sum += other.sum * *added;
    seen = true;
  }

  /// The final statistics, with exp(sink) in the sum. -inf is no sink.
  [[nodiscard]] FinishedSoftmax finish(float sink) const {
    constexpr float kNothing = -std::numeric_limits<float>::infinity();
    // All scores seen are -inf: there are no weights.
    constexpr float kNoNumber = std::numeric_limits<float>::quiet_NaN();
    if (seen && maximum == kNothing && sink == kNothing)
      return {kNoNumber, kNoNumber, kNoNumber, kNoNumber, kNoNumber, seen};
    if (sink == kNothing) {
      const float log_sum = std::log(sum), lse = maximum + log_sum;
      return {maximum, 1.0f / sum, log_sum, lse, rest_of(lse, maximum, log_sum), seen};
    }
    if (maximum == kNothing) return {sink, 1.0f, 0.0f, sink, 0.0f, seen};
    // In double: in float32 the difference of a small score and a high sink errs by half an ulp of the sink. Every p
    // would have that error.
    const double above = static_cast<double>(sink) - maximum;
    const double rest = above > 0 ? std::log1p(sum * std::exp(-above)) : std::log(sum + std::exp(above));
    const double log_sum = std::fmax(above, 0.0) + rest;
    const float highest = std::fmax(sink, maximum), lse = static_cast<float>(highest + rest);
    return {
        maximum, static_cast<float>(std::exp(-log_sum)), static_cast<float>(log_sum), lse, rest_of(lse, highest, rest),
        seen};
  }

 private:
  /// What a rounded lse lacks of highest + log_sum, where highest may be far from 0.
  static float rest_of(float lse, float highest, double log_sum) {
    return static_cast<float>(static_cast<double>(highest) - lse + log_sum);
  }
};

/// The last step of one row. It adds the sink to the sum, divides by the sum, applies the head's gain and the empty-row
/// policy, and writes output and lse if they are wanted. `out` holds value_dim sums of weighted values. It is
/// overwritten.
FinishedSoftmax finish_row(const Call& call, const QueryRow& row, const OnlineSoftmax& softmax, float* out);

/// Writes one row of the output, times the head's gain. `out` is overwritten.
void write_output_row(const Call& call, const QueryRow& row, float* out);

/// Whether the empty-row policy decides about `row`: it lies within its query length and sees no key.
[[nodiscard]] bool follows_policy(const QueryRow& row, bool sees_any_key);

/// -sum p ln p of one row of `count` weights.
[[nodiscard]] float entropy_of(const float* weights, std::int64_t count);

/// -sum p ln p of one row, over `count` scores and their probabilities. `count` is a multiple of the panel width.
[[nodiscard]] float entropy_of(const float* scores, const float* probabilities, std::int64_t count,
                               const FinishedSoftmax& softmax);

/// The entropy of a row that sees no key, by the empty-row policy.
[[nodiscard]] float entropy_of_empty_row(const Call& call, const QueryRow& row, const FinishedSoftmax& softmax);

/// The k largest visible values of a row, in descending order; ties go to the lower index. `count` is a multiple of the
/// panel width. values[0] belongs to key `first_key`. `candidates` has room for `count` numbers.
void select_top_k(const float* values, const std::uint8_t* visible, std::int64_t count, std::int64_t first_key,
                  std::int64_t k, std::uint64_t* candidates, float* top_values, std::int32_t* top_indices);

}  // namespace headwise
