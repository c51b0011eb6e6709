#pragma once

#include <algorithm>
#include <cstdint>

#include "base/sizes.h"

namespace headwise {

/// Hands out 64-byte aligned pieces of a piece of memory. Without memory it only counts their bytes.
class Placement {
 public:
  explicit Placement(char* memory) : memory_(memory) {}
  template <class T>
  T* take(std::int64_t rows, std::int64_t columns = 1) {
    std::int64_t count = 0, bytes = 0;
    overflow_ |= !multiply_sizes(rows, columns, &count) || !multiply_sizes(count, sizeof(T), &bytes) ||
                 __builtin_add_overflow(offset_, round_up(std::min(bytes, kLargest), 64), &offset_);
    return memory_ ? reinterpret_cast<T*>(memory_ + offset_ - round_up(bytes, 64)) : nullptr;
  }
  /// The bytes taken so far; -1 on overflow.
  [[nodiscard]] std::int64_t total() const { return overflow_ ? -1 : offset_; }

 private:
  static constexpr std::int64_t kLargest = std::int64_t{1} << 60;
  char* memory_;
  std::int64_t offset_ = 0;
  bool overflow_ = false;
};

}  // namespace headwise
