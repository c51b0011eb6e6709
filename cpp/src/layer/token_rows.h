#pragma once

#include <cstdint>

#include "base/strides.h"
#include "headwise/array.h"

namespace headwise {

/// Rows of features in the memory order of a layer. Feature f of token (b, s) is element
/// b * batch + s * position + f * feature of the array. `strides.head` is not used.
struct TokenRows {
  MutableArray array;
  Strides strides;
  std::int64_t batch_size, length;
};
struct ConstTokenRows {
  ConstArray array;
  Strides strides;
  std::int64_t batch_size, length;
  const float* const* added = nullptr;  ///< [B * S], a row of features that is added to each token; null rows are 0

  [[nodiscard]] std::int64_t count() const { return batch_size * length; }
};

[[nodiscard]] inline ConstTokenRows as_const(const TokenRows& rows) {
  return {{rows.array.data, rows.array.dtype}, rows.strides, rows.batch_size, rows.length};
}

/// Tokens side by side: [count, width].
[[nodiscard]] inline TokenRows contiguous_rows(MutableArray array, std::int64_t count, std::int64_t width) {
  return {array, {0, 0, width, 1}, 1, count};
}

// Functions that copy neighbouring tokens. Token `row` is counted over all batches.

/// Copies features [k, k + depth) of `rows` tokens to float32 rows [rows, depth], and adds `added`.
void gather(const ConstTokenRows& tokens, std::int64_t row, std::int64_t rows, std::int64_t k, std::int64_t depth,
            float* floats);

/// Copies float32 rows of `columns` features, `width` apart, to features [column, column + columns) of `rows` tokens.
void scatter(const float* floats, std::int64_t width, std::int64_t row, std::int64_t rows, std::int64_t column,
             std::int64_t columns, const TokenRows& tokens);

/// Adds them to what the tokens hold.
void scatter_sums(const float* floats, std::int64_t width, std::int64_t row, std::int64_t rows, std::int64_t column,
                  std::int64_t columns, const TokenRows& tokens);

}  // namespace headwise
