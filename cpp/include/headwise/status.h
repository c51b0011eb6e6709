#pragma once

#include <cstdint>

namespace headwise {

/// What a call came to. Every entry point checks before it computes, so anything but `ok` means that no output was
/// written (the one exception is stated where it exists).
enum class StatusCode : std::int32_t {
  ok = 0,
  invalid_shape = 1,   ///< a length, width or head count breaks a rule, or a size product overflows
  invalid_option = 2,  ///< an option value breaks a rule
  unsupported = 3,     ///< a legal combination that this engine does not compute
  empty_row = 4,       ///< EmptyRows::fail and at least one query row sees no key
  out_of_memory = 5,   ///< scratch could not be allocated
  corrupt_data = 6,    ///< saved bytes are foreign, truncated or damaged
};

/// A query row, for reports: batch (or ragged sequence), head, query position.
struct RowIndex {
  std::int32_t batch, head, query;
};

/// The result of a call: a code, a sentence naming argument, rule and values, and for `empty_row` up to 8 of the rows.
struct [[nodiscard]] Status {
  static constexpr int kMaxRows = 8;

  StatusCode code = StatusCode::ok;
  char message[256] = {};
  RowIndex rows[kMaxRows] = {};
  std::int32_t row_count = 0;

  [[nodiscard]] bool ok() const { return code == StatusCode::ok; }

  /// printf-style; the message is cut at 255 bytes.
  static Status error(StatusCode code, const char* format, ...) __attribute__((format(printf, 2, 3)));
  static Status out_of_memory(std::int64_t bytes);
};

}  // namespace headwise
