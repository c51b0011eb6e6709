#pragma once

#include <algorithm>

#include "base/numbers.h"

namespace headwise {

/// Where a value lies: in [low, high], or NaN if `nan`. Every function below gives a range that holds all its results;
/// sums, products and quotients are rounded as the values are, and rounding keeps order.
struct ValueRange {
  float low = kInfinity, high = -kInfinity;
  bool nan = false;

  static ValueRange of(float value) { return value == value ? ValueRange{value, value, false} : anything(); }
  static ValueRange anything() { return {-kInfinity, kInfinity, true}; }
  static ValueRange truth(bool maybe_true, bool maybe_false) {
    return {maybe_false ? 0.0f : 1.0f, maybe_true ? 1.0f : 0.0f, false};
  }

  [[nodiscard]] bool is_point() const { return low == high && !nan; }
  [[nodiscard]] bool has(float value) const { return low <= value && value <= high; }
  [[nodiscard]] bool has_infinity() const { return low == -kInfinity || high == kInfinity; }
  [[nodiscard]] bool maybe_true() const { return nan || low < 0.0f || high > 0.0f; }
  [[nodiscard]] bool maybe_false() const { return has(0.0f); }
  [[nodiscard]] float magnitude() const { return std::max(-low, high); }

  void include(ValueRange other) {
    low = std::min(low, other.low);
    high = std::max(high, other.high);
    nan |= other.nan;
  }
  void include(float value) {
    if (value != value)
      nan = true;
    else
      include(ValueRange{value, value, false});
  }
};

}  // namespace headwise
