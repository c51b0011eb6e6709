#pragma once

#include <cstdint>

namespace headwise {

/// Key rows [begin, end).
struct KeyRange {
  std::int64_t begin = 0, end = 0;
  [[nodiscard]] bool empty() const { return begin >= end; }
  [[nodiscard]] std::int64_t size() const { return empty() ? 0 : end - begin; }
};

}  // namespace headwise
