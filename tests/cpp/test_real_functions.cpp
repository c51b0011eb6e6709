#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include "base/real_functions.h"

// The functions of double that WebAssembly has, against those of long double, which have 11 bits more.

namespace headwise {
namespace {

constexpr double kEndless = std::numeric_limits<double>::infinity();
constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

/// The distance in units in the last place of the result as a double.
double ulps(double actual, long double expected) {
  const double rounded = std::abs(static_cast<double>(expected));
  const double unit = std::nextafter(rounded, kEndless) - rounded;
  return static_cast<double>(std::abs(static_cast<long double>(actual) - expected) / unit);
}

class RealFunctions : public ::testing::Test {
 protected:
  double uniform(double low, double high) { return std::uniform_real_distribution<double>(low, high)(random_); }
  /// Of either sign, with an exponent of 2 between these.
  double magnitude(int low, int high) {
    const double x = std::ldexp(uniform(1.0, 2.0), std::uniform_int_distribution<int>(low, high)(random_));
    return random_() % 2 ? x : -x;
  }
  std::mt19937_64 random_{7};
};

TEST_F(RealFunctions, ExponentialErrsByLessThanOneUlp) {
  for (int n = 0; n < 300000; ++n) {
    const double x = n % 2 ? uniform(-708.0, 709.0) : magnitude(-60, 2);
    EXPECT_LT(ulps(real::exp(x), std::exp(static_cast<long double>(x))), 1.0) << x;
  }
}

TEST_F(RealFunctions, PowersOfTwoErrByLessThanOneUlpAndWholeOnesNotAtAll) {
  for (int n = 0; n < 200000; ++n) {
    const double x = n % 2 ? uniform(-1021.0, 1023.0) : magnitude(-60, 2);
    EXPECT_LT(ulps(real::exp2(x), std::exp2(static_cast<long double>(x))), 1.0) << x;
  }
  for (int n = -1074; n < 1024; ++n) EXPECT_EQ(real::exp2(n), std::ldexp(1.0, n)) << n;
}

TEST_F(RealFunctions, LogarithmErrsByLessThanOneUlp) {
  for (int n = 0; n < 300000; ++n) {
    const double x = n % 2 ? std::abs(magnitude(-1070, 1023)) : uniform(0.5, 2.0);
    EXPECT_LT(ulps(real::log(x), std::log(static_cast<long double>(x))), 1.0) << x;
  }
  EXPECT_EQ(real::log(1.0), 0.0);
}

TEST_F(RealFunctions, PowerErrsByLessThanOneUlpAndByLessThanTwoFarFromOne) {
  for (int n = 0; n < 300000; ++n) {
    const double x = std::abs(magnitude(-30, 30));
    const double y = uniform(-30.0, 30.0);
    const double power = real::pow(x, y);
    if (power < 0x1p-1022 || power == kEndless) continue;
    const double most = std::abs(y * std::log(x)) < 100.0 ? 1.0 : 2.0;
    EXPECT_LT(ulps(power, std::pow(static_cast<long double>(x), static_cast<long double>(y))), most) << x << " " << y;
  }
  // The frequencies of rotary embedding.
  for (const double base : {10000.0, 500000.0, 1e6, 100.0})
    for (int m = 0; m < 128; ++m) {
      const double y = -2.0 * m / 256;
      EXPECT_LT(ulps(real::pow(base, y), std::pow(static_cast<long double>(base), static_cast<long double>(y))), 1.0);
    }
  EXPECT_EQ(real::pow(3.0, 4.0), 81.0);
  EXPECT_EQ(real::pow(-2.0, 3.0), -8.0);
  EXPECT_EQ(real::pow(-2.0, 4.0), 16.0);
}

TEST_F(RealFunctions, SineAndCosineErrByLessThanOneUlpForAnglesOfAnySize) {
  // The x87 reduces angles up to 2^63 by 66 bits of pi; the library does it exactly.
  for (int n = 0; n < 400000; ++n) {
    const double x = n % 3 == 0 ? magnitude(-40, 1) : n % 3 == 1 ? magnitude(1, 31) : magnitude(31, 1023);
    EXPECT_LT(ulps(real::sin(x), std::sin(static_cast<long double>(x))), 1.0) << x;
    EXPECT_LT(ulps(real::cos(x), std::cos(static_cast<long double>(x))), 1.0) << x;
  }
}

TEST_F(RealFunctions, SineAndCosineNextToWholeQuartersKeepTheirDigits) {
  for (int n = 1; n < 200000; ++n) {
    const double x = static_cast<double>(n * (std::numbers::pi_v<long double> / 2));
    EXPECT_LT(ulps(real::sin(x), std::sin(static_cast<long double>(x))), 1.0) << x;
    EXPECT_LT(ulps(real::cos(-x), std::cos(static_cast<long double>(x))), 1.0) << x;
  }
  // The double that is nearest to a multiple of pi / 2: 6381956970095103 2^797.
  const double nearest = std::ldexp(6381956970095103.0, 797);
  EXPECT_LT(ulps(real::cos(nearest), std::cos(static_cast<long double>(nearest))), 1.0);
}

TEST_F(RealFunctions, LimitsAreThoseOfTheStandard) {
  const double given[] = {0.0,    -0.0,   1.0,      -1.0,      2.0,       0.5,   -3.0,  1e300,
                          -1e300, 5e-324, kEndless, -kEndless, kNoNumber, 709.8, -745.2};
  const auto same = [](double a, double b) { return a == b || (a != a && b != b); };
  for (const double x : given) {
    EXPECT_TRUE(same(real::exp(x), std::exp(x)) || ulps(real::exp(x), std::exp(x)) < 1.5) << x;
    EXPECT_TRUE(same(real::exp2(x), std::exp2(x)) || ulps(real::exp2(x), std::exp2(x)) < 1.5) << x;
    EXPECT_TRUE(same(real::log(x), std::log(x)) || ulps(real::log(x), std::log(x)) < 1.5) << x;
    EXPECT_TRUE(same(real::sin(x), std::sin(x)) || ulps(real::sin(x), std::sin(x)) < 1.5) << x;
    EXPECT_TRUE(same(real::cos(x), std::cos(x)) || ulps(real::cos(x), std::cos(x)) < 1.5) << x;
    for (const double y : given)
      EXPECT_TRUE(same(real::pow(x, y), std::pow(x, y)) || ulps(real::pow(x, y), std::pow(x, y)) < 1.5)
          << x << " " << y;
  }
}

}  // namespace
}  // namespace headwise
