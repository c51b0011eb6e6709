// What a network computes between its products, against double.

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>
#include <string>
#include <vector>

#include "base/numbers.h"
#include "harness.h"
#include "headwise/row_operations.h"
#include "layer_model.h"
#include "tolerance.h"

namespace headwise::test_row_operations {

using layers::Floats;
using layers::random_floats;
using tolerance::kEpsilon;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::uint32_t float_bits(float value) { return std::bit_cast<std::uint32_t>(value); }

// Around one vector, several vectors, and several tasks of a row.
constexpr std::int64_t kWidths[] = {1, 3, 4, 7, 16, 17, 64, 100, 1024, 1030, 3000};

/// A row's norm in double, and how far float32 may be from it. A sum of n numbers in 16 or more lanes rounds at most
/// n / 16 + 8 times. An error m of the mean moves each distance by m, and the deviation by no more than m.
struct Row {
  std::vector<double> y, error;
};

Row norm_of(const NormedRows& call, const float* x) {
  const auto width = static_cast<double>(call.width);
  const double rounding = (width / 16 + 8) * kEpsilon;
  double mean = 0, magnitude = 0, squares = 0;
  for (std::int64_t i = 0; i < call.width; ++i) mean += x[i] / width, magnitude += std::abs(x[i]) / width;
  if (call.norm == RowNorm::rms) mean = magnitude = 0;
  for (std::int64_t i = 0; i < call.width; ++i) squares += (x[i] - mean) * (x[i] - mean) / width;
  const double inverse = 1 / std::sqrt(squares + call.epsilon), shift = rounding * magnitude;
  Row row;
  for (std::int64_t i = 0; i < call.width; ++i) {
    const double gain = call.gain ? call.gain[i] : 1, plus = call.shift ? call.shift[i] : 0;
    const double normed = (x[i] - mean) * inverse * gain;
    row.y.push_back(normed + plus);
    row.error.push_back(std::abs(gain) * inverse * shift + std::abs(normed) * (rounding + shift * inverse) +
                        2 * kEpsilon * (std::abs(normed) + std::abs(plus)));
  }
  return row;
}

TEST(RowNorms, AgreeWithDoubleForEveryWidthWithAndWithoutGain) {
  for (const RowNorm norm : {RowNorm::layer, RowNorm::rms})
    for (const std::int64_t width : kWidths)
      for (const bool has_gain : {false, true}) {
        const std::int64_t rows = 3;
        const Floats x = random_floats(rows * width, 1), gain = random_floats(width, 2),
                     shift = random_floats(width, 3);
        Floats y(x.size());
        NormedRows call{norm, rows, width, {x.data(), width}, nullptr, nullptr, 1e-5f, y.data()};
        if (has_gain) call.gain = gain.data(), call.shift = shift.data();
        ASSERT_TRUE(norm_rows(pool_of(2), call).ok());
        for (std::int64_t r = 0; r < rows; ++r) {
          const Row expected = norm_of(call, &x[r * width]);
          for (std::int64_t i = 0; i < width; ++i)
            ASSERT_LE(std::abs(y[r * width + i] - expected.y[i]), expected.error[i]) << width << " " << r << " " << i;
        }
      }
}

TEST(RowNorms, OfNumbersWhoseSquaresLeaveFloat32HaveTheBitsOfUsualOnes) {
  const std::int64_t width = 37;
  const Floats x = random_floats(width, 5);
  for (const RowNorm norm : {RowNorm::layer, RowNorm::rms}) {
    Floats usual(width), far(width);
    NormedRows call{.norm = norm, .rows = 1, .width = width, .x = {x.data()}, .epsilon = 0.0f, .y = usual.data()};
    ASSERT_TRUE(norm_rows(pool_of(1), call).ok());
    for (const int exponent : {124, 100, 63, -63, -80, -100}) {
      Floats moved = x;
      for (float& number : moved) number = std::ldexp(number, exponent);
      call.x = {moved.data()}, call.y = far.data();
      ASSERT_TRUE(norm_rows(pool_of(1), call).ok());
      EXPECT_EQ(far, usual) << exponent;
    }
  }
}

TEST(RowNorms, OfTheLargestAndTheSmallestNumbersAreThoseOfDouble) {
  for (const Floats& x : {Floats{3e38f, 3e38f, -3e38f, 1e38f}, Floats{3e38f, 3e38f, 3e38f, 2.9e38f},
                          Floats{1e-45f, 0.0f, 0.0f, 0.0f}, Floats{1e-40f, -2e-40f, 3e-40f, 0.0f}})
    for (const RowNorm norm : {RowNorm::layer, RowNorm::rms}) {
      Floats y(4);
      const NormedRows call{.norm = norm, .rows = 1, .width = 4, .x = {x.data()}, .epsilon = 0.0f, .y = y.data()};
      ASSERT_TRUE(norm_rows(pool_of(1), call).ok());
      const Row expected = norm_of(call, x.data());
      for (int i = 0; i < 4; ++i) EXPECT_LE(std::abs(y[i] - expected.y[i]), expected.error[i]) << x[0] << " " << i;
    }
}

TEST(RowNorms, ARowOfNumbersFarBelowTheRootOfEpsilonIsNearlyZero) {
  const Floats x{1e-30f, -1e-30f};
  Floats y(2);
  const NormedRows call{.rows = 1, .width = 2, .x = {x.data()}, .epsilon = 1e-35f, .y = y.data()};
  ASSERT_TRUE(norm_rows(pool_of(1), call).ok());
  EXPECT_NEAR(y[0], 1e-30 / std::sqrt(1e-60 + 1e-35), 1e-18);
}

TEST(RowNorms, HaveTheirDigitsForEveryEpsilonAndNumbersFarBelowItsRoot) {
  for (const float epsilon : {1e-20f, 1e-27f, 1e-28f, 1e-34f, 1e-40f})
    for (const float size : {1e-20f, 1e-30f, 1e-37f, 1e-42f}) {
      const Floats x{size, -size, 2 * size, 0.5f * size};
      for (const RowNorm norm : {RowNorm::layer, RowNorm::rms}) {
        Floats y(4);
        const NormedRows call{.norm = norm, .rows = 1, .width = 4, .x = {x.data()}, .epsilon = epsilon, .y = y.data()};
        ASSERT_TRUE(norm_rows(pool_of(1), call).ok());
        const Row expected = norm_of(call, x.data());
        for (int i = 0; i < 4; ++i) {
          // a mean of subnormal numbers is rounded to one of them
          const double error = expected.error[i] + 0x1p-149 / std::sqrt(static_cast<double>(epsilon));
          EXPECT_LE(std::abs(y[i] - expected.y[i]), error) << epsilon << " " << x[i];
        }
      }
    }
}

TEST(RowNorms, ARowWithNanLeavesTheOthersTheirBits) {
  const std::int64_t width = 37;
  Floats x = random_floats(3 * width, 4);
  Floats before(x.size()), after(x.size());
  NormedRows call{.rows = 3, .width = width, .x = {x.data(), width}, .epsilon = 1e-5f, .y = before.data()};
  ASSERT_TRUE(norm_rows(pool_of(1), call).ok());
  x[width] = kNan;
  call.y = after.data();
  ASSERT_TRUE(norm_rows(pool_of(2), call).ok());
  for (std::int64_t i = 0; i < width; ++i) {
    EXPECT_EQ(after[i], before[i]);
    EXPECT_TRUE(std::isnan(after[width + i]));
    EXPECT_EQ(after[2 * width + i], before[2 * width + i]);
  }
}

double value_of(RowFunction function, double x) {
  constexpr double root = std::numbers::sqrt2;
  switch (function) {
    case RowFunction::identity:
      return x;
    case RowFunction::gelu:
      return 0.5 * x * std::erfc(-x / root);
    case RowFunction::gelu_tanh:
      return x / (1 + std::exp(-2 * std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
    case RowFunction::quick_gelu:
      return x / (1 + std::exp(-1.702 * x));
    case RowFunction::silu:
      return x / (1 + std::exp(-x));
    case RowFunction::relu:
      return std::max(x, 0.0);
    case RowFunction::tanh:
      return std::tanh(x);
  }
  return 0;
}

constexpr RowFunction kFunctions[] = {RowFunction::identity,   RowFunction::gelu, RowFunction::gelu_tanh,
                                      RowFunction::quick_gelu, RowFunction::silu, RowFunction::relu,
                                      RowFunction::tanh};

Floats mapped(RowFunction function, const Floats& x) {
  Floats y(x.size());
  const auto width = static_cast<std::int64_t>(x.size());
  EXPECT_TRUE(
      map_rows(pool_of(2), {.function = function, .rows = 1, .width = width, .x = {x.data()}, .y = y.data()}).ok());
  return y;
}

TEST(RowFunctions, ErrByAtMost2ToTheMinus21TimesX) {
  Floats x;
  for (int n = -40000; n <= 40000; ++n) x.push_back(static_cast<float>(n) / 1000);
  for (const float far : {0.0f, 1e-30f, 1e-6f, 87.0f, 100.0f, 1e6f, 1e30f}) x.push_back(far), x.push_back(-far);
  for (const RowFunction function : kFunctions) {
    const Floats y = mapped(function, x);
    for (std::size_t i = 0; i < x.size(); ++i)
      ASSERT_LE(std::abs(y[i] - value_of(function, x[i])), 0x1p-21 * std::abs(x[i]))
          << static_cast<int>(function) << " of " << x[i];
  }
}

TEST(RowFunctions, OfMinusInfinityAreZeroOrMinusOne) {
  for (const RowFunction function : kFunctions) {
    const float y = mapped(function, {-kInfinity})[0];
    EXPECT_EQ(y, function == RowFunction::identity ? -kInfinity : function == RowFunction::tanh ? -1.0f : 0.0f);
  }
}

TEST(RowFunctions, OfInfinityAreInfiniteOrOneAndNanStaysNan) {
  for (const RowFunction function : kFunctions) {
    const Floats y = mapped(function, {kInfinity, kNan, 1.0f});
    EXPECT_EQ(y[0], function == RowFunction::tanh ? 1.0f : kInfinity);
    EXPECT_TRUE(std::isnan(y[1]));
    EXPECT_EQ(y[2], mapped(function, {1.0f})[0]);
  }
}

TEST(MappedRows, HaveAFactorARowThatRepeatsAndASumForEveryWidth) {
  for (const std::int64_t width : kWidths) {
    const std::int64_t rows = 3, stride = width + 5;
    const Floats x = random_floats(rows * stride, 5), times = random_floats(width, 6),
                 plus = random_floats(rows * width, 7);
    Floats y(static_cast<std::size_t>(rows * width));
    const MappedRows call{.rows = rows,
                          .width = width,
                          .x = {x.data(), stride},
                          .scale = 0.5f,
                          .times = {times.data(), 0},
                          .plus = {plus.data(), width},
                          .y = y.data()};
    for (const int threads : {1, 3}) {
      ASSERT_TRUE(map_rows(pool_of(threads), call).ok());
      for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t i = 0; i < width; ++i)
          ASSERT_EQ(y[r * width + i], x[r * stride + i] * 0.5f * times[i] + plus[r * width + i]);
    }
  }
}

TEST(MappedRows, MayBeWrittenOverX) {
  Floats x = random_floats(2050, 8);
  const Floats before = x;
  const Floats expected = mapped(RowFunction::silu, before);
  ASSERT_TRUE(
      map_rows(pool_of(2), {.function = RowFunction::silu, .rows = 1, .width = 2050, .x = {x.data()}, .y = x.data()})
          .ok());
  EXPECT_EQ(x, expected);
}

TEST(MappedRows, ASoftcapIsTanhWithScaleAndDivisor) {
  const Floats x{-100, -3, 0, 2, 50};
  Floats y(5);
  const MappedRows call{
      .function = RowFunction::tanh, .rows = 1, .width = 5, .x = {x.data()}, .divisor = 30, .scale = 30, .y = y.data()};
  ASSERT_TRUE(map_rows(pool_of(1), call).ok());
  for (std::size_t i = 0; i < 5; ++i) EXPECT_NEAR(y[i], 30 * std::tanh(x[i] / 30.0), 30 * 0x1p-21);
}

TEST(TakenRows, AreThoseOfTheTableInEveryType) {
  const std::int64_t width = 37, table_rows = 9;
  const Floats table = random_floats(table_rows * width, 9), scales = random_floats(table_rows, 10);
  const std::vector<std::int32_t> numbers{8, 0, 3, 3};
  std::vector<std::uint16_t> halves;
  std::vector<Bfloat16> brains;
  std::vector<std::int8_t> bytes;
  for (const float value : table) {
    halves.push_back(float_to_half(value));
    brains.push_back(float_to_bfloat(value));
    bytes.push_back(static_cast<std::int8_t>(value * 100));
  }
  const auto check = [&](ConstArray array, const float* row_scales, auto value) {
    Floats y(numbers.size() * width);
    const TakenRows call{.rows = 4,
                         .width = width,
                         .numbers = numbers.data(),
                         .table = array,
                         .table_rows = table_rows,
                         .scales = row_scales,
                         .scale = 2,
                         .y = y.data()};
    ASSERT_TRUE(take_rows(pool_of(2), call).ok());
    for (std::size_t n = 0; n < numbers.size(); ++n)
      for (std::int64_t i = 0; i < width; ++i) ASSERT_EQ(y[n * width + i], value(numbers[n] * width + i, numbers[n]));
  };
  check({table.data()}, nullptr, [&](auto at, auto) { return 2 * table[at]; });
  check({halves.data(), Dtype::float16}, nullptr, [&](auto at, auto) { return 2 * half_to_float(halves[at]); });
  check({brains.data(), Dtype::bfloat16}, nullptr, [&](auto at, auto) { return 2 * bfloat_to_float(brains[at]); });
  check({bytes.data(), Dtype::int8}, scales.data(), [&](auto at, auto row) { return bytes[at] * (2 * scales[row]); });
}

TEST(TakenRows, ANumberBeyondTheTableIsRefusedBeforeAnythingIsWritten) {
  const Floats table(6);
  const std::vector<std::int32_t> numbers{1, 3};
  Floats y(4, 7.0f);
  const TakenRows call{
      .rows = 2, .width = 2, .numbers = numbers.data(), .table = {table.data()}, .table_rows = 3, .y = y.data()};
  const Status status = take_rows(pool_of(1), call);
  EXPECT_EQ(status.code, StatusCode::invalid_option);
  EXPECT_STREQ(status.message().text, "numbers[1] must be an integer from 0 to 2 (the last row of the table), got 3");
  EXPECT_EQ(y, Floats(4, 7.0f));
}

/// A softmax in double. A scaled score s is off by |s| epsilon, and its distance from the largest by that of both and
/// of the difference. The exponential errs by 1.3 ulp, which is at most 1.3 epsilon; a sum of n weights in 16 or more
/// lanes rounds at most n / 16 + 8 times, and the quotient once. What is below 2^-114 may be 0.
void expect_softmax(const float* x, std::int64_t width, float scale, const float* y) {
  double largest = -kInfinity, sum = 0, magnitude = 0;
  for (std::int64_t i = 0; i < width; ++i) largest = std::max(largest, static_cast<double>(scale) * x[i]);
  for (std::int64_t i = 0; i < width; ++i) {
    const double score = static_cast<double>(scale) * x[i];
    sum += std::exp(score - largest);
    if (std::isfinite(score)) magnitude = std::max(magnitude, std::abs(score));
  }
  const double error = (4 * magnitude + 2 * 1.3 + static_cast<double>(width) / 16 + 8 + 1) * kEpsilon;
  for (std::int64_t i = 0; i < width; ++i) {
    const double expected = std::exp(static_cast<double>(scale) * x[i] - largest) / sum;
    ASSERT_LE(std::abs(y[i] - expected), expected * 2 * error + 0x1p-114) << width << " " << i;
  }
}

TEST(SoftmaxRows, AgreeWithDoubleForEveryWidthAndScaleOnAnyThreads) {
  for (const std::int64_t width : kWidths)
    for (const float scale : {1.0f, 0.25f, 8.0f, -2.0f}) {
      const std::int64_t rows = 3, stride = width + 2;
      Floats x = random_floats(rows * stride, 11);
      if (width > 2) x[1] = -kInfinity * (scale < 0 ? -1.0f : 1.0f);  // has no weight
      Floats y(static_cast<std::size_t>(rows * width)), again(y.size());
      SoftmaxRows call{.rows = rows, .width = width, .x = {x.data(), stride}, .scale = scale, .y = y.data()};
      ASSERT_TRUE(softmax_rows(pool_of(1), call).ok());
      for (std::int64_t r = 0; r < rows; ++r) expect_softmax(&x[r * stride], width, scale, &y[r * width]);
      call.y = again.data();
      ASSERT_TRUE(softmax_rows(pool_of(3), call).ok());
      ASSERT_EQ(again, y);
    }
}

TEST(SoftmaxRows, OfMinusInfinityAreZeroAndOfNanOrInfinityNanAndOthersKeepTheirBits) {
  const std::int64_t width = 21;
  Floats x = random_floats(4 * width, 12);
  Floats before(x.size());
  SoftmaxRows call{.rows = 4, .width = width, .x = {x.data(), width}, .y = before.data()};
  ASSERT_TRUE(softmax_rows(pool_of(1), call).ok());
  std::fill_n(x.begin(), width, -kInfinity);
  x[width + 20] = kNan;
  x[2 * width + 3] = kInfinity;
  Floats y(x.size());
  call.y = y.data();
  ASSERT_TRUE(softmax_rows(pool_of(2), call).ok());
  for (std::int64_t i = 0; i < width; ++i) {
    EXPECT_EQ(y[i], 0.0f);
    EXPECT_TRUE(std::isnan(y[width + i]));
    EXPECT_TRUE(std::isnan(y[2 * width + i]));
    EXPECT_EQ(y[3 * width + i], before[3 * width + i]);
  }
}

TEST(SoftmaxRows, OfTheLargestNumbersAreFiniteAndMayBeWrittenOverX) {
  constexpr float most = std::numeric_limits<float>::max();
  Floats x{most, -most, most, 0.0f, -0.0f};
  ASSERT_TRUE(softmax_rows(pool_of(1), {.rows = 1, .width = 5, .x = {x.data(), 5}, .y = x.data()}).ok());
  EXPECT_EQ(x, (Floats{0.5f, 0.0f, 0.5f, 0.0f, 0.0f}));
}

/// The columns of a row, sorted: NaN, then from the largest number to the smallest; equal ones in their order.
std::vector<std::int32_t> sorted_columns(const float* x, std::int64_t width) {
  std::vector<std::int32_t> columns(static_cast<std::size_t>(width));
  for (std::size_t i = 0; i < columns.size(); ++i) columns[i] = static_cast<std::int32_t>(i);
  std::stable_sort(columns.begin(), columns.end(),
                   [x](std::int32_t a, std::int32_t b) { return std::isnan(x[a]) ? !std::isnan(x[b]) : x[a] > x[b]; });
  return columns;
}

TEST(TopRows, AreTheFirstOfAStableSortForEveryWidthAndKOnAnyThreads) {
  for (const std::int64_t width : kWidths)
    for (const std::int64_t k : {std::int64_t{1}, std::int64_t{2}, width / 2, width}) {
      if (k < 1 || k > width) continue;
      const std::int64_t rows = 3, stride = width + 3;
      Floats x = random_floats(rows * stride, 13);
      for (std::size_t i = 0; i < x.size(); i += 3) x[i] = std::round(4 * x[i]);  // many equal ones, 0 and -0
      for (std::size_t i = 5; i < x.size(); i += 11) x[i] = i % 2 == 0 ? kNan : -kInfinity;
      for (const int threads : {1, 2, 4}) {
        Floats values(static_cast<std::size_t>(rows * k));
        std::vector<std::int32_t> indices(values.size());
        const TopRows call{rows, width, {x.data(), stride}, k, values.data(), indices.data()};
        ASSERT_TRUE(top_rows(pool_of(threads), call).ok());
        for (std::int64_t r = 0; r < rows; ++r) {
          const std::vector<std::int32_t> expected = sorted_columns(&x[r * stride], width);
          for (std::int64_t n = 0; n < k; ++n) {
            ASSERT_EQ(indices[r * k + n], expected[n]) << width << " " << k << " " << n;
            ASSERT_EQ(float_bits(values[r * k + n]), float_bits(x[r * stride + expected[n]]));
          }
        }
      }
    }
}

TEST(TopRows, OfARowOfMinusInfinityAreItsFirstColumns) {
  const Floats x(6, -kInfinity);
  Floats values(2);
  std::vector<std::int32_t> indices(2);
  ASSERT_TRUE(top_rows(pool_of(1), {1, 6, {x.data(), 6}, 2, values.data(), indices.data()}).ok());
  EXPECT_EQ(values, Floats(2, -kInfinity));
  EXPECT_EQ(indices, (std::vector<std::int32_t>{0, 1}));
}

TEST(TopRows, AreNoMoreThanTheColumns) {
  const Floats x(6);
  Floats values(7);
  std::vector<std::int32_t> indices(7);
  for (const std::int64_t k : {0, 7}) {
    const Status status = top_rows(pool_of(1), {1, 6, {x.data(), 6}, k, values.data(), indices.data()});
    EXPECT_EQ(status.code, StatusCode::invalid_option);
    EXPECT_EQ(status.message().text, "k must be 1..6 (the columns of a row), got " + std::to_string(k));
  }
}

}  // namespace headwise::test_row_operations
