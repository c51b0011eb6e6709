#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>

/// Functions of double without tables. Those of musl have 13 KB of them, which no compression makes smaller: a tenth of
/// the module that a page loads. So WebAssembly takes these (libm.cpp). Each errs by less than one unit in the last
/// place (pow far from 1: two), also for angles of any size. A result below 2^-1022 is rounded twice. The functions of
/// formulas (kernel/functions.h) are for vectors, and only as exact as a float needs.
namespace headwise::real {

/// A number that is a little more exact than a double: value + rest.
struct Sum {
  double value = 0.0, rest = 0.0;
};

/// a + b without an error (Knuth).
inline Sum sum(double a, double b) {
  const double value = a + b, part = value - a;
  return {value, (a - (value - part)) + (b - part)};
}

/// a b without an error (Veltkamp, Dekker), if neither is above 2^995.
inline Sum product(double a, double b) {
  constexpr double kSplit = 0x1p27 + 1;
  const auto high = [](double x) {
    const double scaled = x * kSplit;
    return scaled - (scaled - x);
  };
  const double value = a * b, a1 = high(a), b1 = high(b), a2 = a - a1, b2 = b - b1;
  return {value, ((a1 * b1 - value) + a1 * b2 + a2 * b1) + a2 * b2};
}

/// c_0 + x (c_1 + x (c_2 + …))
template <class... More>
double polynomial(double x, double c, More... more) {
  if constexpr (sizeof...(more) == 0)
    return c;
  else
    return c + x * polynomial(x, more...);
}

// ln 2 in two parts. A whole number below 2^20 times the first one is exact.
inline constexpr double kLn2High = 0x1.62e42feep-1, kLn2Low = 0x1.a39ef35793c76p-33;

/// 2^k e^(r + rest), with |r + rest| <= ln2 / 2. By the Taylor series of e^r.
inline double scaled_exp(double k, double r, double rest) {
  const double tail = polynomial(r, 1. / 2, 1. / 6, 1. / 24, 1. / 120, 1. / 720, 1. / 5040, 1. / 40320, 1. / 362880,
                                 1. / 3628800, 1. / 39916800, 1. / 479001600, 1. / 6227020800);
  return std::ldexp(1.0 + (r + (r * r * tail + rest)), static_cast<int>(k));
}

/// e^(x + rest), with a small rest.
inline double exp(double x, double rest = 0.0) {
  if (x != x) return x;
  if (x > 710.0) return std::numeric_limits<double>::infinity();
  if (x < -746.0) return 0.0;
  const double k = std::nearbyint(x * std::numbers::log2e);
  const double high = x - k * kLn2High, low = rest - k * kLn2Low;
  const Sum r = sum(high, low);
  return scaled_exp(k, r.value, r.rest);
}

inline double exp2(double x) {
  if (x != x) return x;
  if (x > 1025.0) return std::numeric_limits<double>::infinity();
  if (x < -1076.0) return 0.0;
  const double k = std::nearbyint(x);
  const Sum high = product(x - k, kLn2High);
  const Sum r = sum(high.value, high.rest + (x - k) * kLn2Low);
  return scaled_exp(k, r.value, r.rest);
}

/// The natural logarithm of a positive number: x = 2^e m with m in [1/sqrt 2, sqrt 2], and ln m = 2 atanh(f) with f =
/// (m - 1) / (m + 1), by its series. The error of the sum is below 2^-58 of its value.
inline Sum log_of_positive(double x) {
  int e = 0;
  double m = std::frexp(x, &e);
  if (m < 1 / std::numbers::sqrt2) m *= 2, --e;
  const Sum below = sum(m, 1.0);
  const double f = (m - 1.0) / below.value;
  const Sum taken = product(f, below.value);
  const double f_rest = (((m - 1.0 - taken.value) - taken.rest) - f * below.rest) / below.value;
  const double s = f * f;
  const double series =
      s * polynomial(s, 2. / 3, 2. / 5, 2. / 7, 2. / 9, 2. / 11, 2. / 13, 2. / 15, 2. / 17, 2. / 19, 2. / 21, 2. / 23);
  const Sum head = sum(e * kLn2High, 2 * f);
  return sum(head.value, head.rest + (e * kLn2Low + (2 * f_rest + f * series)));
}

inline double log(double x) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (x == 0.0) return -kInfinity;
  if (x < 0.0) return std::numeric_limits<double>::quiet_NaN();
  return x < kInfinity ? log_of_positive(x).value : x;  // NaN too
}

/// x^y, as C says. It errs by less than one unit in the last place between e^-100 and e^100, and by less than two
/// beyond.
inline double pow(double x, double y) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (y == 0.0 || x == 1.0) return 1.0;
  if (x != x || y != y) return x + y;
  if (x == -1.0 && std::abs(y) == kInfinity) return 1.0;
  const double magnitude = std::abs(x);
  const bool is_whole = std::nearbyint(y) == y, is_odd = is_whole && std::nearbyint(y / 2) != y / 2;
  if (x < 0.0 && !is_whole && x > -kInfinity) return std::numeric_limits<double>::quiet_NaN();
  const double sign = std::signbit(x) && is_odd ? -1.0 : 1.0;
  if (magnitude == 0.0 || magnitude == kInfinity)
    return (magnitude == 0.0) == (y < 0.0) ? sign * kInfinity : sign * 0.0;
  const Sum logarithm = log_of_positive(magnitude);
  const double rough = y * logarithm.value;
  if (!(std::abs(rough) < 800.0)) return sign * exp(rough);
  const Sum exponent = product(y, logarithm.value);
  return sign * exp(exponent.value, exponent.rest + y * logarithm.rest);
}

/// An angle less whole quarter turns, of which `quarters` is the number modulo 4. It is at most pi / 4.
struct Reduced {
  Sum angle;
  unsigned quarters = 0;
};

/// pi / 2
inline constexpr Sum kQuarter = {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54};

/// For any finite angle. It is a whole number times 2^e. Of 2 / pi, whose bits lie here, those count that are neither
/// multiples of four quarters nor too small (Payne, Hanek).
inline Reduced reduce_any(double angle) {
  static constexpr std::array<std::uint64_t, 20> kTwoOverPi = {
      0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561, 0xb7246e3a424dd2e0,
      0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4,
      0x9c845f8bbdf9283b, 0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d,
      0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab, 0xf0cfbc209af4361d};
  using Wide = unsigned __int128;
  int e = 0;
  const double fraction = std::frexp(std::abs(angle), &e);
  const auto whole = static_cast<std::uint64_t>(std::ldexp(fraction, 53));
  e -= 53;
  const int skipped = std::max(e - 2, 0), word = skipped / 64, bit = skipped % 64;
  // The product of `whole` with 192 bits, in four words. The last one has the lowest bits.
  std::uint64_t words[4] = {};
  std::uint64_t carry = 0;
  for (int n = 2; n >= 0; --n) {
    const std::uint64_t next = bit > 0 ? kTwoOverPi[word + n + 1] >> (64 - bit) : 0;
    const Wide part = Wide{whole} * (kTwoOverPi[word + n] << bit | next) + carry;
    words[n + 1] = static_cast<std::uint64_t>(part);
    carry = static_cast<std::uint64_t>(part >> 64);
  }
  words[0] = carry;
  // Its point stands after 64 to 66 bits less e, counted from the highest. Bring the two bits before it to the top.
  const int left = 256 - (192 + skipped - e) - 2;
  const auto bits_at = [&](int at) {
    const int w = at / 64, b = at % 64;
    const std::uint64_t high = w < 4 ? words[w] << b : 0;
    return b > 0 && w + 1 < 4 ? high | words[w + 1] >> (64 - b) : high;
  };
  Reduced reduced;
  reduced.quarters = static_cast<unsigned>(bits_at(left) >> 62);
  Wide part = Wide{bits_at(left + 2)} << 64 | bits_at(left + 66);  // of a quarter, times 2^128
  const bool above_half = (part >> 127) != 0;
  if (above_half) part = -part, ++reduced.quarters;
  if (part == 0) return reduced;
  const auto top = static_cast<std::uint64_t>(part >> 64);
  const int zeros = top ? std::countl_zero(top) : 64 + std::countl_zero(static_cast<std::uint64_t>(part));
  part <<= zeros;
  constexpr std::uint64_t kDigits = (std::uint64_t{1} << 53) - 1;
  const double unit = std::ldexp(1.0, -53 - zeros);
  const Sum quarter = {static_cast<double>(static_cast<std::uint64_t>(part >> 75)) * unit,
                       static_cast<double>(static_cast<std::uint64_t>(part >> 22) & kDigits) * unit * 0x1p-53};
  const Sum turned = product(quarter.value, kQuarter.value);
  const Sum r = sum(turned.value, turned.rest + (quarter.value * kQuarter.rest + quarter.rest * kQuarter.value));
  const double sign = (angle < 0) != above_half ? -1.0 : 1.0;
  reduced.angle = {sign * r.value, sign * r.rest};
  if (angle < 0) reduced.quarters = -reduced.quarters;
  return reduced;
}

/// For any finite angle. Up to 2^20 quarters by three parts of pi / 2, of 33, 33 and 53 bits (Cody, Waite).
inline Reduced reduce(double angle) {
  if (std::abs(angle) <= kQuarter.value / 2) return {{angle, 0.0}, 0};
  if (std::abs(angle) > 0x1p20) return reduce_any(angle);
  const double quarters = std::nearbyint(angle * (2 / std::numbers::pi));
  const Sum first = sum(angle - quarters * 0x1.921fb544p+0, -(quarters * 0x1.0b4611a6p-34));
  const Sum r = sum(first.value, first.rest - quarters * 0x1.3198a2e037073p-69);
  // Next to a whole number of quarters the parts are not exact enough.
  if (std::abs(r.value) < 0x1p-30) return reduce_any(angle);
  return {r, static_cast<unsigned>(static_cast<std::int32_t>(quarters))};
}

/// sin(angle + quarters pi / 2), by the Taylor series of sine and cosine.
inline double sine(const Reduced& of, unsigned quarters) {
  const auto [r, rest] = of.angle;
  const double s = r * r;
  const unsigned turned = of.quarters + quarters;
  double value = 0.0;
  if (turned % 2 == 0) {
    const double tail = polynomial(s, -1. / 6, 1. / 120, -1. / 5040, 1. / 362880, -1. / 39916800, 1. / 6227020800,
                                   -1. / 1307674368000, 1. / 355687428096000);
    value = r + (r * s * tail + rest * (1.0 - s / 2));
  } else {
    const double tail = polynomial(s, 1. / 24, -1. / 720, 1. / 40320, -1. / 3628800, 1. / 479001600, -1. / 87178291200,
                                   1. / 20922789888000, -1. / 6402373705728000);
    const double near = 1.0 - s / 2;
    value = near + (((1.0 - near) - s / 2) + (s * s * tail - r * rest));
  }
  return turned % 4 < 2 ? value : -value;
}

inline double sin(double angle) {
  if (!(std::abs(angle) < std::numeric_limits<double>::infinity())) return angle - angle;
  return sine(reduce(angle), 0);
}

inline double cos(double angle) {
  if (!(std::abs(angle) < std::numeric_limits<double>::infinity())) return angle - angle;
  return sine(reduce(angle), 1);
}

}  // namespace headwise::real
