#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "headwise/attention.h"
#include "reference/reference.h"

/// How far a float32 result may be from the double reference. Everything is derived from the error model of the
/// contract; nothing here was fitted to what an engine happens to give. eps = 2^-24 is half an ulp of 1.
///
/// Scores. A dot product of D terms, its scale and the packing round at most c = 4 + D/4 times half an ulp of the sum
/// of magnitudes:
///     |ds| <= c eps |scale| sum_d |q_d k_d|
/// Each later term adds the roundings of its own operations. tanh has relative error 4 eps, and its division and
/// product one each: 6 eps |softcapped|. The ALiBi penalty is a distance, which float32 holds exactly up to 2^24 only,
/// a product (2 eps |penalty| together) and a subtraction, the bias an addition, and a float addition a + b errs by at
/// most eps |a + b|, and by at most |a| when b swallows it whole.
///
/// A row. Write d = max |ds| over the keys that matter: those with p > 2^-60 of the largest p (the others stay
/// invisible under any error considered here). From o = sum p v with dp = p (ds - sum p ds):
///     |dp_j| <= p_j (e^(|ds_j| + |dlse|) - 1) + F
///         p = exp(s - lse); below F = 2^-114 it may be flushed to 0
///     |do| <= |head_gain| sum (2 d + 16 eps + eps (m - s)) p |v| + F |head_gain| sum |v|
///         16 eps: exp, the running sum, its rescaling, the division; eps (m - s): the difference from the row's
///         largest score; the second sum is what is flushed. A sink is joined in double and costs nothing.
///     |dlse| <= d + 16 eps + 2 eps (|lse| + |m|)
///         lse = m + ln(sum) with the row maximum m: both terms round
///     |dH| <= sum_j |dp_j| (|ln p_j| + 1) + 16 eps H
///         H = -sum p ln p, dH = -sum dp (ln p + 1)
///
/// A mean over heads errs by the mean of the errors and two roundings more. float16 storage adds one of its own ulps.
namespace headwise::tolerance {

constexpr double kEpsilon = 0x1p-24;
/// The kernels flush exponentials below 2^-114.5 to 0, whatever their rounding. See kernel/functions.h.
constexpr double kFlushed = 0x1p-114;

/// Of one ulp of float16 at x.
[[nodiscard]] inline double half_ulp_size(double x) {
  const double magnitude = std::abs(x);
  if (magnitude < 0x1p-14 || !std::isfinite(x)) return 0x1p-24;
  return std::ldexp(1.0, std::ilogb(magnitude) - 10);
}

/// What storing x as `dtype` may add.
[[nodiscard]] inline double storage(Dtype dtype, double x) { return dtype == Dtype::float16 ? half_ulp_size(x) : 0.0; }

/// Bounds for one head of one batch.
class HeadBounds {
 public:
  HeadBounds(const reference::Head& head, std::int64_t head_dim, float softcap)
      : head_(head), rounding_(4.0 + static_cast<double>(head_dim) / 4.0), softcap_(softcap) {}

  [[nodiscard]] double score(std::int64_t i, std::int64_t j, ScoreStage stage) const {
    double bound = rounding_ * kEpsilon * head_.score_magnitude(i, j);
    if (stage == ScoreStage::raw) return bound;
    const double capped = head_.softcapped(i, j);
    if (softcap_ > 0) bound += 6 * kEpsilon * std::abs(capped);
    if (stage == ScoreStage::softcapped) return bound;
    const double penalty = head_.penalty(i, j), bias = head_.bias(i, j);
    if (penalty != 0) bound += 2 * kEpsilon * std::abs(penalty) + addition(capped, -penalty);
    if (bias != 0) bound += addition(capped - penalty, bias);
    if (head_.unsure[i]) return std::numeric_limits<double>::infinity();
    if (stage == ScoreStage::biased || !head_.rescored || hidden_by_rules(i, j)) return bound;
    return head_.rescored(i, j, bound).error;
  }

  /// d of a row. Infinite where a formula stands at a jump, so that nothing is known about the row.
  [[nodiscard]] double row(std::int64_t i) const {
    if (rows_.empty()) rows_.assign(head_.rows.size(), -1);
    if (rows_[i] < 0) rows_[i] = find_row(i);
    return rows_[i];
  }

  [[nodiscard]] double output(std::int64_t i, std::int64_t d, double row) const {
    if (std::isinf(row)) return row;
    return (2 * row + 16 * kEpsilon) * head_.output_magnitude(i, d) + kEpsilon * head_.output_lag(i, d) +
           kFlushed * head_.visible_magnitude(i, d);
  }

  [[nodiscard]] double lse(std::int64_t i, double row) const {
    double maximum = 0;
    for_each_key_that_matters(i, [&](std::int64_t j) { maximum = std::max(maximum, std::abs(head_.formula(i, j))); });
    const double lse = head_.lse(i);
    return row + 16 * kEpsilon + 2 * kEpsilon * ((std::isfinite(lse) ? std::abs(lse) : 0) + maximum);
  }

  [[nodiscard]] double prob(std::int64_t i, std::int64_t j, double lse) const {
    if (std::isinf(lse)) return lse;
    const double score_bound = head_.visible(i, j) ? score(i, j, ScoreStage::formula) : 0;
    const double p = head_.probs(i, j);
    return (p > 0 ? p * std::expm1(score_bound + lse) : 0) + kFlushed;
  }

  [[nodiscard]] double entropy(std::int64_t i, double lse) const {
    if (std::isinf(lse)) return lse;
    double bound = 16 * kEpsilon * std::abs(head_.entropy(i));
    for (std::int64_t j = 0; j < head_.probs.cols(); ++j)
      if (head_.probs(i, j) > 0) bound += prob(i, j, lse) * (std::abs(std::log(head_.probs(i, j))) + 1);
    return bound;
  }

 private:
  [[nodiscard]] bool hidden_by_rules(std::int64_t i, std::int64_t j) const {
    return head_.biased(i, j) == -std::numeric_limits<double>::infinity();
  }

  [[nodiscard]] double find_row(std::int64_t i) const {
    constexpr double kUnknown = std::numeric_limits<double>::infinity();
    if (head_.unsure[i]) return kUnknown;
    double largest = 0;
    for_each_key_that_matters(i,
                              [&](std::int64_t j) { largest = std::max(largest, score(i, j, ScoreStage::formula)); });
    if (!head_.rescored) return largest;
    const double maximum = head_.formula.cols() > 0 ? head_.formula.row(i).maxCoeff() : 0;
    for (std::int64_t j = 0; j < head_.formula.cols(); ++j) {
      if (hidden_by_rules(i, j)) continue;
      const double error = score(i, j, ScoreStage::formula);
      if (error == kUnknown) return kUnknown;
      if (head_.formula(i, j) + error > maximum - 42) largest = std::max(largest, error);  // 2^-60 = e^-41.6
    }
    return largest;
  }

  template <class Visit>
  void for_each_key_that_matters(std::int64_t i, Visit visit) const {
    double largest = 0;
    for (std::int64_t j = 0; j < head_.probs.cols(); ++j)
      if (head_.visible(i, j)) largest = std::max(largest, head_.probs(i, j));
    for (std::int64_t j = 0; j < head_.probs.cols(); ++j)
      if (head_.visible(i, j) && head_.probs(i, j) > 0x1p-60 * largest) visit(j);
  }

  static double addition(double a, double b) {
    return std::min({kEpsilon * std::abs(a + b), std::abs(a), std::abs(b)});
  }

  const reference::Head& head_;
  double rounding_;
  float softcap_;
  mutable std::vector<double> rows_;  ///< d of each row, once it is known
};

}  // namespace headwise::tolerance
