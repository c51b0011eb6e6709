// libFuzzer target: any bytes become a rotary embedding. What is refused must write nothing; pairs that are turned must
// lie within rounding of the same rotation in double.
//
//   cmake --preset fuzz && cmake --build --preset fuzz
//   build/fuzz/tests/cpp/fuzz_rotary -max_total_time=60 build/corpus/fuzz_rotary

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "fuzz_target.h"
#include "harness.h"
#include "headwise/position.h"
#include "reference/reference.h"
#include "tolerance.h"

namespace headwise {
namespace {

struct Call {
  Layout layout = Layout::bhsd;
  std::int64_t batch_size = 1, num_heads = 1, length = 1, head_dim = 2;
  RotaryOptions options;
  cases::Array x;
  std::vector<double> positions;  ///< [B, S]
};

class Decoder {
 public:
  Decoder(const std::uint8_t* data, std::size_t size) : bytes_(data, size) {}

  Call call() {
    Call call;
    call.layout = static_cast<Layout>(integer(0, 3));
    call.batch_size = integer(0, 2);
    call.num_heads = integer(1, 3);
    call.length = integer(0, 6);
    call.head_dim = integer(1, 20);
    call.options = options();
    const auto dtype = flag() ? Dtype::float16 : Dtype::float32;
    call.x = cases::random_array(dtype, call.batch_size * call.num_heads * call.length * call.head_dim, 1, 1);
    for (std::int64_t n = call.batch_size * call.length; n > 0; --n)
      call.positions.push_back(rarely() ? number() : static_cast<double>(integer(-100, 1 << 20)));
    return call;
  }

 private:
  RotaryOptions options() {
    RotaryOptions options;
    if (flag()) options.rotary_dim = integer(-2, 22);
    if (flag()) options.base = number();
    options.interleaved = flag();
    options.scaling = static_cast<RotaryScaling>(rarely() ? integer(-1, 6) : integer(0, 5));
    options.factor = number();
    options.original_length = number();
    options.sequence_length = number();
    if (flag()) options.beta_fast = number(), options.beta_slow = number();
    options.truncate = flag();
    if (flag()) options.attention_factor = number();
    if (flag()) options.mscale = number(), options.mscale_all_dim = number();
    if (flag()) options.low_freq_factor = number(), options.high_freq_factor = number();
    return options;
  }

  double number() {
    constexpr double kSpecial[] = {0.0,
                                   1.0,
                                   -1.0,
                                   1e-300,
                                   1e300,
                                   std::numeric_limits<double>::quiet_NaN(),
                                   std::numeric_limits<double>::infinity()};
    if (rarely()) return flag() ? bytes_.PickValueInArray(kSpecial) : bytes_.ConsumeFloatingPoint<double>();
    return static_cast<double>(integer(1, 1 << 16)) / 16.0;
  }

  bool flag() { return bytes_.ConsumeBool(); }
  bool rarely() { return bytes_.ConsumeIntegral<std::uint8_t>() < 24; }
  std::int64_t integer(std::int64_t low, std::int64_t high) { return bytes_.ConsumeIntegralInRange(low, high); }

  FuzzedDataProvider bytes_;
};

/// One token of one head: what became of each pair, and the features that stay.
class TokenCheck {
 public:
  TokenCheck(const Call& call, const cases::Array& y, std::int64_t b, std::int64_t h, std::int64_t s)
      : call_(call), y_(y), b_(b), h_(h), s_(s) {}

  void expect_turned(const std::vector<double>& theta, double amplitude) const {
    const auto half = static_cast<std::int64_t>(theta.size());
    const double position = call_.positions[static_cast<std::size_t>(b_ * call_.length + s_)];
    for (std::int64_t m = 0; m < half; ++m) {
      const double angle = position * theta[static_cast<std::size_t>(m)];
      // Beyond, the angle itself has rounded; and a magnitude that float32 cannot hold is no number to compare.
      if (!(std::abs(angle) < 0x1p24) || !(amplitude < 0x1p100) || !(amplitude > 0x1p-100)) continue;
      const std::int64_t i = call_.options.interleaved ? 2 * m : m,
                         j = call_.options.interleaved ? 2 * m + 1 : m + half;
      const double a = x(i), b = x(j), c = amplitude * std::cos(angle), d = amplitude * std::sin(angle);
      // Cosine and sine round, and so do two products and a sum; the angle has rounded in double.
      const double bound =
          (4 * tolerance::kEpsilon + std::abs(angle) * 0x1p-51) * amplitude * (std::abs(a) + std::abs(b)) + 0x1p-126;
      expect(i, a * c - b * d, bound);
      expect(j, a * d + b * c, bound);
    }
    for (std::int64_t d = 2 * half; d < call_.head_dim; ++d) EXPECT_EQ(y_.get(at(d)), x(d)) << "feature " << d;
  }

 private:
  [[nodiscard]] std::int64_t at(std::int64_t d) const {
    return reference::element_index(call_.layout, call_.num_heads, call_.length, call_.head_dim, b_, h_, s_, d);
  }
  [[nodiscard]] double x(std::int64_t d) const { return call_.x.get(at(d)); }
  void expect(std::int64_t d, double expected, double bound) const {
    if (y_.dtype() == Dtype::float16 && std::abs(expected) > 65000) return;
    EXPECT_NEAR(y_.get(at(d)), expected, bound + tolerance::storage(y_.dtype(), expected)) << "feature " << d;
  }

  const Call& call_;
  const cases::Array& y_;
  std::int64_t b_, h_, s_;
};

}  // namespace

void fuzz(const std::uint8_t* data, std::size_t size) {
  const Call call = Decoder(data, size).call();
  cases::Array y(call.x.dtype(), call.x.size());
  for (std::int64_t n = 0; n < y.size(); ++n) y.set(n, 9.0);
  const std::vector<std::uint8_t> before = y.bytes();
  const Status status =
      rotary_embedding_at(pool_of(1), call.layout, call.batch_size, call.num_heads, call.length, call.head_dim,
                          call.options, call.x.view(), call.positions.data(), y.mutable_view());
  if (!status.ok()) {
    EXPECT_EQ(y.bytes(), before) << "refused (" << status.message().text << "), but the result was written";
    return;
  }
  std::vector<double> theta(static_cast<std::size_t>(call.head_dim));
  double amplitude = 1;
  ASSERT_TRUE(rotary_frequencies(call.options, call.head_dim, theta.data(), &amplitude).ok());
  theta.resize(static_cast<std::size_t>((call.options.rotary_dim ? call.options.rotary_dim : call.head_dim) / 2));
  for (std::int64_t b = 0; b < call.batch_size; ++b)
    for (std::int64_t h = 0; h < call.num_heads; ++h)
      for (std::int64_t s = 0; s < call.length; ++s) TokenCheck(call, y, b, h, s).expect_turned(theta, amplitude);
}

}  // namespace headwise
