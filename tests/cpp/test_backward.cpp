// The gradients of attention: every case of the table against the reference, which is itself held against finite
// differences; formulas, isolation, threads, memory, empty rows.

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include "allocations.h"
#include "base/numbers.h"
#include "formula_builder.h"
#include "gradients.h"
#include "harness.h"
#include "refusals.h"

namespace headwise::test_backward {

using cases::Case;
using gradients::Problem;
using gradients::Results;
using Operation = FormulaOperation;
using Variable = FormulaVariable;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// ------------------------------------------------------------------------------------------------------------ formulas

/// score = s * gains[h] + c * tanh(s) + t[h % 2][k - q + 8] + u[floor(s)], with its derivative. Some look-ups fall
/// outside of their tables.
class DifferentiatedFormula {
 public:
  explicit DifferentiatedFormula(std::int64_t num_heads) {
    std::vector<float> gains(static_cast<std::size_t>(num_heads));
    for (std::size_t h = 0; h < gains.size(); ++h) gains[h] = 0.5f + 0.25f * static_cast<float>(h);
    std::vector<float> distances(24), steps(3);
    for (std::size_t n = 0; n < distances.size(); ++n) distances[n] = 0.1f * std::sin(static_cast<float>(n));
    for (std::size_t n = 0; n < steps.size(); ++n) steps[n] = 0.2f * static_cast<float>(n + 1);
    write(score_, gains, distances, steps, false);
    write(derivative_, gains, distances, steps, true);
    scored_ = score_.formula();
    differentiated_ = {derivative_.formula(slope_), reads_.data(), static_cast<std::int64_t>(reads_.size())};
  }

  [[nodiscard]] const Formula* score() const { return &scored_; }
  [[nodiscard]] const ScoreDerivative* derivative() const { return &differentiated_; }
  /// Where the score formula keeps what read `n` reads: its first number, and its tables.
  [[nodiscard]] float* entries(std::size_t n) const {
    if (n == 1) return const_cast<float*>(scored_.numbers);
    return const_cast<float*>(scored_.tables[n == 0 ? 0 : n - 1].data);
  }

 private:
  void write(FormulaBuilder& of, const std::vector<float>& gains, const std::vector<float>& distances,
             const std::vector<float>& steps, bool derivative) {
    const std::int32_t c = of.number(0.75f), s = of.variable(Variable::s), h = of.variable(Variable::h);
    const std::int32_t gain = of.table(gains, h), bent = of.add(Operation::tanh, s);
    const std::int32_t parity = of.add(Operation::remainder, h, of.number(2.0f));
    const std::int32_t apart = of.add(Operation::subtract, of.variable(Variable::k), of.variable(Variable::q));
    const std::int32_t column = of.add(Operation::add, apart, of.number(8.0f));
    const std::int32_t at_distance = of.table(distances, 2, parity, column), step = of.table(steps, s);
    const std::int32_t linear =
        of.add(Operation::add, of.add(Operation::multiply, s, gain), of.add(Operation::multiply, c, bent));
    if (!derivative) {
      of.add(Operation::add, linear, of.add(Operation::add, at_distance, step));
      return;
    }
    const std::int32_t one = of.number(1.0f);
    const std::int32_t slope = of.add(Operation::subtract, one, of.add(Operation::multiply, bent, bent));
    slope_ = of.add(Operation::add, gain, of.add(Operation::multiply, c, slope));
    const auto columns = static_cast<std::int32_t>(gains.size());
    reads_ = {{s, -1, h, 1, columns, nullptr},
              {bent, -1, -1, 1, 1, nullptr},
              {one, parity, column, 2, 12, nullptr},
              {one, -1, s, 1, 3, nullptr}};
  }

  FormulaBuilder score_, derivative_;
  std::int32_t slope_ = -1;
  std::vector<FormulaRead> reads_;
  Formula scored_;
  ScoreDerivative differentiated_;
};

/// A case whose scores pass through a DifferentiatedFormula.
struct FormulaCase {
  Case call;
  DifferentiatedFormula formula;

  explicit FormulaCase(const Case& of) : call(of), formula(of.shape.num_heads) {}
  [[nodiscard]] AttentionOptions options() const {
    AttentionOptions options = call.options();
    options.score = formula.score();
    return options;
  }
  /// The forward's results with the formula.
  [[nodiscard]] Problem problem() const {
    Problem problem = gradients::problem_of(call);
    AttentionOutputs outputs;
    outputs.output = problem.output.mutable_view();
    outputs.lse = problem.lse.data();
    const Status status = attention(pool_of(1), call.shape, call.inputs(), options(), outputs);
    EXPECT_TRUE(status.ok()) << status.message().text;
    return problem;
  }
  [[nodiscard]] gradients::Call backward(const Problem& problem) const {
    gradients::Call backward(call, problem);
    backward.options = options();
    backward.derivative = formula.derivative();
    return backward;
  }
};

/// Cases of the table that scores may pass through a formula in.
const std::vector<std::string> kFormulaCases = {"size-square-65",     "grouped-8-over-2",   "mask-and-bias",
                                                "ragged-BSHD-causal", "together-5-uniform", "returns-everything"};

std::vector<std::string> existing(std::vector<std::string> names) {
  std::erase_if(names, [](const std::string& name) {
    return std::none_of(cases::table().begin(), cases::table().end(), [&](const Case& c) { return c.name == name; });
  });
  return names;
}

// -------------------------------------------------------------------------------------------------------------- values

class BackwardCases : public testing::TestWithParam<std::size_t> {};

TEST_P(BackwardCases, GiveTheGradientsOfTheReference) {
  const Case& call = cases::table()[GetParam()];
  const Problem any = gradients::problem_of(call);
  const gradients::Call expected(call, any);
  const auto expect_near = gradients::near_reference(expected);
  for (const KernelTable* table : kernel_tables()) {
    SCOPED_TRACE(table->name);
    const UsingKernels kernels(*table);
    const Problem problem = gradients::problem_of(call);
    expect_near(gradients::compute({call, problem}));
  }
}

TEST_P(BackwardCases, HaveTheSameBitsForEveryNumberOfThreads) {
  const Case& call = cases::table()[GetParam()];
  const Problem problem = gradients::problem_of(call);
  const gradients::Call backward(call, problem);
  const std::vector<std::uint8_t> one = gradients::compute(backward, 1).bits();
  for (const int threads : {2, 3, 4}) EXPECT_EQ(gradients::compute(backward, threads).bits(), one) << threads;
}

INSTANTIATE_TEST_SUITE_P(Table, BackwardCases, testing::Range(std::size_t{0}, cases::table().size()), case_at);

class BackwardFormulas : public testing::TestWithParam<std::string> {};

TEST_P(BackwardFormulas, GiveTheGradientsOfTheReference) {
  const FormulaCase of(cases::named(GetParam()));
  for (const KernelTable* table : kernel_tables()) {
    SCOPED_TRACE(table->name);
    const UsingKernels kernels(*table);
    const Problem problem = of.problem();
    const gradients::Call backward = of.backward(problem);
    gradients::expect_near_reference(backward, gradients::compute(backward));
  }
}

TEST_P(BackwardFormulas, HaveTheSameBitsForEveryNumberOfThreads) {
  const FormulaCase of(cases::named(GetParam()));
  const Problem problem = of.problem();
  const gradients::Call backward = of.backward(problem);
  const std::vector<std::uint8_t> one = gradients::compute(backward, 1).bits();
  for (const int threads : {2, 3, 4}) EXPECT_EQ(gradients::compute(backward, threads).bits(), one) << threads;
}

INSTANTIATE_TEST_SUITE_P(Table, BackwardFormulas, testing::ValuesIn(existing(kFormulaCases)), case_named);

// -------------------------------------------------------------------------------------------- the reference by itself

/// The reference's gradients against central differences of its own forward: two steps, so that the error is of the
/// fourth order.
class Differences {
 public:
  Differences(Case& call, const AttentionOptions& options, const ScoreDerivative* derivative)
      : call_(call), options_(options), problem_(gradients::problem_of(call)) {
    BackwardInputs inputs;
    inputs.forward = call.inputs();
    inputs.output_gradient = problem_.output_gradient.view();
    inputs.score_derivative = derivative;
    all = reference::attention_backward(call.shape, inputs, options,
                                        reference::attention(call.shape, inputs.forward, options));
  }

  /// Expects d loss / d x to be `expected`, for a number that `set` changes.
  void expect(double x, double expected, const std::function<void(double)>& set, const char* what) {
    constexpr double kStep = 0x1p-7;
    const auto slope = [&](double step) {
      const double high = static_cast<float>(x + step), low = static_cast<float>(x - step);
      set(high);
      const double above = loss();
      set(low);
      return (above - loss()) / (high - low);
    };
    const double narrow = slope(kStep), wide = slope(2 * kStep), estimate = (4 * narrow - wide) / 3;
    set(x);
    // The differences of the next order tell how far the estimate may be off.
    EXPECT_NEAR(expected, estimate, 0.05 * std::abs(narrow - wide) + 1e-6 * (1 + std::abs(expected))) << what;
  }

  reference::Gradients all;

 private:
  /// sum do . o
  [[nodiscard]] double loss() const {
    const AttentionShape& s = call_.shape;
    double sum = 0;
    const std::vector<reference::Head> heads = reference::attention(s, call_.inputs(), options_);
    for (std::int64_t n = 0; n < static_cast<std::int64_t>(heads.size()); ++n)
      for (std::int64_t i = 0; i < s.query_length; ++i)
        for (std::int64_t d = 0; d < s.value_dim; ++d)
          if (heads[n].rows[i] == reference::RowKind::attends)
            sum += heads[n].output(i, d) * problem_.output_gradient.get(reference::element_index(
                                               options_.layout, s.num_heads, s.query_length, s.value_dim,
                                               n / s.num_heads, n % s.num_heads, i, d));
    return sum;
  }

  Case& call_;
  const AttentionOptions& options_;
  Problem problem_;
};

/// A small call with every option that has a gradient.
Case case_of_everything() {
  Case call = random_case({2, 4, 2, 5, 7, 6, 3}, 901);
  call.bias_extents = {{1, 4, 1, 7}};
  call.bias = cases::random_array(Dtype::float32, 28, 902, 1);
  call.bias->set(3, -std::numeric_limits<double>::infinity());
  call.alibi_slopes = {0.1f, 0.2f, 0.3f, 0.4f};
  call.sinks = {0.5f, -1.0f, -kInfinity, 2.0f};
  call.head_gain = {1.0f, 0.5f, -2.0f, 0.0f};
  call.key_lengths = {7, 5};
  call.scalars.softcap = 1.5f;
  call.scalars.causal = Causal::lower_right;
  return call;
}

void expect_differences(Case& call, const AttentionOptions& options, const DifferentiatedFormula* formula) {
  Differences differences(call, options, formula ? formula->derivative() : nullptr);
  const AttentionShape& s = call.shape;
  const auto expect_array = [&](cases::Array& array, std::int64_t heads, std::int64_t length, std::int64_t width,
                                const std::vector<reference::Matrix>& expected, const char* what) {
    for (std::int64_t n = 0; n < s.batch_size * heads; ++n)
      for (std::int64_t i = 0; i < length; ++i)
        for (std::int64_t d = 0; d < width; ++d) {
          const std::int64_t at =
              reference::element_index(options.layout, heads, length, width, n / heads, n % heads, i, d);
          differences.expect(
              array.get(at), expected[n](i, d), [&](double x) { array.set(at, x); }, what);
        }
  };
  expect_array(call.query, s.num_heads, s.query_length, s.head_dim, differences.all.query, "query");
  expect_array(call.key, s.num_kv_heads, s.key_length, s.head_dim, differences.all.key, "key");
  expect_array(call.value, s.num_kv_heads, s.key_length, s.value_dim, differences.all.value, "value");
  for (std::int64_t k = 0; call.bias && k < call.bias->size(); ++k)
    if (std::isfinite(call.bias->get(k)))
      differences.expect(
          call.bias->get(k), differences.all.bias[k], [&](double x) { call.bias->set(k, x); }, "bias");
  const auto expect_list = [&](std::vector<float>& list, const std::vector<double>& expected, const char* what) {
    for (std::size_t h = 0; h < list.size(); ++h)
      if (std::isfinite(list[h]))
        differences.expect(
            list[h], expected[h], [&](double x) { list[h] = static_cast<float>(x); }, what);
  };
  expect_list(call.sinks, differences.all.sinks, "sinks");
  expect_list(call.head_gain, differences.all.head_gain, "head gain");
  expect_list(call.alibi_slopes, differences.all.alibi_slopes, "alibi slopes");
  for (std::size_t n = 0; formula && n < differences.all.reads.size(); ++n)
    for (std::size_t k = 0; k < differences.all.reads[n].size(); ++k) {
      float* const entry = formula->entries(n) + k;
      differences.expect(
          *entry, differences.all.reads[n][k], [&](double x) { *entry = static_cast<float>(x); }, "table");
    }
}

/// Positions of ALiBi for the tokens of a case.
void give_positions(Case& call) {
  const AttentionShape& s = call.shape;
  for (std::int32_t n = 0; n < s.batch_size * s.query_length; ++n)
    call.alibi_query_positions.push_back(n * 37 % 11 - 4);
  for (std::int32_t n = 0; n < s.batch_size * s.key_length; ++n) call.alibi_key_positions.push_back(n * 53 % 13 - 2);
}

TEST(BackwardReference, AgreesWithFiniteDifferencesOfPositionsOfAlibi) {
  Case call = case_of_everything();
  give_positions(call);
  const AttentionOptions options = call.options();
  expect_differences(call, options, nullptr);
}

TEST(BackwardReference, AgreesWithFiniteDifferencesOfEveryOption) {
  Case call = case_of_everything();
  const AttentionOptions options = call.options();
  expect_differences(call, options, nullptr);
}

TEST(BackwardReference, AgreesWithFiniteDifferencesOfDropout) {
  Case call = case_of_everything();
  call.scalars.dropout = {0.3, 17};
  const AttentionOptions options = call.options();
  expect_differences(call, options, nullptr);
}

TEST(BackwardReference, AgreesWithFiniteDifferencesOfAFormulaAndItsTables) {
  Case call = case_of_everything();
  call.head_gain[3] = 1.5f;
  call.seed = 903;
  DifferentiatedFormula formula(4);
  // A step at whole scores has no derivative.
  std::fill_n(formula.entries(3), 3, 0.0f);
  AttentionOptions options = call.options();
  options.score = formula.score();
  Differences differences(call, options, formula.derivative());
  const AttentionShape& s = call.shape;
  for (std::int64_t at = 0; at < call.query.size(); ++at) {
    const std::int64_t n = at / (s.query_length * s.head_dim);
    differences.expect(
        call.query.get(at), differences.all.query[n](at / s.head_dim % s.query_length, at % s.head_dim),
        [&](double x) { call.query.set(at, x); }, "query");
  }
  for (std::int64_t k = 0; k < call.bias->size(); ++k)
    if (std::isfinite(call.bias->get(k)))
      differences.expect(
          call.bias->get(k), differences.all.bias[k], [&](double x) { call.bias->set(k, x); }, "bias");
  for (const std::size_t n : {0, 1, 2})
    for (std::size_t k = 0; k < differences.all.reads[n].size(); ++k) {
      float* const entry = formula.entries(n) + k;
      differences.expect(
          *entry, differences.all.reads[n][k], [&](double x) { *entry = static_cast<float>(x); }, "table");
    }
}

TEST(Backward, GivesTheGradientsOfTheReferenceForEverythingAtOnce) {
  const Case call = case_of_everything();
  const Problem problem = gradients::problem_of(call);
  const gradients::Call backward(call, problem);
  gradients::expect_near_reference(backward, gradients::compute(backward));
}

TEST(Backward, GivesTheGradientsOfTheReferenceForScalesFarAbove1) {
  for (const float scale : {3.0f, 1e30f, -1e30f}) {
    Case call = random_case({1, 2, 1, 20, 30, 6, 5}, 909);
    call.scalars.scale = scale;
    call.scalars.softcap = 4.0f;
    for (std::int64_t n = 0; n < call.key.size(); ++n) call.key.set(n, call.key.get(n) / static_cast<double>(scale));
    const Problem problem = gradients::problem_of(call);
    const gradients::Call given(call, problem);
    gradients::expect_near_reference(given, gradients::compute(given));
  }
}

TEST(Backward, WeightsOfARowSumTo1WhateverTheSizeOfItsScores) {
  for (const std::int64_t queries : {1, 8, 40})  // read where they lie, and packed
    for (const std::int64_t keys : {1, 40, 300})
      for (const double size : {1e2, 1e5, 1e10}) {
        Case call = random_case({1, 2, 1, queries, keys, 32, 4}, 911);
        for (std::int64_t n = 0; n < call.query.size(); ++n) call.query.set(n, call.query.get(n) * size);
        const Problem problem = gradients::problem_of(call);
        const gradients::Call given(call, problem);
        const Results results = gradients::compute(given);
        for (std::int64_t d = 0; d < 4; ++d) {  // so the gradients of values sum to those of the output
          double values = 0, output = 0, sizes = 0;
          for (std::int64_t j = 0; j < keys; ++j) values += results.value[static_cast<std::size_t>(4 * j + d)];
          for (std::int64_t i = 0; i < 2 * queries; ++i) {
            output += problem.output_gradient.get(4 * i + d);
            sizes += std::abs(problem.output_gradient.get(4 * i + d));
          }
          EXPECT_NEAR(values, output, 2e-5 * sizes) << queries << " queries, " << keys << " keys, times " << size;
        }
      }
}

TEST(Backward, GivesTheGradientsOfTheReferenceAtPositionsOfAlibi) {
  Case call = random_case({2, 4, 2, 70, 133, 24, 12}, 905);
  call.alibi_slopes = {0.1f, 0.2f, -0.1f, 0.0f};
  call.sinks = {0.5f, -1.0f, -kInfinity, 2.0f};
  give_positions(call);
  const Problem problem = gradients::problem_of(call);
  const gradients::Call backward(call, problem);
  gradients::expect_near_reference(backward, gradients::compute(backward));
}

TEST(Backward, GivesTheGradientsOfTheReferenceForEverythingWithAFormula) {
  const FormulaCase of(case_of_everything());
  const Problem problem = of.problem();
  const gradients::Call backward = of.backward(problem);
  gradients::expect_near_reference(backward, gradients::compute(backward));
}

TEST(Backward, GivesTheLastEntryOfATableItsGradientWhereverFloat32NamesIt) {
  constexpr std::int32_t kEntries = (1 << 24) + 1;  // float32 holds the last index, and not the number of entries
  const auto write = [](FormulaBuilder& of) {       // t[j < 1 ? last : 0]
    const std::int32_t first = of.add(Operation::less, of.variable(Variable::j), of.number(1.0f));
    return of.add(Operation::select, first, of.number(kEntries - 1), of.number(0.0f));
  };
  FormulaBuilder score, derivative;
  std::vector<float> entries(kEntries, 0.0f), gradient(kEntries, kNaN);
  entries.back() = 0.5f;
  const std::int32_t s = score.variable(Variable::s), at = write(score);
  score.add(Operation::add, s, score.table(std::move(entries), at));
  const std::int32_t column = write(derivative), one = derivative.number(1.0f);
  const FormulaRead read{one, -1, column, 1, kEntries, gradient.data()};
  const Formula scored = score.formula();
  const ScoreDerivative differentiated{derivative.formula(one), &read, 1};
  const Case call = random_case({1, 1, 1, 3, 4, 2, 2}, 910);
  Problem problem = gradients::problem_of(call);
  AttentionOptions options = call.options();
  options.score = &scored;
  AttentionOutputs outputs;
  outputs.output = problem.output.mutable_view();
  outputs.lse = problem.lse.data();
  ASSERT_TRUE(attention(pool_of(1), call.shape, call.inputs(), options, outputs).ok());
  gradients::Call backward(call, problem);
  BackwardInputs inputs = backward.backward_inputs();
  inputs.score_derivative = &differentiated;
  BackwardOutputs wanted;
  wanted.reads = true;
  ASSERT_TRUE(attention_backward(pool_of(1), call.shape, inputs, options, wanted).ok());
  // A row's gradients sum to 0: those of the first key, and those of the others.
  EXPECT_NE(gradient.front(), 0.0f);
  EXPECT_NEAR(gradient.back(), -gradient.front(), 16 * 0x1p-24);
}

TEST(Backward, TakesALayoutOfItsOwnForKeysAndValues) {
  for (const Layout layout : {Layout::bhsd, Layout::bshd, Layout::bes}) {
    Case call = random_case({2, 4, 2, 19, 37, 17, 9}, 904);
    call.scalars.kv_layout = layout;
    const Problem problem = gradients::problem_of(call);
    const gradients::Call backward(call, problem);
    gradients::expect_near_reference(backward, gradients::compute(backward));
  }
}

TEST(Backward, SumsTheBiasGradientOverEveryAxisThatRepeats) {
  for (int axes = 0; axes < 16; ++axes) {
    SCOPED_TRACE(axes);
    Case call = random_case({2, 4, 2, 70, 300, 8, 8}, 905);
    const std::int64_t full[] = {2, 4, 70, 300};
    std::int64_t size = 1;
    for (int axis = 0; axis < 4; ++axis) size *= call.bias_extents.extent[axis] = (axes >> axis & 1) ? full[axis] : 1;
    call.bias = cases::random_array(axes % 2 ? Dtype::float16 : Dtype::float32, size, 906, 1);
    call.scalars.causal = Causal::lower_right;
    const Problem problem = gradients::problem_of(call);
    const gradients::Call backward(call, problem);
    gradients::expect_near_reference(backward, gradients::compute(backward, 2));
  }
}

// What a caller asks for changes no bit of it.
TEST(Backward, GivesEachGradientAloneWithTheSameBits) {
  const FormulaCase of(case_of_everything());
  const Problem problem = of.problem();
  const gradients::Call backward = of.backward(problem);
  Results all = gradients::compute(backward);
  const auto alone = [&](auto keep) {
    Results results(of.call, backward.options, nullptr);
    BackwardOutputs outputs;
    keep(outputs, results.view());
    const Status status =
        attention_backward(pool_of(2), of.call.shape, backward.backward_inputs(), backward.options, outputs);
    EXPECT_TRUE(status.ok()) << status.message().text;
    return results;
  };
  using Outputs = BackwardOutputs;
  EXPECT_EQ(alone([](Outputs& to, const Outputs& room) { to.query = room.query; }).query, all.query);
  EXPECT_EQ(alone([](Outputs& to, const Outputs& room) { to.key = room.key; }).key, all.key);
  EXPECT_EQ(alone([](Outputs& to, const Outputs& room) { to.value = room.value; }).value, all.value);
  EXPECT_EQ(alone([](Outputs& to, const Outputs& room) { to.bias = room.bias; }).bias, all.bias);
  EXPECT_EQ(alone([](Outputs& to, const Outputs& room) { to.sinks = room.sinks; }).sinks, all.sinks);
  EXPECT_EQ(alone([](Outputs& to, const Outputs& room) { to.head_gain = room.head_gain; }).head_gain, all.head_gain);
  EXPECT_EQ(alone([](Outputs& to, const Outputs& room) { to.alibi_slopes = room.alibi_slopes; }).alibi_slopes,
            all.alibi_slopes);
  (void)alone([](Outputs&, const Outputs&) {});
}

TEST(Backward, HasTheSameBitsForEveryNumberOfThreadsWhereKeysAreSplit) {
  for (const AttentionShape shape :
       {AttentionShape{1, 1, 1, 300, 1500, 16, 16}, AttentionShape{1, 6, 2, 130, 700, 8, 24}}) {
    Case call = random_case(shape, 907);
    call.sinks.assign(static_cast<std::size_t>(shape.num_heads), 0.5f);
    call.alibi_slopes.assign(static_cast<std::size_t>(shape.num_heads), 0.01f);
    const Problem problem = gradients::problem_of(call);
    const gradients::Call backward(call, problem);
    const Results one = gradients::compute(backward, 1);
    if (some_of(1) > 0) gradients::expect_near_reference(backward, one);  // takes 100 s with a sanitizer
    for (const int threads : {2, 3, 4}) EXPECT_EQ(gradients::compute(backward, threads).bits(), one.bits()) << threads;
  }
}

// ---------------------------------------------------------------------------------------------------------- empty rows

class BackwardEmptyRows : public testing::TestWithParam<EmptyRows> {};

TEST_P(BackwardEmptyRows, HaveZeroGradientsOrNan) {
  Case call = random_case({2, 4, 2, 6, 40, 8, 8}, 908);
  call.scalars.empty_rows = GetParam();
  call.has_mask = true;
  call.mask_extents = {{1, 1, 6, 40}};
  call.mask.assign(240, 1);
  std::fill_n(call.mask.begin() + 2 * 40, 40, std::uint8_t{0});
  call.query_lengths = {6, 4};
  call.sinks = {0.5f, 0.5f, 0.5f, 0.5f};
  const Problem problem = gradients::problem_of(call);
  const gradients::Call backward(call, problem);
  const Results results = gradients::compute(backward);
  gradients::expect_near_reference(backward, results);
  for (std::int64_t n = 0; n < 8; ++n)
    for (std::int64_t i = 0; i < 6; ++i)
      for (std::int64_t d = 0; d < 8; ++d) {
        const float x = results.query[(n * 6 + i) * 8 + d];
        const bool padding = n / 4 == 1 && i >= 4;
        if (padding || (i == 2 && GetParam() != EmptyRows::nan))
          EXPECT_EQ(x, 0.0f);
        else
          EXPECT_EQ(std::isnan(x), i == 2);
      }
}

INSTANTIATE_TEST_SUITE_P(Policies, BackwardEmptyRows,
                         testing::Values(EmptyRows::zero, EmptyRows::nan, EmptyRows::uniform));

TEST(Backward, RefusesEmptyRowsBeforeAnyWork) {
  Case call = random_case({1, 2, 2, 3, 5, 4, 4}, 909);
  const Problem problem = gradients::problem_of(call);
  call.scalars.empty_rows = EmptyRows::fail;
  call.key_lengths = {0};
  EmptyRowReport report;
  call.scalars.empty_row_report = &report;
  const gradients::Call backward(call, problem);
  Results results(call, backward.options, nullptr);
  const std::vector<std::uint8_t> before = results.bits();
  EXPECT_EQ(backward.run(1, results).code, StatusCode::empty_row);
  EXPECT_EQ(report.count, 6);
  EXPECT_EQ(results.bits(), before);
}

TEST(Backward, WritesZerosWhereThereAreNoKeysOrNoQueries) {
  for (const AttentionShape shape : {AttentionShape{2, 2, 1, 3, 0, 4, 5}, AttentionShape{2, 2, 1, 0, 3, 4, 5},
                                     AttentionShape{0, 2, 1, 3, 3, 4, 5}}) {
    const Case call = random_case(shape, 910);
    const Problem problem = gradients::problem_of(call);
    const gradients::Call backward(call, problem);
    const Results results = gradients::compute(backward);
    for (const std::vector<float>* list : {&results.query, &results.key, &results.value, &results.head_gain})
      for (const float x : *list) EXPECT_EQ(x, 0.0f);
  }
}

// ----------------------------------------------------------------------------------------------------------- isolation

/// Which rows of queries may change, by number of the head (b * num_heads + h) and row.
using Exposed = std::function<bool(std::int64_t n, std::int64_t i)>;

class BackwardIsolation : public testing::TestWithParam<std::size_t> {
 protected:
  BackwardIsolation() : call(cases::table()[GetParam()]), problem(gradients::problem_of(call)) {
    heads = reference::attention(call.shape, call.inputs(), call.options());
  }

  [[nodiscard]] bool sees(std::int64_t n, std::int64_t i, std::int64_t j) const {
    return heads[n].rows[i] == reference::RowKind::attends && heads[n].visible(i, j);
  }
  [[nodiscard]] std::int64_t kv_head(std::int64_t n) const {
    const AttentionShape& s = call.shape;
    return n / s.num_heads * s.num_kv_heads + n % s.num_heads / (s.num_heads / s.num_kv_heads);
  }
  [[nodiscard]] std::int64_t query_heads() const { return call.shape.batch_size * call.shape.num_heads; }

  void poison_key(cases::Array& array, std::int64_t width, std::int64_t kv, std::int64_t j, double poison) const {
    const AttentionShape& s = call.shape;
    for (std::int64_t w = 0; w < width; ++w)
      array.set(reference::element_index(call.scalars.layout, s.num_kv_heads, s.key_length, width, kv / s.num_kv_heads,
                                         kv % s.num_kv_heads, j, w),
                poison);
  }
  void poison_row(cases::Array& array, std::int64_t width, std::int64_t n, std::int64_t i, double poison) const {
    const AttentionShape& s = call.shape;
    for (std::int64_t w = 0; w < width; ++w)
      array.set(reference::element_index(call.scalars.layout, s.num_heads, s.query_length, width, n / s.num_heads,
                                         n % s.num_heads, i, w),
                poison);
  }

  /// Expects the same bits in every gradient that no exposed row reaches.
  void expect_untouched(const Results& clean, const Results& poisoned, const Exposed& exposed) const {
    const AttentionShape& s = call.shape;
    const auto same = [](float a, float b) {
      return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
    };
    std::int64_t changed = 0;
    const auto expect_rows = [&](const std::vector<float>& a, const std::vector<float>& b, std::int64_t num_heads,
                                 std::int64_t length, std::int64_t width, const auto& may_change) {
      for (std::int64_t n = 0; n < s.batch_size * num_heads; ++n)
        for (std::int64_t r = 0; r < length; ++r)
          for (std::int64_t w = 0; w < width && !may_change(n, r); ++w) {
            const std::int64_t at = reference::element_index(call.scalars.layout, num_heads, length, width,
                                                             n / num_heads, n % num_heads, r, w);
            changed += !same(a[at], b[at]);
          }
    };
    expect_rows(clean.query, poisoned.query, s.num_heads, s.query_length, s.head_dim, exposed);
    EXPECT_EQ(changed, 0) << "dQuery";
    std::vector<bool> keys(static_cast<std::size_t>(s.batch_size * s.num_kv_heads * s.key_length));
    std::vector<bool> sums(static_cast<std::size_t>(s.num_heads)), cells(clean.bias.size());
    for (std::int64_t n = 0; n < query_heads(); ++n)
      for (std::int64_t i = 0; i < s.query_length; ++i) {
        if (!exposed(n, i)) continue;
        for (std::int64_t j = 0; j < s.key_length; ++j) {
          if (!sees(n, i, j)) continue;
          keys[kv_head(n) * s.key_length + j] = true;
          sums[n % s.num_heads] = true;
          if (clean.has_bias)
            cells[reference::broadcast_index(call.bias_extents, n / s.num_heads, n % s.num_heads, i, j)] = true;
        }
      }
    const auto key_exposed = [&](std::int64_t kv, std::int64_t j) -> bool { return keys[kv * s.key_length + j]; };
    expect_rows(clean.key, poisoned.key, s.num_kv_heads, s.key_length, s.head_dim, key_exposed);
    EXPECT_EQ(changed, 0) << "dKey";
    expect_rows(clean.value, poisoned.value, s.num_kv_heads, s.key_length, s.value_dim, key_exposed);
    EXPECT_EQ(changed, 0) << "dValue";
    for (std::size_t k = 0; k < cells.size(); ++k) changed += !cells[k] && !same(clean.bias[k], poisoned.bias[k]);
    EXPECT_EQ(changed, 0) << "dBias";
    for (std::size_t h = 0; h < sums.size(); ++h) {
      if (sums[h]) continue;
      changed += !same(clean.head_gain[h], poisoned.head_gain[h]);
      if (clean.has_sinks) changed += !same(clean.sinks[h], poisoned.sinks[h]);
      if (clean.has_slopes) changed += !same(clean.alibi_slopes[h], poisoned.alibi_slopes[h]);
    }
    EXPECT_EQ(changed, 0) << "a gradient of heads";
  }

  Case call;
  Problem problem;
  std::vector<reference::Head> heads;
};

const double kPoisons[] = {kNaN, kInfinity, -kInfinity};

TEST_P(BackwardIsolation, PoisonInKeysAndValuesReachesNoRowThatMayNotSeeThem) {
  const AttentionShape& s = call.shape;
  const Results clean = gradients::compute({call, problem});
  const auto is_chosen = [&](std::int64_t j, bool chosen_alone) { return !chosen_alone || j == s.key_length / 2; };
  for (const bool alone : {false, true}) {
    // Not alone: every key that no row of its kv head sees. Alone: one key, and what its rows reach may change.
    std::vector<bool> seen(static_cast<std::size_t>(s.batch_size * s.num_kv_heads * s.key_length));
    for (std::int64_t n = 0; n < query_heads(); ++n)
      for (std::int64_t i = 0; i < s.query_length; ++i)
        for (std::int64_t j = 0; j < s.key_length; ++j)
          if (sees(n, i, j)) seen[kv_head(n) * s.key_length + j] = true;
    for (const double poison : kPoisons) {
      Case poisoned = call;
      for (std::int64_t kv = 0; kv < s.batch_size * s.num_kv_heads; ++kv)
        for (std::int64_t j = 0; j < s.key_length; ++j) {
          if (!is_chosen(j, alone) || (!alone && seen[kv * s.key_length + j])) continue;
          poison_key(poisoned.key, s.head_dim, kv, j, poison);
          poison_key(poisoned.value, s.value_dim, kv, j, poison);
        }
      expect_untouched(clean, gradients::compute({poisoned, problem}), [&](std::int64_t n, std::int64_t i) {
        return alone && s.key_length > 0 && sees(n, i, s.key_length / 2);
      });
    }
  }
}

TEST_P(BackwardIsolation, PoisonInARowReachesOnlyTheKeysThatItSees) {
  const AttentionShape& s = call.shape;
  const Results clean = gradients::compute({call, problem});
  for (const bool empty : {true, false}) {
    const auto chosen = [&](std::int64_t n, std::int64_t i) {
      return empty ? heads[n].rows[i] != reference::RowKind::attends : i == s.query_length / 2;
    };
    for (const double poison : kPoisons) {
      Case poisoned = call;
      Problem given = problem;
      for (std::int64_t n = 0; n < query_heads(); ++n)
        for (std::int64_t i = 0; i < s.query_length; ++i) {
          if (!chosen(n, i)) continue;
          poison_row(poisoned.query, s.head_dim, n, i, poison);
          poison_row(given.output, s.value_dim, n, i, poison);
          poison_row(given.output_gradient, s.value_dim, n, i, poison);
          given.lse[n * s.query_length + i] = static_cast<float>(poison);
        }
      expect_untouched(clean, gradients::compute({poisoned, given}),
                       [&](std::int64_t n, std::int64_t i) { return !empty && chosen(n, i); });
    }
  }
}

/// The output gradient alone: it does not pass through the scores.
TEST_P(BackwardIsolation, PoisonInAnOutputGradientReachesOnlyTheKeysThatItsRowSees) {
  const AttentionShape& s = call.shape;
  const Results clean = gradients::compute({call, problem});
  for (const double poison : kPoisons) {
    Problem given = problem;
    for (std::int64_t n = 0; n < query_heads() && s.query_length > 0; ++n)
      poison_row(given.output_gradient, s.value_dim, n, s.query_length / 2, poison);
    const Results poisoned = gradients::compute({call, given});
    expect_untouched(clean, poisoned, [&](std::int64_t, std::int64_t i) { return i == s.query_length / 2; });
  }
}

INSTANTIATE_TEST_SUITE_P(Table, BackwardIsolation, testing::Range(std::size_t{0}, cases::table().size()), case_at);

TEST(Backward, ANanThatARowSeesPoisonsItsRowAndTheKeysThatItReaches) {
  Case call = random_case({1, 1, 1, 5, 20, 4, 4}, 911);
  call.scalars.causal = Causal::upper_left;
  Problem problem = gradients::problem_of(call);
  problem.output_gradient.set(2 * 4, kNaN);
  const Results results = gradients::compute({call, problem});
  for (std::int64_t i = 0; i < 5; ++i) EXPECT_EQ(std::isnan(results.query[i * 4 + 1]), i == 2) << i;
  for (std::int64_t j = 0; j < 20; ++j) {
    EXPECT_EQ(std::isnan(results.key[j * 4 + 1]), j <= 2) << j;
    EXPECT_EQ(std::isnan(results.value[j * 4]), j <= 2) << j;
    EXPECT_FALSE(std::isnan(results.value[j * 4 + 1])) << j;
  }
}

TEST(Backward, AFormulaWhoseDerivativeIsNanWhereItHidesChangesNothing) {
  // score = k <= q ? sqrt(q - k) + s : -inf. The root of a negative number is NaN, and so is its derivative.
  FormulaBuilder score, derivative;
  const auto write = [](FormulaBuilder& of) {
    const std::int32_t s = of.variable(Variable::s), q = of.variable(Variable::q), k = of.variable(Variable::k);
    const std::int32_t root = of.add(Operation::sqrt, of.add(Operation::subtract, q, k));
    return std::array{of.add(Operation::less_or_equal, k, q), of.add(Operation::add, root, s), root};
  };
  const auto scored = write(score);
  score.add(Operation::select, scored[0], scored[1], score.number(-kInfinity));
  const auto root = write(derivative);
  // 1 + 0 * root: NaN where the formula hides.
  const std::int32_t slope = derivative.add(Operation::add, derivative.number(1.0f),
                                            derivative.add(Operation::multiply, derivative.number(0.0f), root[2]));
  const FormulaRead read{slope, -1, -1, 1, 1, nullptr};
  const Formula formula = score.formula();
  const ScoreDerivative differentiated{derivative.formula(slope), &read, 1};

  Case call = random_case({1, 2, 2, 30, 30, 8, 8}, 912);
  Problem problem = gradients::problem_of(call);
  gradients::Call backward(call, problem);
  backward.options.score = &formula;
  backward.derivative = &differentiated;
  AttentionOutputs outputs;
  outputs.output = problem.output.mutable_view();
  outputs.lse = problem.lse.data();
  ASSERT_TRUE(attention(pool_of(1), call.shape, call.inputs(), backward.options, outputs).ok());
  const Results results = gradients::compute(backward);
  for (const std::vector<float>* list : {&results.query, &results.key, &results.value, &results.reads[0]})
    for (const float x : *list) ASSERT_TRUE(std::isfinite(x));
}

// -------------------------------------------------------------------------------------------------------------- memory

TEST(Backward, MemoryThatIsNotToBeHadIsAStatusAndLeavesNoTrace) {
  const FormulaCase of(case_of_everything());
  const Problem problem = of.problem();
  const gradients::Call backward = of.backward(problem);
  Results results(of.call, backward.options, backward.derivative);
  const std::vector<std::uint8_t> before = results.bits();
  const auto look = [&] { EXPECT_EQ(results.bits(), before) << "an output was written"; };
  EXPECT_GT(refuse_each_request([&] { return backward.run(2, results); }, look), 5);
  EXPECT_EQ(results.bits(), gradients::compute(backward, 2).bits());
}

// A matrix of scores would take 1 GiB.
TEST(Backward, ScratchStaysBelow64MiBAtSixteenThousandTokens) {
  Case call = random_case({1, 1, 1, 16384, 16384, 64, 64}, 913);
  call.scalars.causal = Causal::lower_right;
  call.scalars.window_left = 100;  // keeps the time down; the scratch must not know
  const Problem problem = gradients::problem_of(call);
  const gradients::Call backward(call, problem);
  const Allocations counting;
  (void)gradients::compute(backward, 4);
  EXPECT_LE(counting.total_bytes(), std::int64_t{64} << 20);
}

// --------------------------------------------------------------------------------------------------------------- rules

TEST(Backward, RefusesWhatBreaksARule) {
  const Case call = random_case({1, 2, 2, 3, 5, 4, 4}, 914);
  const Problem problem = gradients::problem_of(call);
  const gradients::Call good(call, problem);
  const auto refused = [&](auto change) {
    BackwardInputs inputs = good.backward_inputs();
    AttentionOptions options = good.options;
    Results results(call, options, nullptr);
    BackwardOutputs outputs = results.view();
    change(inputs, options, outputs);
    const std::vector<std::uint8_t> before = results.bits();
    const Status status = attention_backward(pool_of(1), call.shape, inputs, options, outputs);
    EXPECT_EQ(results.bits(), before);
    return status.code;
  };
  using In = BackwardInputs;
  using Options = AttentionOptions;
  using Out = BackwardOutputs;
  float number = 0;
  const DifferentiatedFormula formula(2);
  EXPECT_EQ(refused([&](In&, Options&, Out& out) { out.bias = &number; }), StatusCode::invalid_option);
  EXPECT_EQ(refused([&](In&, Options&, Out& out) { out.sinks = &number; }), StatusCode::invalid_option);
  EXPECT_EQ(refused([&](In&, Options&, Out& out) { out.alibi_slopes = &number; }), StatusCode::invalid_option);
  EXPECT_EQ(refused([&](In&, Options&, Out& out) { out.reads = true; }), StatusCode::invalid_option);
  EXPECT_EQ(refused([&](In&, Options& options, Out&) { options.score = formula.score(); }), StatusCode::invalid_option);
  EXPECT_EQ(refused([&](In& in, Options&, Out&) { in.score_derivative = formula.derivative(); }),
            StatusCode::invalid_option);
  for (const Dtype dtype : {Dtype::int8, Dtype::bfloat16})
    EXPECT_EQ(refused([&](In& in, Options&, Out&) { in.output_gradient.dtype = dtype; }), StatusCode::unsupported);
  EXPECT_EQ(refused([&](In& in, Options& options, Out& out) {
              options.score = formula.score();
              in.score_derivative = formula.derivative();
              out.reads = true;  // without arrays for them
            }),
            StatusCode::invalid_option);
  EXPECT_EQ(refused([&](In& in, Options& options, Out&) {
              static ScoreDerivative broken = *formula.derivative();
              static FormulaRead read = broken.reads[0];
              read.column = 1000;
              broken.reads = &read, broken.num_reads = 1;
              options.score = formula.score();
              in.score_derivative = &broken;
            }),
            StatusCode::invalid_option);
}

}  // namespace headwise::test_backward
