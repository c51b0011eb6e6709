#include "gradients.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <memory>
#include <numeric>

#include "harness.h"
#include "tolerance.h"

namespace headwise::gradients {
namespace {

using reference::Head;
using reference::HeadGradients;
using reference::Matrix;
using tolerance::HeadBounds;
using tolerance::kEpsilon;

constexpr std::uint32_t kGradientStream = 7, kLseGradientStream = 0;
constexpr double kUnknown = std::numeric_limits<double>::infinity();
constexpr double kSmallest = 0x1p-126;  // below it float32 has no full precision

/// A sum with the bound of its error. Its terms may err, and adding them rounds.
struct Sum {
  double magnitude = 0, error = 0;
  void add(double term, double term_error) {
    magnitude += std::abs(term);
    error += term_error;
  }
  /// Sums of `count` terms in float32 round like the dot products of tolerance.h.
  [[nodiscard]] double bound(double count) const { return error + (8 + count / 4) * kEpsilon * magnitude; }
};

/// Error bounds of one head's gradients at each stage. From ds = p (gain dp - delta):
///     |dp'|   <= (4 + Dv/4) eps sum |do| |v|
///     |ddelta| <= sum |do| |d output| + eps |delta|
///     |dds|   <= (e^(|dscore| + |dlse| + (4 + |s - lse|) eps) - 1) |ds| + p (gain |dp'| + |ddelta| + 2 eps (|gain dp|
///     +
///                |delta|)) + F |gain dp - delta|
/// Each later factor adds its own error and rounds once. Where lse is so large that float32 cannot hold it, nothing is
/// known: the bounds are infinite, or NaN if they multiply 0.
class StageBounds {
 public:
  StageBounds(const Call& call, const Head& head, const HeadGradients& at, std::int64_t b, std::int64_t h)
      : head_(head), at_(at), bounds_(head, call.of.shape.head_dim, call.options.softcap) {
    const AttentionShape& s = call.of.shape;
    const Layout layout = call.options.layout, kv_layout = call.options.kv_layout.value_or(layout);
    const double gain = call.options.head_gain ? call.options.head_gain[h] : 1.0;
    const Matrix gradient = reference::read_head(call.problem.output_gradient.view(), layout, s.num_heads,
                                                 s.query_length, s.value_dim, b, h);
    const Matrix value = reference::read_head(call.inputs.value, kv_layout, s.num_kv_heads, s.key_length, s.value_dim,
                                              b, h / (s.num_heads / s.num_kv_heads));
    const Matrix magnitude = gradient.cwiseAbs() * value.cwiseAbs().transpose();
    weights = products = formula = biased = raw = slope = Matrix::Zero(head.raw.rows(), head.raw.cols());
    const double rounding = (4 + static_cast<double>(s.value_dim) / 4) * kEpsilon;
    for (std::int64_t i = 0; i < head.raw.rows(); ++i) {
      if (head.rows[i] != reference::RowKind::attends) continue;
      const double row = bounds_.row(i), lse = bounds_.lse(i, row);
      double delta = kEpsilon * std::abs(at.deltas(i));
      for (std::int64_t d = 0; d < s.value_dim; ++d)
        delta += std::abs(gradient(i, d)) *
                 (bounds_.output(i, d, row) + tolerance::storage(call.of.dtype, head.output(i, d)));
      for (std::int64_t j = 0; j < head.raw.cols(); ++j) {
        if (!head.visible(i, j)) continue;
        const double p = at.weights(i, j), exponent = std::abs(head.formula(i, j) - head.lse(i));
        const double score = bounds_.score(i, j, ScoreStage::formula);
        const double relative = p > 0 ? std::expm1(score + lse + (4 + exponent) * kEpsilon) : 0;
        const double difference = gain * at.products(i, j) - at.deltas(i);
        weights(i, j) = p * relative + tolerance::kFlushed;
        products(i, j) = head.kept(i, j) * rounding * magnitude(i, j);
        formula(i, j) =
            weights(i, j) * std::abs(difference) +
            (p + weights(i, j)) * (std::abs(gain) * products(i, j) + delta +
                                   2 * kEpsilon * (std::abs(gain * at.products(i, j)) + std::abs(at.deltas(i))));
        if (gain == 0) formula(i, j) = (weights(i, j) + 2 * kEpsilon * p) * std::abs(at.deltas(i));  // of dlse alone
        differentiate(call, i, j);
      }
    }
  }

  Matrix weights, products, formula, slope, biased, raw;
  [[nodiscard]] double lse(std::int64_t i) const { return bounds_.lse(i, bounds_.row(i)); }
  [[nodiscard]] double biased_score(std::int64_t i, std::int64_t j) const {
    return bounds_.score(i, j, ScoreStage::biased);
  }

 private:
  void differentiate(const Call& call, std::int64_t i, std::int64_t j) {
    if (call.derivative) {
      const Formula& of = call.derivative->formula;
      slope(i, j) = reference::evaluate(of, of.result, head_.pair(i, j, biased_score(i, j))).error;
    }
    const double factor = std::abs(at_.slopes(i, j)) + slope(i, j);
    biased(i, j) =
        formula(i, j) * factor + std::abs(at_.formula(i, j)) * slope(i, j) + kEpsilon * std::abs(at_.biased(i, j));
    raw(i, j) = biased(i, j);
    if (call.options.softcap <= 0) return;
    const double ratio = std::abs(head_.softcapped(i, j)) / call.options.softcap;
    const double bend = 2 * ratio * bounds_.score(i, j, ScoreStage::softcapped) / call.options.softcap + 4 * kEpsilon;
    raw(i, j) = biased(i, j) * (std::abs(at_.bends(i, j)) + bend) + std::abs(at_.biased(i, j)) * bend +
                kEpsilon * std::abs(at_.raw(i, j));
  }

  const Head& head_;
  const HeadGradients& at_;
  HeadBounds bounds_;
};

/// Counts deviations of one gradient and reports the first.
class Comparison {
 public:
  explicit Comparison(const char* of) : of_(of) {}
  ~Comparison() {
    if (failures_ > 0) ADD_FAILURE() << failures_ << " of " << elements_ << " elements of " << of_ << ": " << first_;
  }
  void expect(double actual, double expected, double bound, std::int64_t row, std::int64_t column) {
    if (!(bound < kUnknown)) return;
    ++elements_;
    const bool equal = actual == expected || (std::isnan(actual) && std::isnan(expected));
    if (equal || std::abs(actual - expected) <= bound + kSmallest || ++failures_ > 1) return;
    char text[160];
    std::snprintf(text, sizeof text, "[%lld, %lld] is %.9g, expected %.9g within %.3g", static_cast<long long>(row),
                  static_cast<long long>(column), actual, expected, bound);
    first_ = text;
  }

 private:
  const char* of_;
  std::int64_t elements_ = 0, failures_ = 0;
  std::string first_;
};

/// Compares one call.
class Checker {
 public:
  explicit Checker(const Call& call)
      : call_(call),
        s_(call.of.shape),
        heads_(reference::attention(s_, call.inputs, call.options)),
        all_(reference::attention_backward(s_, call.backward_inputs(), call.options, heads_)) {
    for (std::int64_t n = 0; n < static_cast<std::int64_t>(heads_.size()); ++n)
      bounds_.emplace_back(call, heads_[n], all_.heads[n], n / s_.num_heads, n % s_.num_heads);
  }

  void compare(const Results& results) {
    results_ = &results;
    query();
    key();
    value();
    bias();
    heads();
    reads();
  }

 private:
  void query() const {
    Comparison comparison("dQuery");
    const double scale = scale_of();
    for_each_head([&](std::int64_t n, std::int64_t b, std::int64_t h) {
      const Matrix key =
          head_of(call_.inputs.key, kv_layout(), s_.num_kv_heads, s_.key_length, s_.head_dim, b, group(h));
      for (std::int64_t i = 0; i < s_.query_length; ++i) {
        // It may be empty in float32: then emptyRows decides, also where the gain of the head is 0.
        if (heads_[n].unsure[i]) continue;
        for (std::int64_t d = 0; d < s_.head_dim; ++d) {
          Sum sum;
          for (std::int64_t j = 0; j < s_.key_length; ++j)
            sum.add(scale * all_.heads[n].raw(i, j) * key(j, d), bounds_[n].raw(i, j) * std::abs(scale * key(j, d)));
          comparison.expect(results_->query[index(layout(), s_.num_heads, s_.query_length, s_.head_dim, b, h, i, d)],
                            all_.query[n](i, d), sum.bound(static_cast<double>(s_.key_length)), n * s_.query_length + i,
                            d);
        }
      }
    });
  }

  void key() const {
    Comparison comparison("dKey");
    const double scale = scale_of(), count = static_cast<double>(s_.query_length * heads_per_group());
    for_each_kv_head([&](std::int64_t b, std::int64_t g) {
      compare_keys(comparison, results_->key, all_.key[b * s_.num_kv_heads + g], s_.head_dim, b, g, count,
                   [&](std::int64_t n, Matrix& terms, Matrix& errors, Matrix& with) {
                     terms = scale * all_.heads[n].raw, errors = std::abs(scale) * bounds_[n].raw;
                     with = head_of(call_.inputs.query, layout(), s_.num_heads, s_.query_length, s_.head_dim, b,
                                    n % s_.num_heads);
                   });
    });
  }

  void value() const {
    Comparison comparison("dValue");
    const double count = static_cast<double>(s_.query_length * heads_per_group());
    for_each_kv_head([&](std::int64_t b, std::int64_t g) {
      compare_keys(comparison, results_->value, all_.value[b * s_.num_kv_heads + g], s_.value_dim, b, g, count,
                   [&](std::int64_t n, Matrix& terms, Matrix& errors, Matrix& with) {
                     const double gain = gain_of(n % s_.num_heads);
                     const Matrix& kept = heads_[n].kept;
                     terms = gain * all_.heads[n].weights.cwiseProduct(kept);
                     errors = std::abs(gain) * bounds_[n].weights.cwiseProduct(kept);
                     with = head_of(call_.problem.output_gradient.view(), layout(), s_.num_heads, s_.query_length,
                                    s_.value_dim, b, n % s_.num_heads);
                   });
    });
  }

  void bias() const {
    if (!results_->has_bias) return;
    std::vector<Sum> sums(all_.bias.size());
    for_each_pair([&](std::int64_t n, std::int64_t i, std::int64_t j) {
      sums[reference::broadcast_index(call_.inputs.bias_extents, n / s_.num_heads, n % s_.num_heads, i, j)].add(
          all_.heads[n].biased(i, j), bounds_[n].biased(i, j));
    });
    Comparison comparison("dBias");
    for (std::size_t k = 0; k < sums.size(); ++k)
      comparison.expect(results_->bias[k], all_.bias[k], sums[k].bound(0), static_cast<std::int64_t>(k), 0);
  }

  void heads() const {
    Comparison gains("dHeadGain"), slopes("dAlibiSlopes"), sinks("dSinks");
    for (std::int64_t h = 0; h < s_.num_heads; ++h) {
      Sum gain, slope, sink;
      for_each_pair([&](std::int64_t n, std::int64_t i, std::int64_t j) {
        if (n % s_.num_heads != h) return;
        const HeadGradients& at = all_.heads[n];
        const StageBounds& bound = bounds_[n];
        const double term = at.weights(i, j) * at.products(i, j);
        const double error = bound.weights(i, j) * (std::abs(at.products(i, j)) + bound.products(i, j)) +
                             at.weights(i, j) * bound.products(i, j);
        gain.add(term, error);
        slope.add(at.biased(i, j) * heads_[n].distance(i, j), bound.biased(i, j) * heads_[n].distance(i, j));
        if (!call_.options.sinks) return;
        const double share = std::exp(call_.options.sinks[h] - heads_[n].lse(i)) * std::abs(gain_of(h));
        sink.add(share * term, share * (error + std::abs(term) * std::expm1(bound.lse(i) + 4 * kEpsilon)));
      });
      if (call_.options.sinks) add_lse_gradients(h, sink);
      const double terms = static_cast<double>(s_.key_length);
      gains.expect(results_->head_gain[h], all_.head_gain[h], gain.bound(terms), h, 0);
      if (results_->has_slopes) slopes.expect(results_->alibi_slopes[h], all_.alibi_slopes[h], slope.bound(0), h, 0);
      if (results_->has_sinks) sinks.expect(results_->sinks[h], all_.sinks[h], sink.bound(terms), h, 0);
    }
  }

  /// A loss that reads lse: dsink += exp(sink - lse) dlse.
  void add_lse_gradients(std::int64_t h, Sum& sink) const {
    const float* const gradients = call_.backward_inputs().lse_gradient;
    for (std::int64_t n = h; gradients && n < static_cast<std::int64_t>(heads_.size()); n += s_.num_heads)
      for (std::int64_t i = 0; i < s_.query_length; ++i) {
        if (heads_[n].rows[i] != reference::RowKind::attends) continue;
        const double term = std::exp(call_.options.sinks[h] - heads_[n].lse(i)) * gradients[n * s_.query_length + i];
        sink.add(term, std::abs(term) * std::expm1(bounds_[n].lse(i) + 4 * kEpsilon));
      }
  }

  void reads() const {
    for (std::size_t n = 0; n < results_->reads.size(); ++n) {
      const ScoreDerivative& derivative = *call_.derivative;
      const FormulaRead& read = derivative.reads[n];
      std::vector<Sum> sums(all_.reads[n].size());
      bool sure = true;
      for_each_pair([&](std::int64_t head, std::int64_t i, std::int64_t j) {
        const reference::Pair pair = heads_[head].pair(i, j, bounds_[head].biased_score(i, j));
        bool known;
        const std::int64_t entry = reference::entry_of(derivative, read, pair, &known);
        sure &= known;
        if (entry < 0) return;
        const reference::Evaluated factor = reference::evaluate(derivative.formula, read.derivative, pair);
        const double at = all_.heads[head].formula(i, j);
        sums[entry].add(at * factor.value, bounds_[head].formula(i, j) * (std::abs(factor.value) + factor.error) +
                                               std::abs(at) * factor.error);
      });
      Comparison comparison("a read's gradient");
      for (std::size_t k = 0; k < sums.size() && sure; ++k)
        comparison.expect(results_->reads[n][k], all_.reads[n][k], sums[k].bound(0), static_cast<std::int64_t>(n),
                          static_cast<std::int64_t>(k));
    }
  }

  template <class Visit>
  void for_each_head(Visit visit) const {
    for (std::int64_t n = 0; n < s_.batch_size * s_.num_heads; ++n) visit(n, n / s_.num_heads, n % s_.num_heads);
  }
  template <class Visit>
  void for_each_kv_head(Visit visit) const {
    for (std::int64_t n = 0; n < s_.batch_size * s_.num_kv_heads; ++n) visit(n / s_.num_kv_heads, n % s_.num_kv_heads);
  }
  template <class Visit>
  void for_each_pair(Visit visit) const {
    for_each_head([&](std::int64_t n, std::int64_t, std::int64_t) {
      for (std::int64_t i = 0; i < s_.query_length; ++i)
        for (std::int64_t j = 0; j < s_.key_length; ++j)
          if (heads_[n].rows[i] == reference::RowKind::attends && heads_[n].visible(i, j)) visit(n, i, j);
    });
  }

  /// Compares a gradient of keys or values. choose(head) gives the pairs' terms and errors, and the rows they multiply.
  template <class Choose>
  void compare_keys(Comparison& comparison, const std::vector<float>& actual, const Matrix& expected,
                    std::int64_t width, std::int64_t b, std::int64_t g, double count, Choose choose) const {
    Matrix magnitude = Matrix::Zero(s_.key_length, width), error = magnitude, terms, errors, with;
    for (std::int64_t h = g * heads_per_group(); h < (g + 1) * heads_per_group(); ++h) {
      choose(b * s_.num_heads + h, terms, errors, with);
      magnitude += terms.cwiseAbs().transpose() * with.cwiseAbs();
      error += errors.transpose() * with.cwiseAbs();
    }
    for (std::int64_t j = 0; j < s_.key_length; ++j)
      for (std::int64_t d = 0; d < width; ++d)
        comparison.expect(actual[index(kv_layout(), s_.num_kv_heads, s_.key_length, width, b, g, j, d)], expected(j, d),
                          Sum{magnitude(j, d), error(j, d)}.bound(count), (b * s_.num_kv_heads + g) * s_.key_length + j,
                          d);
  }

  [[nodiscard]] std::int64_t heads_per_group() const { return s_.num_heads / s_.num_kv_heads; }
  [[nodiscard]] std::int64_t group(std::int64_t h) const { return h / heads_per_group(); }
  [[nodiscard]] Layout layout() const { return call_.options.layout; }
  [[nodiscard]] Layout kv_layout() const { return call_.options.kv_layout.value_or(call_.options.layout); }
  [[nodiscard]] double scale_of() const {
    return call_.options.scale ? *call_.options.scale : 1.0 / std::sqrt(static_cast<double>(s_.head_dim));
  }
  [[nodiscard]] double gain_of(std::int64_t h) const {
    return call_.options.head_gain ? call_.options.head_gain[h] : 1.0;
  }
  static std::int64_t index(Layout layout, std::int64_t heads, std::int64_t length, std::int64_t width, std::int64_t b,
                            std::int64_t h, std::int64_t s, std::int64_t w) {
    return reference::element_index(layout, heads, length, width, b, h, s, w);
  }
  static Matrix head_of(ConstArray array, Layout layout, std::int64_t heads, std::int64_t length, std::int64_t width,
                        std::int64_t b, std::int64_t h) {
    return reference::read_head(array, layout, heads, length, width, b, h);
  }

  const Call& call_;
  const AttentionShape& s_;
  const Results* results_ = nullptr;
  std::vector<Head> heads_;
  reference::Gradients all_;
  std::vector<StageBounds> bounds_;
};

}  // namespace

Problem problem_of(const cases::Case& call) {
  cases::Case plain = call;
  plain.returns = {};
  cases::Results forward = headwise::compute(plain);
  Problem problem{std::move(forward.output), {}, std::move(forward.lse), {}};
  problem.output_gradient = cases::random_array(call.dtype, problem.output.size(), call.seed, kGradientStream);
  if (call.seed % 2 == 1)
    problem.lse_gradient = cases::random_array(Dtype::float32, static_cast<std::int64_t>(problem.lse.size()), call.seed,
                                               kLseGradientStream);
  return problem;
}

Results::Results(const cases::Case& call, const AttentionOptions& options, const ScoreDerivative* derivative)
    : has_bias(call.bias), has_sinks(options.sinks), has_slopes(options.alibi_slopes) {
  const auto room = [](std::vector<float>& list, std::int64_t count) {
    list.reserve(static_cast<std::size_t>(count) + 1);  // gives an empty array an address
    list.assign(static_cast<std::size_t>(count), std::numeric_limits<float>::quiet_NaN());
  };
  room(query, call.query.size());
  room(key, call.key.size());
  room(value, call.value.size());
  if (has_bias) room(bias, call.bias->size());
  for (std::vector<float>* list : {&sinks, &head_gain, &alibi_slopes}) room(*list, call.shape.num_heads);
  for (std::int64_t n = 0; derivative && n < derivative->num_reads; ++n)
    room(reads.emplace_back(), std::int64_t{derivative->reads[n].rows} * derivative->reads[n].columns);
}

BackwardOutputs Results::view() {
  BackwardOutputs outputs;
  outputs.query = query.data();
  outputs.key = key.data();
  outputs.value = value.data();
  outputs.head_gain = head_gain.data();
  if (has_bias) outputs.bias = bias.data();
  if (has_sinks) outputs.sinks = sinks.data();
  if (has_slopes) outputs.alibi_slopes = alibi_slopes.data();
  outputs.reads = !reads.empty();
  return outputs;
}

std::vector<std::uint8_t> Results::bits() const {
  std::vector<std::uint8_t> all;
  const auto append = [&](const std::vector<float>& values) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(values.data());
    all.insert(all.end(), bytes, bytes + values.size() * sizeof(float));
  };
  append(query), append(key), append(value), append(bias), append(sinks), append(head_gain), append(alibi_slopes);
  for (const std::vector<float>& read : reads) append(read);
  return all;
}

BackwardInputs Call::backward_inputs() const {
  BackwardInputs backward;
  backward.forward = inputs;
  backward.output = problem.output.view();
  backward.lse = problem.lse.data();
  backward.output_gradient = problem.output_gradient.view();
  backward.score_derivative = derivative;
  if (problem.lse_gradient) backward.lse_gradient = static_cast<const float*>(problem.lse_gradient->view().data);
  return backward;
}

Status Call::run(int threads, Results& results) const {
  BackwardInputs backward = backward_inputs();
  ScoreDerivative written;
  std::vector<FormulaRead> reads;
  if (derivative) {
    reads.assign(derivative->reads, derivative->reads + derivative->num_reads);
    for (std::size_t n = 0; n < reads.size(); ++n) reads[n].gradient = results.reads[n].data();
    written = *derivative;
    written.reads = reads.data();
    backward.score_derivative = &written;
  }
  return attention_backward(pool_of(threads), of.shape, backward, options, results.view());
}

Results compute(const Call& call, int threads) {
  Results results(call.of, call.options, call.derivative);
  const Status status = call.run(threads, results);
  EXPECT_TRUE(status.ok()) << status.message().text;
  return results;
}

std::function<void(const Results&)> near_reference(const Call& call) {
  return [checker = std::make_shared<Checker>(call)](const Results& results) { checker->compare(results); };
}

void expect_near_reference(const Call& call, const Results& results) { Checker(call).compare(results); }

}  // namespace headwise::gradients
