#pragma once

#include <cstdint>

namespace headwise {

/// The outcome of a call. Every function checks before it computes. If the code is not `ok`, no output was written.
enum class StatusCode : std::uint8_t {
  ok = 0,
  invalid_shape = 1,   ///< a length, width or head count breaks a rule, or a size product overflows
  invalid_option = 2,  ///< an option value breaks a rule
  unsupported = 3,     ///< a valid combination that this library does not compute
  empty_row = 4,       ///< EmptyRows::fail and at least one query row sees no key
  out_of_memory = 5,   ///< scratch could not be allocated
  corrupt_data = 6,    ///< saved bytes are foreign, truncated or damaged
};

/// A rule of the contract, and an argument that a sentence names: lines of src/base/rules.def and arguments.def.
enum class Rule : std::uint16_t;
enum class Argument : std::uint8_t;

/// A sentence, as a C string.
struct Message {
  char text[256] = {};
};

/// The result of a call: a code, the rule that was broken, and what was seen.
struct [[nodiscard]] Status {
  StatusCode code = StatusCode::ok;
  Argument argument{};
  Rule rule{};
  std::int32_t index = 0;  ///< in the argument
  std::int64_t seen[3] = {};

  [[nodiscard]] bool ok() const { return code == StatusCode::ok; }

  /// The sentence that names argument, rule and values. Allocates nothing. Empty for `ok`.
  [[nodiscard]] Message message() const;
};

}  // namespace headwise
