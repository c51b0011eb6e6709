// Score formulas: each operation alone.

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "formula_builder.h"
#include "harness.h"

namespace headwise::test_formula_functions {

using Operation = FormulaOperation;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
const float kNan = std::numeric_limits<float>::quiet_NaN();

std::vector<float> apply(const KernelTable& table, Operation operation, std::vector<float> a, std::vector<float> b = {},
                         std::vector<float> c = {}) {
  const std::size_t count = a.size(), padded = (count + 15) / 16 * 16;
  for (std::vector<float>* list : {&a, &b, &c}) list->resize(padded, 1.0f);
  std::vector<float> out(padded);
  table.formula_steps[static_cast<std::size_t>(operation)](
      {{a.data(), b.data(), c.data()}, {1, 1, 1}, nullptr, out.data()}, static_cast<std::int64_t>(padded));
  out.resize(count);
  return out;
}

bool same(float x, float y) { return x == y || (std::isnan(x) && std::isnan(y)); }

/// The size of an ulp of float32 at x.
double ulp(double x) {
  const double magnitude = std::max(std::abs(x), 0x1p-126);
  return std::ldexp(1.0, std::ilogb(magnitude) - 23);
}

/// Numbers of all sizes and signs, and the special ones.
std::vector<float> many_numbers(std::uint32_t step) {
  std::vector<float> numbers = {0.0f,       -0.0f, 1.0f,      -1.0f,      kInfinity,
                                -kInfinity, kNan,  0x1p-149f, -0x1p-149f, std::numeric_limits<float>::max()};
  for (std::uint64_t bits = 1; bits < 0x7f800000u; bits += step) {
    const float x = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    numbers.push_back(x);
    numbers.push_back(-x);
  }
  return numbers;
}

/// The largest error in ulp where the expected result is a finite float; elsewhere the results must be equal.
template <class Function>
double largest_error(const std::vector<float>& results, const std::vector<float>& a, Function expected) {
  double largest = 0;
  for (std::size_t n = 0; n < a.size(); ++n) {
    const double exact = expected(n);
    if (std::isfinite(static_cast<float>(exact)) && std::isfinite(results[n]))
      largest = std::max(largest, std::abs(results[n] - exact) / ulp(exact));
    else if (!same(results[n], static_cast<float>(exact)))
      return ADD_FAILURE() << a[n] << " gives " << results[n] << ", not " << exact, kInfinity;
  }
  return largest;
}

TEST(FormulaFunctions, ErrNoMoreThanStated) {
  const std::vector<float> all = many_numbers(4999 * (10 / some_of(10)));
  std::vector<float> angles = {kNan, kInfinity, 0.0f};
  for (float x = 0x1p-20f; x <= 0x1p24f; x *= 1.00001f) angles.insert(angles.end(), {x, -x, std::round(x)});
  for (int n = 1; n < 100000; ++n) angles.push_back(static_cast<float>(n * 1.5707963267948966));
  const auto check = [&](const KernelTable& table, Operation operation, const std::vector<float>& numbers,
                         double (*exact)(double), double stated) {
    EXPECT_LE(
        largest_error(apply(table, operation, numbers), numbers, [&](std::size_t n) { return exact(numbers[n]); }),
        stated)
        << static_cast<int>(operation);
  };
  for (const KernelTable* table : kernel_tables()) {
    SCOPED_TRACE(table->name);
    check(
        *table, Operation::exp, all, [](double x) { return std::exp(x); }, 0.501);
    check(
        *table, Operation::log, all, [](double x) { return std::log(x); }, 0.501);
    check(
        *table, Operation::sqrt, all, [](double x) { return std::sqrt(x); }, 0.5);
    check(
        *table, Operation::tanh, all, [](double x) { return std::tanh(x); }, 4);
    check(
        *table, Operation::sin, angles, [](double x) { return std::sin(x); }, 0.501);
    check(
        *table, Operation::cos, angles, [](double x) { return std::cos(x); }, 0.501);
  }
}

TEST(FormulaFunctions, SinAndCosOfHugeNumbersStayWithinOne) {
  for (const float x : apply(kernel_table(), Operation::sin, many_numbers(99991)))
    EXPECT_TRUE(std::isnan(x) || std::abs(x) <= 1.0f);
}

double javascript_power(double a, double b) {
  return std::isnan(b) || (std::abs(a) == 1 && std::isinf(b)) ? std::numeric_limits<double>::quiet_NaN()
                                                              : std::pow(a, b);
}

TEST(FormulaFunctions, PowerIsThatOfJavaScript) {
  std::vector<float> a, b;
  for (const float x : many_numbers(29999991))
    for (const float y : {0.0f, -0.0f, 1.0f, -1.0f, 2.0f, 3.0f, -3.0f, 0.5f, -2.5f, 0.001f, 7.0f, 100.0f, 16777215.0f,
                          16777216.0f, kInfinity, -kInfinity, kNan})
      a.push_back(x), b.push_back(y);
  for (int n = 0; n < 100000; ++n) {
    a.push_back(std::exp(static_cast<float>(cases::word(1, 1, n) >> 8) * 0x1p-20f - 8.0f));
    b.push_back(static_cast<float>(cases::word(1, 2, n) >> 8) * 0x1p-20f - 8.0f);
  }
  for (const KernelTable* table : kernel_tables())
    EXPECT_LE(largest_error(apply(*table, Operation::power, a, b), a,
                            [&](std::size_t n) { return javascript_power(a[n], b[n]); }),
              0.501);
}

TEST(FormulaFunctions, RemainderIsExactWhereTheQuotientIsBelow2To28) {
  std::vector<float> a, b;
  for (int n = 0; n < 200000; ++n) {
    const float whole = static_cast<float>(cases::word(2, 1, n) >> 8);
    a.push_back(n % 2 ? whole : -whole);
    b.push_back(n % 3 ? static_cast<float>(1 + (cases::word(2, 2, n) >> (8 + n % 24))) : 0.37f + 0.01f * n);
  }
  for (const auto& [x, y] : {std::pair{5.0f, 0.0f},
                             {5.0f, kInfinity},
                             {-5.0f, kInfinity},
                             {kInfinity, 3.0f},
                             {kNan, 3.0f},
                             {3.0f, kNan},
                             {5.0f, -3.0f},
                             {-5.0f, 3.0f},
                             {0.0f, 3.0f}})
    a.push_back(x), b.push_back(y);
  for (const KernelTable* table : kernel_tables()) {
    const std::vector<float> rests = apply(*table, Operation::remainder, a, b);
    for (std::size_t n = 0; n < a.size(); ++n)
      ASSERT_TRUE(same(rests[n], std::fmod(a[n], b[n]))) << a[n] << " % " << b[n] << " = " << rests[n];
  }
}

TEST(FormulaFunctions, QuotientsNeverCrossAWholeNumber) {
  std::vector<float> a, b;
  for (int n = 0; n < 300000; ++n) {
    b.push_back(static_cast<float>(1 + cases::word(3, 1, n) % 4000));
    a.push_back(static_cast<float>(n % 2 ? cases::word(3, 2, n) >> 8 : (cases::word(3, 2, n) >> 8) / 4000 * b[n]));
  }
  for (const KernelTable* table : kernel_tables()) {
    const std::vector<float> floors = apply(*table, Operation::floor, apply(*table, Operation::divide, a, b));
    for (std::size_t n = 0; n < a.size(); ++n)
      ASSERT_EQ(floors[n], std::floor(static_cast<double>(a[n]) / b[n])) << a[n] << " / " << b[n];
  }
}

TEST(FormulaFunctions, SimpleOperationsFollowJavaScript) {
  const std::vector<float> numbers = {0.0f, -0.0f, 1.0f, -1.5f, 2.5f, kInfinity, -kInfinity, kNan};
  std::vector<float> a, b;
  for (const float x : numbers)
    for (const float y : numbers) a.push_back(x), b.push_back(y);
  const std::vector<std::pair<Operation, float (*)(float, float)>> functions = {
      {Operation::negate, [](float x, float) { return -x; }},
      {Operation::abs, [](float x, float) { return std::abs(x); }},
      {Operation::floor, [](float x, float) { return std::floor(x); }},
      {Operation::sign, [](float x, float) { return x > 0   ? 1.0f
                                                    : x < 0 ? -1.0f
                                                            : x; }},
      {Operation::logical_not, [](float x, float) { return x == 0 ? 1.0f : 0.0f; }},
      {Operation::add, [](float x, float y) { return x + y; }},
      {Operation::subtract, [](float x, float y) { return x - y; }},
      {Operation::multiply, [](float x, float y) { return x * y; }},
      {Operation::divide, [](float x, float y) { return x / y; }},
      {Operation::minimum, [](float x, float y) { return x != x || y != y ? kNan : std::min(x, y); }},
      {Operation::maximum, [](float x, float y) { return x != x || y != y ? kNan : std::max(x, y); }},
      {Operation::less, [](float x, float y) { return x < y ? 1.0f : 0.0f; }},
      {Operation::less_or_equal, [](float x, float y) { return x <= y ? 1.0f : 0.0f; }},
      {Operation::equal, [](float x, float y) { return x == y ? 1.0f : 0.0f; }},
      {Operation::not_equal, [](float x, float y) { return x != y ? 1.0f : 0.0f; }},
      {Operation::logical_and, [](float x, float y) { return x != 0 && y != 0 ? 1.0f : 0.0f; }},
      {Operation::logical_or, [](float x, float y) { return x != 0 || y != 0 ? 1.0f : 0.0f; }},
      {Operation::select, [](float x, float y) { return x != 0 ? y : 3.0f; }}};
  const std::vector<float> c(a.size(), 3.0f);
  for (const KernelTable* table : kernel_tables())
    for (const auto& [operation, function] : functions) {
      const std::vector<float> results = apply(*table, operation, a, b, c);
      for (std::size_t n = 0; n < a.size(); ++n)
        EXPECT_TRUE(same(results[n], function(a[n], b[n])))
            << static_cast<int>(operation) << " of " << a[n] << ", " << b[n] << " is " << results[n];
    }
}

}  // namespace headwise::test_formula_functions
