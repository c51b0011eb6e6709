#pragma once

#include <algorithm>
#include <cstdint>

namespace headwise {

/// Positions of the keys of one sequence, ascending: pi_j = j for j < kept, j + dropped from there on.
struct KeyPositions {
  std::int64_t kept = 0;
  std::int64_t dropped = 0;
  /// If not 0, a query at position p sees keys only from p - sight + 1 on, and those before `kept`.
  std::int64_t sight = 0;
  /// Beside the first `kept`, the positions before this one were never held. They are hidden if there is a sight.
  std::int64_t gone = 0;

  /// The place in a ring of a query at `position`: the tokens do not count that the ring has dropped, or would have, if
  /// the query's token were the last one.
  [[nodiscard]] std::int64_t place_of(std::int64_t position) const {
    return sight > 0 ? std::min(position, kept + sight - 1) : position - dropped;
  }

  [[nodiscard]] std::int64_t of(std::int64_t j) const { return j < kept ? j : j + dropped; }
  /// The number of key rows before `position`, as if the rows had no end: the first j with of(j) >= position.
  /// `position` may be negative.
  [[nodiscard]] std::int64_t rows_before(std::int64_t position) const {
    if (dropped == 0 || position <= kept) return position < 0 ? 0 : position;
    return position <= kept + dropped ? kept : position - dropped;
  }
};

}  // namespace headwise
