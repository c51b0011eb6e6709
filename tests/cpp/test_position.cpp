#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <numbers>
#include <random>
#include <vector>

#include "base/numbers.h"
#include "headwise/position.h"
#include "headwise/thread_pool.h"
#include "position/rotary.h"

namespace headwise::test_position {

constexpr double kEpsilon = 0x1p-24;

std::vector<float> random_floats(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
  std::vector<float> values(count);
  for (float& value : values) value = uniform(random);
  return values;
}

std::vector<double> frequencies(const RotaryOptions& options, std::int64_t head_dim, double* amplitude = nullptr) {
  std::vector<double> theta(static_cast<std::size_t>((options.rotary_dim ? options.rotary_dim : head_dim) / 2));
  double factor = 0.0;
  const Status status = rotary_frequencies(options, head_dim, theta.data(), &factor);
  EXPECT_TRUE(status.ok()) << status.message().text;
  if (amplitude) *amplitude = factor;
  return theta;
}

StatusCode frequency_error(const RotaryOptions& options, std::int64_t head_dim) {
  double theta[64], amplitude;
  return rotary_frequencies(options, head_dim, theta, &amplitude).code;
}

/// One head's rotation as complex numbers in double.
std::vector<double> rotated(const float* x, std::int64_t head_dim, const std::vector<double>& theta, double amplitude,
                            double position, bool interleaved) {
  std::vector<double> y(x, x + head_dim);
  const std::size_t half = theta.size();
  for (std::size_t m = 0; m < half; ++m) {
    const std::size_t i = interleaved ? 2 * m : m, j = interleaved ? 2 * m + 1 : m + half;
    const auto turned = std::complex<double>(x[i], x[j]) * std::polar(amplitude, position * theta[m]);
    y[i] = turned.real(), y[j] = turned.imag();
  }
  return y;
}

struct Tables {
  std::vector<float> cosines, sines;
};

Tables tables(const RotaryOptions& options, std::int64_t head_dim, const std::vector<double>& positions) {
  const std::size_t half = static_cast<std::size_t>((options.rotary_dim ? options.rotary_dim : head_dim) / 2);
  Tables result{std::vector<float>(positions.size() * half), std::vector<float>(positions.size() * half)};
  const Status status = rotary_tables(options, head_dim, positions.data(), static_cast<std::int64_t>(positions.size()),
                                      result.cosines.data(), result.sines.data());
  EXPECT_TRUE(status.ok()) << status.message().text;
  return result;
}

std::vector<double> counting(std::int64_t count) {
  std::vector<double> positions(static_cast<std::size_t>(count));
  for (std::size_t s = 0; s < positions.size(); ++s) positions[s] = static_cast<double>(s);
  return positions;
}

// ---- rotary angles

TEST(RotaryFrequencies, FallGeometricallyFromOneToNearlyOneOverBase) {
  const auto theta = frequencies({}, 128);
  ASSERT_EQ(theta.size(), 64u);
  for (std::size_t m = 0; m < 64; ++m) EXPECT_NEAR(theta[m], std::exp(-std::log(1e4) * m / 64.0), 1e-15);
}

TEST(RotaryFrequencies, WithoutScalingTheFactorIsNotRead) {
  EXPECT_EQ(frequencies({.factor = 0.0}, 64), frequencies({}, 64));
}

TEST(RotaryFrequencies, LinearScalingDividesEveryAngle) {
  const auto plain = frequencies({}, 64);
  const auto scaled = frequencies({.scaling = RotaryScaling::linear, .factor = 4.0}, 64);
  for (std::size_t m = 0; m < plain.size(); ++m) EXPECT_DOUBLE_EQ(scaled[m], plain[m] / 4.0);
}

TEST(RotaryFrequencies, NtkKeepsTheFastestPairAndStretchesTheSlowestByTheFactor) {
  const auto plain = frequencies({}, 64);
  const auto scaled = frequencies({.scaling = RotaryScaling::ntk, .factor = 8.0}, 64);
  EXPECT_DOUBLE_EQ(scaled.front(), plain.front());
  EXPECT_NEAR(scaled.back(), plain.back() / 8.0, 1e-15);
  EXPECT_DOUBLE_EQ(frequencies({.scaling = RotaryScaling::ntk, .factor = 8.0}, 2)[0], 1.0);
}

TEST(RotaryFrequencies, DynamicNtkScalesOnlyBeyondTheOriginalLength) {
  RotaryOptions options{.scaling = RotaryScaling::dynamic_ntk, .factor = 2.0, .original_length = 2048.0};
  const auto plain = frequencies({}, 64);
  options.sequence_length = 1000.0;
  EXPECT_EQ(frequencies(options, 64), plain);
  options.sequence_length = 8192.0;  // stretch = 2 * 4 - 1
  const auto scaled = frequencies(options, 64);
  EXPECT_DOUBLE_EQ(scaled.front(), 1.0);
  EXPECT_NEAR(scaled.back(), plain.back() / 7.0, 1e-15);
}

TEST(RotaryFrequencies, YarnKeepsFastPairsAndInterpolatesSlowOnes) {
  // Llama-2 7B at factor 16: pair_turning(32) = 20.94…, pair_turning(1) = 45.02…, so the ramp runs from 20 to 46
  const RotaryOptions options{.scaling = RotaryScaling::yarn, .factor = 16.0, .original_length = 4096.0};
  double amplitude = 0.0;
  const auto plain = frequencies({}, 128), scaled = frequencies(options, 128, &amplitude);
  EXPECT_NEAR(amplitude, 0.1 * std::log(16.0) + 1.0, 1e-15);
  for (std::size_t m = 0; m < 64; ++m) {
    const double interpolated = m <= 20 ? 0.0 : m >= 46 ? 1.0 : (m - 20.0) / 26.0;
    EXPECT_NEAR(scaled[m] / plain[m], 1.0 - interpolated + interpolated / 16.0, 1e-12) << m;
  }
}

TEST(RotaryFrequencies, YarnRampMayBeginBetweenPairs) {
  RotaryOptions options{.base = 150000.0, .scaling = RotaryScaling::yarn, .factor = 32.0, .original_length = 4096.0};
  options.truncate = false;  // gpt-oss
  const auto plain = frequencies({.base = 150000.0}, 64), scaled = frequencies(options, 64);
  const auto turning = [](double n) {
    return 64.0 * std::log(4096.0 / (n * 2.0 * std::numbers::pi)) / (2.0 * std::log(150000.0));
  };
  const double low = turning(32.0), high = turning(1.0);
  for (std::size_t m = 0; m < 32; ++m) {
    const double interpolated = std::min(std::max((m - low) / (high - low), 0.0), 1.0);
    EXPECT_NEAR(scaled[m] / plain[m], 1.0 - interpolated + interpolated / 32.0, 1e-12) << m;
  }
}

TEST(RotaryFrequencies, YarnMagnitudeFollowsItsFactors) {
  RotaryOptions options{.scaling = RotaryScaling::yarn, .factor = 40.0, .original_length = 4096.0};
  double amplitude = 0.0;
  options.mscale = 0.707, options.mscale_all_dim = 0.707;  // DeepSeek-V2 sets both alike
  (void)frequencies(options, 64, &amplitude);
  EXPECT_DOUBLE_EQ(amplitude, 1.0);
  options.mscale = 1.0, options.mscale_all_dim = 0.5;
  (void)frequencies(options, 64, &amplitude);
  EXPECT_DOUBLE_EQ(amplitude, (0.1 * std::log(40.0) + 1.0) / (0.05 * std::log(40.0) + 1.0));
  options.attention_factor = 1.25;
  (void)frequencies(options, 64, &amplitude);
  EXPECT_DOUBLE_EQ(amplitude, 1.25);
  options = {.scaling = RotaryScaling::yarn, .factor = 0.5, .original_length = 4096.0};
  (void)frequencies(options, 64, &amplitude);
  EXPECT_DOUBLE_EQ(amplitude, 1.0);
}

TEST(RotaryFrequencies, Llama3DividesLongWavelengthsKeepsShortOnesAndBlendsBetween) {
  const RotaryOptions options{
      .base = 500000.0, .scaling = RotaryScaling::llama3, .factor = 8.0, .original_length = 8192.0};
  const auto plain = frequencies({.base = 500000.0}, 128), scaled = frequencies(options, 128);
  int kept = 0, divided = 0, blended = 0;
  for (std::size_t m = 0; m < 64; ++m) {
    const double wavelength = 2.0 * std::numbers::pi / plain[m];
    double expected = plain[m];
    if (wavelength > 8192.0 / 1.0) {
      expected = plain[m] / 8.0, ++divided;
    } else if (wavelength >= 8192.0 / 4.0) {
      const double smooth = (8192.0 / wavelength - 1.0) / (4.0 - 1.0);
      expected = (1.0 - smooth) * plain[m] / 8.0 + smooth * plain[m], ++blended;
    } else {
      ++kept;
    }
    EXPECT_NEAR(scaled[m], expected, 1e-15) << m;
  }
  EXPECT_EQ(kept, 29);
  EXPECT_EQ(blended, 6);
  EXPECT_EQ(divided, 29);
}

TEST(RotaryFrequencies, RefusesWhatBreaksARule) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(frequency_error({}, 3), StatusCode::invalid_option);
  EXPECT_EQ(frequency_error({.rotary_dim = 6}, 4), StatusCode::invalid_option);
  EXPECT_EQ(frequency_error({.rotary_dim = -2}, 4), StatusCode::invalid_option);
  EXPECT_EQ(frequency_error({.base = 0.0}, 4), StatusCode::invalid_option);
  EXPECT_EQ(frequency_error({.base = nan}, 4), StatusCode::invalid_option);
  EXPECT_EQ(frequency_error({.scaling = RotaryScaling::linear, .factor = 0.0}, 4), StatusCode::invalid_option);
  EXPECT_EQ(frequency_error({.scaling = static_cast<RotaryScaling>(6)}, 4), StatusCode::invalid_option);
  EXPECT_EQ(frequency_error({.scaling = static_cast<RotaryScaling>(-1)}, 4), StatusCode::invalid_option);
  EXPECT_EQ(frequency_error({.scaling = RotaryScaling::yarn, .factor = 2.0}, 4), StatusCode::invalid_option);
  EXPECT_EQ(frequency_error({.base = 1.0, .scaling = RotaryScaling::yarn, .factor = 2.0, .original_length = 8.0}, 4),
            StatusCode::invalid_option);
  EXPECT_EQ(frequency_error({.scaling = RotaryScaling::dynamic_ntk, .factor = 0.5, .original_length = 8.0}, 4),
            StatusCode::invalid_option);
  EXPECT_EQ(frequency_error({.scaling = RotaryScaling::llama3,
                             .factor = 2.0,
                             .original_length = 8.0,
                             .low_freq_factor = 4.0,
                             .high_freq_factor = 4.0},
                            4),
            StatusCode::invalid_option);
}

TEST(RotaryFrequencies, RefusesEveryFieldThatBreaksARuleOfAScalingThatIsOtherwiseGood) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto scaled = [](RotaryScaling scaling) {
    return RotaryOptions{.scaling = scaling, .factor = 2.0, .original_length = 8.0};
  };
  const struct {
    RotaryScaling scaling;
    double RotaryOptions::*field;
    double bad;
  } rules[] = {
      {RotaryScaling::dynamic_ntk, &RotaryOptions::sequence_length, -1.0},
      {RotaryScaling::dynamic_ntk, &RotaryOptions::sequence_length, nan},
      {RotaryScaling::yarn, &RotaryOptions::beta_slow, 0.0},
      {RotaryScaling::yarn, &RotaryOptions::beta_fast, 0.5},
      {RotaryScaling::yarn, &RotaryOptions::beta_fast, nan},
      {RotaryScaling::yarn, &RotaryOptions::attention_factor, -1.0},
      {RotaryScaling::yarn, &RotaryOptions::attention_factor, nan},
      {RotaryScaling::yarn, &RotaryOptions::mscale, -1.0},
      {RotaryScaling::yarn, &RotaryOptions::mscale, nan},
      {RotaryScaling::yarn, &RotaryOptions::mscale_all_dim, -1.0},
      {RotaryScaling::yarn, &RotaryOptions::mscale_all_dim, nan},
      {RotaryScaling::llama3, &RotaryOptions::low_freq_factor, 0.0},
      {RotaryScaling::llama3, &RotaryOptions::high_freq_factor, nan},
  };
  for (const auto& rule : rules) {
    RotaryOptions options = scaled(rule.scaling);
    EXPECT_EQ(frequency_error(options, 4), StatusCode::ok) << static_cast<int>(rule.scaling);
    options.*rule.field = rule.bad;
    EXPECT_EQ(frequency_error(options, 4), StatusCode::invalid_option) << &rule - rules;
  }
}

TEST(RotaryFrequencies, LongropeDividesEveryAngleByTheFactorOfItsLength) {
  const double short_factors[] = {1.0, 1.5}, long_factors[] = {2.0, 30.0};
  RotaryOptions options{.scaling = RotaryScaling::longrope,
                        .factor = 32.0,
                        .original_length = 4096.0,
                        .short_factors = short_factors,
                        .long_factors = long_factors};
  double amplitude = 0.0;
  for (const double length : {0.0, 4096.0, 4097.0}) {
    options.sequence_length = length;
    const auto theta = frequencies(options, 4, &amplitude);
    const double* factors = length > 4096.0 ? long_factors : short_factors;
    EXPECT_DOUBLE_EQ(theta[0], 1.0 / factors[0]);
    EXPECT_DOUBLE_EQ(theta[1], 0.01 / factors[1]);
    EXPECT_DOUBLE_EQ(amplitude, std::sqrt(1.0 + std::log(32.0) / std::log(4096.0)));
  }
  options.factor = 1.0;
  (void)frequencies(options, 4, &amplitude);
  EXPECT_EQ(amplitude, 1.0);
  options.attention_factor = 1.25;
  (void)frequencies(options, 4, &amplitude);
  EXPECT_EQ(amplitude, 1.25);
  options.long_factors = nullptr;
  EXPECT_EQ(frequency_error(options, 4), StatusCode::invalid_option);
}

TEST(RotaryFrequencies, GivenOnesAreUsedAsTheyAre) {
  const double given[] = {0.3, -1e-9};
  RotaryOptions options{.scaling = RotaryScaling::frequencies, .attention_factor = 1.5, .frequencies = given};
  double amplitude = 0.0;
  const auto theta = frequencies(options, 4, &amplitude);
  EXPECT_EQ(theta[0], 0.3);
  EXPECT_EQ(theta[1], -1e-9);
  EXPECT_EQ(amplitude, 1.5);
  options.frequencies = nullptr;
  EXPECT_EQ(frequency_error(options, 4), StatusCode::invalid_option);
}

TEST(RotaryTables, GivenOnesAreCopiedAndHaveNoOtherPositions) {
  const float cosines[] = {1.0f, 0.5f, 0.25f, -1.0f}, sines[] = {0.0f, 0.75f, 0.5f, 0.125f};
  const RotaryOptions options{.scaling = RotaryScaling::tables, .cosines = cosines, .sines = sines, .table_rows = 2};
  const Tables copied = tables(options, 4, {1.0, 0.0});
  EXPECT_EQ(copied.cosines, (std::vector<float>{0.25f, -1.0f, 1.0f, 0.5f}));
  EXPECT_EQ(copied.sines, (std::vector<float>{0.5f, 0.125f, 0.0f, 0.75f}));
  float row[2];
  for (const double position : {-1.0, 2.0, 0.5})
    EXPECT_EQ(rotary_tables(options, 4, &position, 1, row, row).code, StatusCode::invalid_option);
  EXPECT_EQ(frequency_error(options, 4), StatusCode::unsupported);
}

TEST(RotaryTables, AnglesFarOutAreAsExactAsNearOnes) {
  const auto theta = frequencies({}, 64);
  const auto far = tables({}, 64, {1e6});
  for (std::size_t m = 0; m < 32; ++m) {
    EXPECT_NEAR(far.cosines[m], std::cos(1e6 * theta[m]), kEpsilon);
    EXPECT_NEAR(far.sines[m], std::sin(1e6 * theta[m]), kEpsilon);
  }
}

TEST(RotaryTables, RefuseAPositionThatIsNoNumber) {
  const double position = std::numeric_limits<double>::infinity();
  float cosines[2], sines[2];
  EXPECT_EQ(rotary_tables({}, 4, &position, 1, cosines, sines).code, StatusCode::invalid_option);
}

// ---- rotary embedding

struct RotaryCase {
  Layout layout;
  std::int64_t batch_size, num_heads, length, head_dim, rotary_dim;
  bool interleaved;
};

std::size_t index(const RotaryCase& c, std::int64_t b, std::int64_t h, std::int64_t s, std::int64_t d) {
  std::int64_t at = 0;
  switch (c.layout) {
    case Layout::bhsd:
      at = ((b * c.num_heads + h) * c.length + s) * c.head_dim + d;
      break;
    case Layout::bes:
      at = ((b * c.num_heads + h) * c.head_dim + d) * c.length + s;
      break;
    default:
      at = ((b * c.length + s) * c.num_heads + h) * c.head_dim + d;
  }
  return static_cast<std::size_t>(at);
}

class RotaryEmbedding : public testing::TestWithParam<RotaryCase> {};

TEST_P(RotaryEmbedding, TurnsEveryPairOfEveryHeadAndKeepsTheRest) {
  const RotaryCase c = GetParam();
  const RotaryOptions options{.rotary_dim = c.rotary_dim, .interleaved = c.interleaved};
  const auto x = random_floats(static_cast<std::size_t>(c.batch_size * c.num_heads * c.length * c.head_dim), 1);
  const auto positions = counting(c.length);
  const auto table = tables(options, c.head_dim, positions);
  const auto theta = frequencies(options, c.head_dim);

  std::vector<std::vector<float>> results;
  for (int threads : {1, 3}) {
    ThreadPool pool(threads);
    std::vector<float> y(x.size(), 9.0f);
    const Status status =
        rotary_embedding(pool, c.layout, c.batch_size, c.num_heads, c.length, c.head_dim, c.rotary_dim, c.interleaved,
                         {x.data(), Dtype::float32}, table.cosines.data(), table.sines.data(), c.length, nullptr,
                         {y.data(), Dtype::float32});
    ASSERT_TRUE(status.ok()) << status.message().text;
    results.push_back(y);
  }
  EXPECT_EQ(results[0], results[1]);

  std::vector<float> head(static_cast<std::size_t>(c.head_dim));
  for (std::int64_t b = 0; b < c.batch_size; ++b)
    for (std::int64_t h = 0; h < c.num_heads; ++h)
      for (std::int64_t s = 0; s < c.length; ++s) {
        for (std::int64_t d = 0; d < c.head_dim; ++d) head[static_cast<std::size_t>(d)] = x[index(c, b, h, s, d)];
        const auto expected = rotated(head.data(), c.head_dim, theta, 1.0, static_cast<double>(s), c.interleaved);
        // two products and a sum of |x| <= 1 by rounded cosines: three roundings of at most sqrt(2)
        for (std::int64_t d = 0; d < c.head_dim; ++d)
          ASSERT_NEAR(results[0][index(c, b, h, s, d)], expected[static_cast<std::size_t>(d)], 6.0 * kEpsilon);
      }
}

INSTANTIATE_TEST_SUITE_P(
    Layouts, RotaryEmbedding,
    testing::Values(RotaryCase{Layout::bhsd, 2, 3, 37, 8, 8, false}, RotaryCase{Layout::bhsd, 1, 2, 5, 10, 4, true},
                    RotaryCase{Layout::bshd, 2, 3, 33, 6, 6, true}, RotaryCase{Layout::bse, 2, 2, 65, 12, 6, false},
                    RotaryCase{Layout::bes, 2, 3, 35, 8, 8, false}, RotaryCase{Layout::bes, 1, 1, 3, 5, 2, true},
                    RotaryCase{Layout::bhsd, 1, 1, 0, 4, 4, false}));

TEST(RotaryEmbeddingRows, NameTheTableRowOfEveryToken) {
  ThreadPool pool(1);
  const auto x = random_floats(2 * 2 * 4, 2);  // [B=2, H=1, S=2, D=4]
  const auto table = tables({}, 4, {5.0, 7.0, 11.0});
  const std::int32_t rows[] = {2, 0, 1, 1};
  std::vector<float> y = x;  // in place
  ASSERT_TRUE(rotary_embedding(pool, Layout::bhsd, 2, 1, 2, 4, 4, false, {y.data(), Dtype::float32},
                               table.cosines.data(), table.sines.data(), 3, rows, {y.data(), Dtype::float32})
                  .ok());
  const double positions[] = {11.0, 5.0, 7.0, 7.0};
  for (int token = 0; token < 4; ++token) {
    const auto expected = rotated(x.data() + 4 * token, 4, frequencies({}, 4), 1.0, positions[token], false);
    for (int d = 0; d < 4; ++d) EXPECT_NEAR(y[4 * token + d], expected[d], 6.0 * kEpsilon);
  }
}

TEST(RotaryEmbeddingDtype, Float16IsWidenedTurnedAndRoundedOnce) {
  ThreadPool pool(1);
  const auto x = random_floats(3 * 8, 3);
  std::vector<std::uint16_t> half(x.size()), turned_half(x.size());
  std::vector<float> widened(x.size()), turned(x.size());
  floats_to_halves(x.data(), static_cast<std::int64_t>(x.size()), half.data());
  halves_to_floats(half.data(), static_cast<std::int64_t>(x.size()), widened.data());
  const auto table = tables({}, 8, counting(3));
  const auto call = [&](ConstArray from, MutableArray to) {
    return rotary_embedding(pool, Layout::bhsd, 1, 1, 3, 8, 8, true, from, table.cosines.data(), table.sines.data(), 3,
                            nullptr, to);
  };
  ASSERT_TRUE(call({half.data(), Dtype::float16}, {turned_half.data(), Dtype::float16}).ok());
  ASSERT_TRUE(call({widened.data(), Dtype::float32}, {turned.data(), Dtype::float32}).ok());
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ(turned_half[i], float_to_half(turned[i]));
}

TEST(RotaryEmbeddingErrors, ComeBeforeAnyWork) {
  ThreadPool pool(1);
  std::vector<float> x(16, 1.0f), y(16, 9.0f);
  const auto table = tables({}, 4, counting(4));
  const auto call = [&](std::int64_t length, std::int64_t rotary_dim, std::int64_t table_rows, const std::int32_t* rows,
                        Dtype dtype = Dtype::float32) {
    return rotary_embedding(pool, Layout::bhsd, 1, 1, length, 4, rotary_dim, false, {x.data(), dtype},
                            table.cosines.data(), table.sines.data(), table_rows, rows, {y.data(), Dtype::float32})
        .code;
  };
  const std::int32_t beyond[] = {0, 1, 2, 4}, negative[] = {0, -1, 2, 3};
  EXPECT_EQ(call(4, 3, 4, nullptr), StatusCode::invalid_option);
  EXPECT_EQ(call(4, 4, 3, nullptr), StatusCode::invalid_shape);
  EXPECT_EQ(call(4, 4, 4, beyond), StatusCode::invalid_option);
  EXPECT_EQ(call(4, 4, 4, negative), StatusCode::invalid_option);
  EXPECT_EQ(call(-1, 4, 4, nullptr), StatusCode::invalid_shape);
  EXPECT_EQ(call(std::int64_t{1} << 62, 4, std::int64_t{1} << 62, nullptr), StatusCode::invalid_shape);
  for (const Dtype dtype : {Dtype::int8, Dtype::bfloat16})
    EXPECT_EQ(call(4, 4, 4, nullptr, dtype), StatusCode::unsupported);
  EXPECT_EQ(y, std::vector<float>(16, 9.0f));
}

// ---- sinusoidal positions

TEST(SinusoidalPositions, InterleaveSineAndCosineOverWidth) {
  for (std::int64_t width : {1, 6, 7}) {
    std::vector<float> table(static_cast<std::size_t>(5 * width));
    ASSERT_TRUE(sinusoidal_positions(5, width, SinusoidalSplit::interleaved, 10000.0, table.data()).ok());
    for (std::int64_t s = 0; s < 5; ++s)
      for (std::int64_t d = 0; d < width; ++d) {
        const double angle = s / std::pow(10000.0, 2.0 * static_cast<double>(d / 2) / static_cast<double>(width));
        EXPECT_NEAR(table[static_cast<std::size_t>(s * width + d)], d % 2 ? std::cos(angle) : std::sin(angle),
                    kEpsilon);
      }
  }
}

TEST(SinusoidalPositions, HalvesRunFromOneToOneOverBaseAndPadOddWidths) {
  for (std::int64_t width : {2, 3, 8, 9}) {
    std::vector<float> table(static_cast<std::size_t>(5 * width), 9.0f);
    ASSERT_TRUE(sinusoidal_positions(5, width, SinusoidalSplit::halves, 10000.0, table.data()).ok());
    const std::int64_t half = width / 2;
    for (std::int64_t s = 0; s < 5; ++s) {
      const float* row = table.data() + s * width;
      for (std::int64_t m = 0; m < half; ++m) {
        const double angle = s * std::exp(-std::log(1e4) * m / std::max<double>(half - 1.0, 1.0));
        EXPECT_NEAR(row[m], std::sin(angle), kEpsilon);
        EXPECT_NEAR(row[half + m], std::cos(angle), kEpsilon);
      }
      if (width % 2) {
        EXPECT_EQ(row[width - 1], 0.0f);
      }
    }
  }
}

TEST(SinusoidalPositions, RefuseBadSizesAndBases) {
  float table[4];
  EXPECT_EQ(sinusoidal_positions(-1, 4, SinusoidalSplit::halves, 1e4, table).code, StatusCode::invalid_shape);
  EXPECT_EQ(sinusoidal_positions(1, 0, SinusoidalSplit::halves, 1e4, table).code, StatusCode::invalid_shape);
  EXPECT_EQ(
      sinusoidal_positions(std::int64_t{1} << 40, std::int64_t{1} << 40, SinusoidalSplit::halves, 1e4, table).code,
      StatusCode::invalid_shape);
  EXPECT_EQ(sinusoidal_positions(1, 4, SinusoidalSplit::halves, 0.0, table).code, StatusCode::invalid_option);
}

// ---- ALiBi

TEST(AlibiSlopes, ArePowersOfTwoAndFillUpFromTheNextPower) {
  float eight[8], twelve[12], one[1];
  ASSERT_TRUE(alibi_slopes(8, eight).ok());
  for (int h = 0; h < 8; ++h) EXPECT_EQ(eight[h], std::ldexp(1.0f, -h - 1));
  ASSERT_TRUE(alibi_slopes(12, twelve).ok());
  for (int h = 0; h < 8; ++h) EXPECT_EQ(twelve[h], eight[h]);
  for (int h = 8; h < 12; ++h) EXPECT_NEAR(twelve[h], std::exp2(-0.5 - (h - 8)), kEpsilon);
  ASSERT_TRUE(alibi_slopes(1, one).ok());
  EXPECT_EQ(one[0], std::ldexp(1.0f, -8));
  EXPECT_TRUE(alibi_slopes(0, nullptr).ok());
}

// ---- T5

/// The bucket of every distance is readable when the table's entry is its bucket number.
std::vector<float> bucket_numbers(std::int64_t buckets, bool bidirectional, std::int64_t query_length,
                                  std::int64_t key_length, std::int64_t offset) {
  std::vector<float> table(static_cast<std::size_t>(buckets));
  for (std::size_t n = 0; n < table.size(); ++n) table[n] = static_cast<float>(n);
  std::vector<float> bias(static_cast<std::size_t>(query_length * key_length));
  const Status status = relative_position_bias(table.data(), buckets, 128, bidirectional, 1, query_length, key_length,
                                               offset, bias.data());
  EXPECT_TRUE(status.ok()) << status.message().text;
  return bias;
}

/// Published buckets: exact below `borders[0]`, then one more at each border.
int logarithmic_bucket(std::int64_t magnitude, const std::vector<int>& borders) {
  int bucket = borders[0] - 1;
  if (magnitude < borders[0]) return static_cast<int>(magnitude);
  for (int border : borders) bucket += magnitude >= border;
  return bucket;
}

TEST(RelativePositionBias, BidirectionalBucketsMatchT5) {
  const std::vector<int> borders = {8, 12, 16, 23, 32, 46, 64, 91};  // ceil(8 * 2^(n / 2))
  const auto bias = bucket_numbers(32, true, 300, 300, 0);
  for (std::int64_t i = 0; i < 300; ++i)
    for (std::int64_t j = 0; j < 300; ++j) {
      const int expected = logarithmic_bucket(std::abs(j - i), borders) + (j > i ? 16 : 0);
      ASSERT_EQ(bias[static_cast<std::size_t>(i * 300 + j)], expected) << i << " " << j;
    }
}

TEST(RelativePositionBias, CausalBucketsMatchT5AndFollowTheOffset) {
  std::vector<int> borders;
  for (int n = 0; n < 16; ++n) borders.push_back(static_cast<int>(std::ceil(16.0 * std::exp2(3.0 * n / 16.0))));
  const auto bias = bucket_numbers(32, false, 40, 300, 260);
  for (std::int64_t i = 0; i < 40; ++i)
    for (std::int64_t j = 0; j < 300; ++j)
      ASSERT_EQ(bias[static_cast<std::size_t>(i * 300 + j)],
                logarithmic_bucket(std::max<std::int64_t>(i + 260 - j, 0), borders));
}

TEST(RelativePositionBias, TakesOffsetsUpToTheLimitsOfTheirType) {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min(),
                         kMost = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t near : {0, 1, 3}) {
    EXPECT_EQ(bucket_numbers(32, true, 3, 4, kLeast + near), std::vector<float>(12, 31));  // far after the query
    EXPECT_EQ(bucket_numbers(32, true, 3, 4, kMost - near), std::vector<float>(12, 15));   // far before it
    EXPECT_EQ(bucket_numbers(32, false, 3, 4, kLeast + near), std::vector<float>(12, 0));
    EXPECT_EQ(bucket_numbers(32, false, 3, 4, kMost - near), std::vector<float>(12, 31));
  }
}

TEST(RelativePositionBias, ReadsAColumnOfTheTablePerHead) {
  const auto table = random_floats(8 * 3, 5);
  std::vector<float> bias(3 * 2 * 4);
  ASSERT_TRUE(relative_position_bias(table.data(), 8, 20, true, 3, 2, 4, 1, bias.data()).ok());
  const int bucket_of_distance[] = {2, 1, 0, 5, 6};  // -2 … 2, with 4 a direction, 2 of them exact
  for (int h = 0; h < 3; ++h)
    for (int i = 0; i < 2; ++i)
      for (int j = 0; j < 4; ++j) {
        const int distance = j - i - 1;
        EXPECT_EQ(bias[(h * 2 + i) * 4 + j], table[bucket_of_distance[distance + 2] * 3 + h]);
      }
}

TEST(RelativePositionBias, RefusesTablesAndDistancesThatMakeNoBuckets) {
  float table[8] = {}, bias[4];
  const auto code = [&](std::int64_t buckets, std::int64_t distance, bool bidirectional, std::int64_t queries) {
    return relative_position_bias(table, buckets, distance, bidirectional, 1, queries, 1, 0, bias).code;
  };
  EXPECT_EQ(code(2, 128, true, 1), StatusCode::invalid_shape);
  EXPECT_EQ(code(5, 128, true, 1), StatusCode::invalid_shape);
  EXPECT_EQ(code(1, 128, false, 1), StatusCode::invalid_shape);
  EXPECT_EQ(code(8, 2, true, 1), StatusCode::invalid_option);
  EXPECT_EQ(code(8, 128, true, -1), StatusCode::invalid_shape);
  EXPECT_EQ(code(8, 3, true, 1), StatusCode::ok);
}

TEST(RotaryAngles, AreTheSameOnlyIfNoFrequencyDiffers) {
  const RotaryOptions usual;
  EXPECT_TRUE(same_angles(usual, {}, 64));
  EXPECT_TRUE(same_angles(usual, {.rotary_dim = 64}, 64));
  EXPECT_FALSE(same_angles(usual, {.rotary_dim = 32}, 64));
  EXPECT_FALSE(same_angles(usual, {.base = 10000.0000000001}, 64)) << "they differ in bits that no cosine shows";
  EXPECT_FALSE(same_angles(usual, {.interleaved = true}, 64));
  EXPECT_FALSE(same_angles(usual, {.temporal_section = 8, .height_section = 12, .width_section = 12}, 64));
  const double theta[] = {1.0, 0.01};
  const RotaryOptions given = {.scaling = RotaryScaling::frequencies, .frequencies = theta};
  EXPECT_TRUE(same_angles(given, {}, 4)) << "theta of base 10000";
  EXPECT_FALSE(
      same_angles(given, {.scaling = RotaryScaling::frequencies, .attention_factor = 1.5, .frequencies = theta}, 4));
  const float table[] = {1.0f, 1.0f};
  const RotaryOptions rows = {.scaling = RotaryScaling::tables, .cosines = table, .sines = table, .table_rows = 1};
  EXPECT_FALSE(same_angles(rows, rows, 4)) << "tables are not compared";
}

}  // namespace headwise::test_position
