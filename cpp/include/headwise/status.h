#pragma once

#include <cstdint>

namespace headwise {

/// The outcome of a call. Every function checks before it computes. If the code is not `ok`, no output was written.
enum class StatusCode : std::int32_t {
  ok = 0,
  invalid_shape = 1,   ///< a length, width or head count breaks a rule, or a size product overflows
  invalid_option = 2,  ///< an option value breaks a rule
  unsupported = 3,     ///< a valid combination that this library does not compute
  empty_row = 4,       ///< EmptyRows::fail and at least one query row sees no key
  out_of_memory = 5,   ///< scratch could not be allocated
  corrupt_data = 6,    ///< saved bytes are foreign, truncated or damaged
};

/// A query row in a report: batch (or ragged sequence), head, and row within it.
struct RowIndex {
  std::int32_t batch, head, query;
};

/// The result of a call: a code, and a sentence that names argument, rule and values. For `empty_row` also up to 8
/// rows.
struct [[nodiscard]] Status {
  static constexpr int kMaxRows = 8;

  StatusCode code = StatusCode::ok;
  char message[256] = {};
  RowIndex rows[kMaxRows] = {};
  std::int32_t row_count = 0;

  [[nodiscard]] bool ok() const { return code == StatusCode::ok; }

  /// As printf. A message longer than 255 bytes is cut.
  static Status error(StatusCode code, const char* format, ...) __attribute__((format(printf, 2, 3)));
  static Status out_of_memory(std::int64_t bytes);
};

}  // namespace headwise
