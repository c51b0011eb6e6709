#pragma once

#include <cstddef>
#include <cstdint>

#include "base/workspace.h"

namespace headwise {

/// Counts what the core allocates and refuses one of the requests.
class Allocations {
 public:
  explicit Allocations(int refused = -1) {
    count_ = 0, total_ = 0, refused_ = refused;
    set_allocation_gate([](std::size_t bytes) {
      total_ += static_cast<std::int64_t>(bytes);
      return count_++ != refused_;
    });
  }
  ~Allocations() { set_allocation_gate(nullptr); }
  Allocations(const Allocations&) = delete;
  Allocations& operator=(const Allocations&) = delete;

  [[nodiscard]] int count() const { return count_; }
  [[nodiscard]] std::int64_t total_bytes() const { return total_; }

 private:
  static inline int count_, refused_;
  static inline std::int64_t total_;
};

}  // namespace headwise
