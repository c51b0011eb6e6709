#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "base/memory.h"

namespace headwise {

/// Whether one request for memory is refused, or that one and all after it.
enum class Refused { once, for_good };

/// Counts what the core allocates and refuses one of the requests, or all from one on.
class Allocations {
 public:
  explicit Allocations(int refused = -1, Refused how = Refused::once) {
    count_ = 0, total_ = 0, refused_ = refused, last_ = refused, live_ = 0;
    if (refused >= 0 && how == Refused::for_good) last_ = std::numeric_limits<int>::max();
    set_allocation_gate(
        [](std::size_t bytes) {
          total_ += static_cast<std::int64_t>(bytes);
          const int n = count_++;
          const bool is_given = n < refused_ || n > last_;
          if (is_given) ++live_;
          return is_given;
        },
        [] { --live_; });
  }
  ~Allocations() { set_allocation_gate(nullptr); }
  Allocations(const Allocations&) = delete;
  Allocations& operator=(const Allocations&) = delete;

  [[nodiscard]] int count() const { return count_; }
  [[nodiscard]] std::int64_t total_bytes() const { return total_; }
  /// Blocks that were allocated and not freed since.
  [[nodiscard]] int live() const { return live_; }

 private:
  static inline int count_, refused_, last_;
  static inline std::atomic<int> live_;
  static inline std::int64_t total_;
};

}  // namespace headwise
