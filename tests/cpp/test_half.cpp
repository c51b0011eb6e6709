#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/numbers.h"

namespace headwise::test_half {

// The definition, written with doubles: (-1)^s 2^(e-15) (1 + m/1024), subnormal 2^-14 m/1024.
double value_of(std::uint16_t half) {
  const int exponent = (half >> 10) & 31;
  const int mantissa = half & 1023;
  const double magnitude = exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
  return (half & 0x8000) != 0 ? -magnitude : magnitude;
}

bool is_finite(std::uint16_t half) { return (half & 0x7c00) != 0x7c00; }

TEST(Half, EveryFiniteHalfWidensExactly) {
  for (std::uint32_t h = 0; h < 0x10000; ++h) {
    const auto half = static_cast<std::uint16_t>(h);
    if (!is_finite(half)) continue;
    ASSERT_EQ(half_to_float(half), value_of(half)) << std::hex << h;
    ASSERT_EQ(std::signbit(half_to_float(half)), h >= 0x8000) << std::hex << h;
  }
}

TEST(Half, EveryHalfSurvivesTheRoundTrip) {
  for (std::uint32_t h = 0; h < 0x10000; ++h) {
    const auto half = static_cast<std::uint16_t>(h);
    const bool nan = (h & 0x7fff) > 0x7c00;
    ASSERT_EQ(float_to_half(half_to_float(half)), nan ? half | 0x0200 : half) << std::hex << h;
  }
}

TEST(Half, InfinitiesAndNaNsStayWhatTheyAre) {
  EXPECT_EQ(half_to_float(0x7c00), std::numeric_limits<float>::infinity());
  EXPECT_EQ(half_to_float(0xfc00), -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(half_to_float(0x7c01)));
  EXPECT_TRUE(std::isnan(half_to_float(0xffff)));
  // A NaN whose payload lies only in the bits that are cut off must not turn into an infinity.
  EXPECT_EQ(float_to_half(std::bit_cast<float>(0x7f800001u)), 0x7e00);
  EXPECT_EQ(float_to_half(std::bit_cast<float>(0xff800001u)), 0xfe00);
}

// Between any two neighbouring halves: the middle goes to the even one, a float on either side to the nearer one.
TEST(Half, RoundsToNearestTiesToEven) {
  for (std::uint16_t low = 0; low < 0x7bff; ++low) {
    const auto high = static_cast<std::uint16_t>(low + 1);
    const auto middle = static_cast<float>((value_of(low) + value_of(high)) / 2);
    ASSERT_EQ(float_to_half(middle), (low & 1) == 0 ? low : high) << std::hex << low;
    ASSERT_EQ(float_to_half(std::nextafter(middle, 0.0f)), low) << std::hex << low;
    ASSERT_EQ(float_to_half(std::nextafter(middle, 1e6f)), high) << std::hex << low;
    ASSERT_EQ(float_to_half(-middle), ((low & 1) == 0 ? low : high) | 0x8000) << std::hex << low;
  }
}

TEST(Half, OverflowsToInfinityFromHalfAStepBeyondTheLargest) {
  EXPECT_EQ(float_to_half(std::nextafter(65520.0f, 0.0f)), 0x7bff);
  EXPECT_EQ(float_to_half(65520.0f), 0x7c00);
  EXPECT_EQ(float_to_half(-65520.0f), 0xfc00);
  EXPECT_EQ(float_to_half(std::numeric_limits<float>::max()), 0x7c00);
  EXPECT_EQ(float_to_half(std::numeric_limits<float>::infinity()), 0x7c00);
}

TEST(Half, LoopsGiveTheSameBitsAsTheScalarFunctionsAtEveryLength) {
  std::vector<std::uint16_t> halves(77);
  for (std::size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<std::uint16_t>(i * 857 + 3);
  for (std::int64_t count = 0; count <= 77; ++count) {
    std::vector<float> floats(78, -1.0f);
    std::vector<std::uint16_t> back(78, 0xabcd);
    halves_to_floats(halves.data(), count, floats.data());
    floats_to_halves(floats.data(), count, back.data());
    for (std::int64_t i = 0; i < count; ++i) {
      ASSERT_EQ(std::bit_cast<std::uint32_t>(floats[i]), std::bit_cast<std::uint32_t>(half_to_float(halves[i])));
      ASSERT_EQ(back[i], float_to_half(floats[i]));
    }
    ASSERT_EQ(floats[count], -1.0f);
    ASSERT_EQ(back[count], 0xabcd);
  }
}

TEST(Bfloat, EveryOneSurvivesTheRoundTrip) {
  for (std::uint32_t b = 0; b < 0x10000; ++b) {
    const Bfloat16 number{static_cast<std::uint16_t>(b)};
    ASSERT_EQ(std::bit_cast<std::uint32_t>(bfloat_to_float(number)), b << 16);
    const bool nan = (b & 0x7fff) > 0x7f80;
    ASSERT_EQ(float_to_bfloat(bfloat_to_float(number)).bits, nan ? b | 0x0040 : b) << std::hex << b;
  }
}

TEST(Bfloat, RoundsToNearestTiesToEven) {
  for (std::uint32_t low = 0; low < 0x7f80; ++low) {  // the neighbour of the largest is infinity
    const auto of = [](std::uint32_t bits) { return float_to_bfloat(std::bit_cast<float>(bits)).bits; };
    const std::uint32_t middle = (low << 16) + 0x8000;
    ASSERT_EQ(of(middle), low + (low & 1)) << std::hex << low;
    ASSERT_EQ(of(middle - 1), low) << std::hex << low;
    ASSERT_EQ(of(middle + 1), low + 1) << std::hex << low;
    ASSERT_EQ(of(middle | 0x80000000u), (low + (low & 1)) | 0x8000) << std::hex << low;
  }
  EXPECT_EQ(float_to_bfloat(std::numeric_limits<float>::max()).bits, 0x7f80);
}

TEST(Bfloat, NaNsWithAPayloadThatIsCutOffStayNaNs) {
  EXPECT_EQ(float_to_bfloat(std::bit_cast<float>(0x7f800001u)).bits, 0x7fc0);
  EXPECT_EQ(float_to_bfloat(std::bit_cast<float>(0xffffffffu)).bits, 0xffff);
}

}  // namespace headwise::test_half
