#include "expectations.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "tolerance.h"

namespace headwise {
namespace {

using cases::OwnedSelection;
using reference::Head;
using tolerance::HeadBounds;

/// Counts deviations of one output and reports the first.
class Comparison {
 public:
  explicit Comparison(const char* output) : output_(output) {}
  ~Comparison() {
    if (failures_ > 0)
      ADD_FAILURE() << failures_ << " of " << elements_ << " elements of " << output_ << ": " << first_;
  }

  void expect(double actual, double expected, double bound, const std::string& where) {
    if (std::isinf(bound)) return;
    ++elements_;
    const bool equal = actual == expected || (std::isnan(actual) && std::isnan(expected));
    const bool near = std::isfinite(expected) && std::abs(actual - expected) <= bound;
    if (equal || near || ++failures_ > 1) return;
    char text[160];
    std::snprintf(text, sizeof text, " is %.9g, expected %.9g within %.3g", actual, expected, bound);
    first_ = where + text;
  }

 private:
  const char* output_;
  std::int64_t elements_ = 0, failures_ = 0;
  std::string first_;
};

std::string at(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) {
  std::string index("[");
  for (const std::int64_t part : {b, h, i, j}) index.append(std::to_string(part)).append(",");
  index.back() = ']';
  return index;
}

struct RowBounds {
  double row, lse;
};

/// Walks the elements of a selected [B, heads, queries, width] array in order.
template <class Visit>
void for_each_selected_row(const AttentionShape& shape, const OwnedSelection& selection, Visit visit) {
  const std::vector<std::int32_t> heads = selection.chosen_heads(shape);
  const std::vector<std::int32_t> queries = selection.chosen_queries(shape);
  std::int64_t row = 0;
  for (std::int64_t b = 0; b < shape.batch_size; ++b) {
    if (selection.average) {
      for (const std::int32_t i : queries) visit(row++, b, heads, i);
    } else {
      for (const std::int32_t h : heads)
        for (const std::int32_t i : queries) visit(row++, b, std::vector<std::int32_t>{h}, i);
    }
  }
}

/// Probabilities of one selected row and their bounds: of one head, or the mean of several.
struct ProbsRow {
  std::vector<double> values, bounds;
};

class Checker {
 public:
  Checker(const AttentionShape& shape, const AttentionOptions& options, const std::vector<Head>& heads)
      : shape_(shape), options_(options), heads_(heads) {
    for (const Head& head : heads) bounds_.emplace_back(head, shape.head_dim, options.softcap);
  }

  void output(const cases::Array& actual) const {
    Comparison comparison("output");
    for_each_row([&](std::int64_t b, std::int64_t h, std::int64_t i, const Head& head, const HeadBounds& bounds) {
      const double row = bounds.row(i);
      for (std::int64_t d = 0; d < shape_.value_dim; ++d) {
        const std::int64_t index = reference::element_index(options_.layout, shape_.num_heads, shape_.query_length,
                                                            shape_.value_dim, b, h, i, d);
        const double expected = head.output(i, d);
        comparison.expect(actual.get(index), expected,
                          bounds.output(i, d, row) + tolerance::storage(actual.dtype(), expected), at(b, h, i, d));
      }
    });
  }

  void lse(const std::vector<float>& actual) const {
    Comparison comparison("lse");
    for_each_row([&](std::int64_t b, std::int64_t h, std::int64_t i, const Head& head, const HeadBounds& bounds) {
      comparison.expect(actual[row_index(b, h, i)], head.lse(i), bounds.lse(i, bounds.row(i)), at(b, h, i, 0));
    });
  }

  void entropy(const std::vector<float>& actual) const {
    Comparison comparison("entropy");
    for_each_row([&](std::int64_t b, std::int64_t h, std::int64_t i, const Head& head, const HeadBounds& bounds) {
      comparison.expect(actual[row_index(b, h, i)], head.entropy(i), bounds.entropy(i, bounds.lse(i, bounds.row(i))),
                        at(b, h, i, 0));
    });
  }

  void probs(const OwnedSelection& selection, const std::vector<float>& actual) const {
    Comparison comparison("probs");
    for_each_selected_row(shape_, selection, [&](std::int64_t row, std::int64_t b, const auto& chosen, std::int64_t i) {
      const ProbsRow expected = probs_row(b, chosen, i);
      for (std::int64_t j = 0; j < shape_.key_length; ++j)
        comparison.expect(actual[row * shape_.key_length + j], expected.values[j], expected.bounds[j],
                          at(b, chosen[0], i, j));
    });
  }

  void scores(const OwnedSelection& selection, ScoreStage stage, const std::vector<float>& actual) const {
    Comparison comparison("scores");
    for_each_selected_row(shape_, selection, [&](std::int64_t row, std::int64_t b, const auto& chosen, std::int64_t i) {
      const std::size_t n = b * shape_.num_heads + chosen[0];
      const reference::Matrix& expected = stage == ScoreStage::raw          ? heads_[n].raw
                                          : stage == ScoreStage::softcapped ? heads_[n].softcapped
                                          : stage == ScoreStage::biased     ? heads_[n].biased
                                                                            : heads_[n].formula;
      for (std::int64_t j = 0; j < shape_.key_length; ++j)
        comparison.expect(actual[row * shape_.key_length + j], expected(i, j), bounds_[n].score(i, j, stage),
                          at(b, chosen[0], i, j));
    });
  }

  /// Each value is the probability of its index; no index left out would have been larger; order, padding, no doubles.
  void top_k(const OwnedSelection& selection, std::int64_t k, const std::vector<float>& values,
             const std::vector<std::int32_t>& indices) const {
    Comparison comparison("top-k values");
    std::int64_t disorder = 0;
    for_each_selected_row(shape_, selection, [&](std::int64_t row, std::int64_t b, const auto& chosen, std::int64_t i) {
      const ProbsRow expected = probs_row(b, chosen, i);
      const auto none = [](const std::vector<double>& list, auto what) {
        return std::none_of(list.begin(), list.end(), what);
      };
      if (!none(expected.bounds, [](double x) { return std::isinf(x); })) return;
      if (!none(expected.values, [](double x) { return std::isnan(x); })) return;  // a poisoned row has no order
      std::vector<double> sorted = expected.values;
      std::sort(sorted.begin(), sorted.end(), std::greater<>());
      std::vector<bool> taken(expected.values.size(), false);
      const std::int64_t candidates = candidate_count(b, chosen, i);
      for (std::int64_t r = 0; r < k; ++r) {
        const float value = values[row * k + r];
        const std::int32_t index = indices[row * k + r];
        const std::string where = at(b, chosen[0], i, r);
        if (r >= candidates) {
          comparison.expect(value, 0, 0, where + " (padding)");
          disorder += index != -1;
          continue;
        }
        if (index < 0 || index >= shape_.key_length || taken[index]) {
          ++disorder;
          continue;
        }
        taken[index] = true;
        comparison.expect(value, expected.values[index], expected.bounds[index], where);
        comparison.expect(value, sorted[r], expected.bounds[index] + largest_bound(expected, sorted[r]), where);
        if (r > 0) disorder += value > values[row * k + r - 1];
      }
    });
    EXPECT_EQ(disorder, 0) << "top-k entries out of order, repeated or not padded";
  }

 private:
  template <class Visit>
  void for_each_row(Visit visit) const {
    for (std::int64_t b = 0; b < shape_.batch_size; ++b)
      for (std::int64_t h = 0; h < shape_.num_heads; ++h)
        for (std::int64_t i = 0; i < shape_.query_length; ++i)
          visit(b, h, i, heads_[b * shape_.num_heads + h], bounds_[b * shape_.num_heads + h]);
  }

  [[nodiscard]] std::size_t row_index(std::int64_t b, std::int64_t h, std::int64_t i) const {
    return (b * shape_.num_heads + h) * shape_.query_length + i;
  }

  [[nodiscard]] ProbsRow probs_row(std::int64_t b, const std::vector<std::int32_t>& chosen, std::int64_t i) const {
    ProbsRow row{std::vector<double>(shape_.key_length), std::vector<double>(shape_.key_length)};
    const double share = 1.0 / static_cast<double>(chosen.size());
    for (const std::int32_t h : chosen) {
      const std::size_t n = b * shape_.num_heads + h;
      const double lse = bounds_[n].lse(i, bounds_[n].row(i));
      for (std::int64_t j = 0; j < shape_.key_length; ++j) {
        const double kept = heads_[n].kept(i, j);
        row.values[j] += share * kept * heads_[n].probs(i, j);
        row.bounds[j] += kept > 0 ? share * kept * bounds_[n].prob(i, j, lse) : 0;
      }
    }
    for (std::int64_t j = 0; j < shape_.key_length && chosen.size() > 1; ++j)
      if (!std::isinf(row.bounds[j])) row.bounds[j] += 2 * tolerance::kEpsilon * row.values[j];
    return row;
  }

  /// Keys that may be selected: visible to one of the heads, or given a share by the uniform policy.
  [[nodiscard]] std::int64_t candidate_count(std::int64_t b, const std::vector<std::int32_t>& chosen,
                                             std::int64_t i) const {
    std::int64_t count = 0;
    for (std::int64_t j = 0; j < shape_.key_length; ++j) {
      bool candidate = false;
      for (const std::int32_t h : chosen) {
        const Head& head = heads_[b * shape_.num_heads + h];
        candidate |= head.visible(i, j) || (head.rows[i] == reference::RowKind::empty && head.probs(i, j) > 0);
      }
      count += candidate;
    }
    return count;
  }

  static double largest_bound(const ProbsRow& row, double value) {
    double bound = 0;
    for (std::size_t j = 0; j < row.values.size(); ++j)
      if (row.values[j] >= value) bound = std::max(bound, row.bounds[j]);
    return bound;
  }

  const AttentionShape& shape_;
  const AttentionOptions& options_;
  const std::vector<Head>& heads_;
  std::vector<HeadBounds> bounds_;
};

}  // namespace

void expect_near_reference(const AttentionShape& shape, const AttentionOptions& options, const cases::Returns& returns,
                           const std::vector<Head>& heads, const cases::Results& results) {
  const Checker check(shape, options, heads);
  if (returns.output) check.output(results.output);
  if (returns.lse) check.lse(results.lse);
  if (returns.entropy) check.entropy(results.entropy);
  if (returns.probs) check.probs(*returns.probs, results.probs);
  if (returns.scores) check.scores(*returns.scores, returns.scores_stage, results.scores);
  if (returns.top_k) check.top_k(*returns.top_k, returns.k, results.top_k_values, results.top_k_indices);
}

void expect_near_reference(const cases::Case& call, const cases::Results& results) {
  const AttentionOptions options = call.options();
  expect_near_reference(call.shape, options, call.returns, reference::attention(call.shape, call.inputs(), options),
                        results);
}

}  // namespace headwise
