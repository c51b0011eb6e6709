#pragma once

#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <initializer_list>

#include "headwise/array.h"
#include "headwise/status.h"

namespace headwise {

#define RULE(name, code, sentence) name,
enum class Rule : std::uint16_t {
#include "base/rules.def"
  end  ///< how many there are
};

#define ARGUMENT(name, text) name,
enum class Argument : std::uint8_t {
#include "base/arguments.def"
};

/// A value that a sentence shows.
struct Seen {
  std::int64_t bits = 0;
  Seen() = default;
  template <std::integral T>
  Seen(T whole) : bits(static_cast<std::int64_t>(whole)) {}
  template <std::floating_point T>
  Seen(T number) : bits(std::bit_cast<std::int64_t>(static_cast<double>(number))) {}
};

/// An argument, and an index in it.
struct At {
  Argument argument;
  std::int64_t index;
  At(Argument an_argument, std::int64_t an_index = 0) : argument(an_argument), index(an_index) {}
};
inline At at(std::int64_t index) { return {Argument::none, index}; }

/// A status within the library. It is true if it is not ok: `if (Error e = check()) return e;`. Functions return the
/// very object `e`, where a Status would be copied.
struct [[nodiscard]] Error : Status {
  Error() = default;
  Error(const Status& status) : Status(status) {}
  explicit operator bool() const { return !ok(); }
};

/// The status of a call that breaks `rule`.
[[nodiscard]] Error refuse(Rule rule, Argument argument, std::int64_t index, Seen first, Seen second, Seen third);
[[nodiscard]] inline Error refuse(Rule rule, At where, Seen first = {}, Seen second = {}, Seen third = {}) {
  return refuse(rule, where.argument, where.index, first, second, third);
}
[[nodiscard]] inline Error refuse(Rule rule, Seen first = {}, Seen second = {}, Seen third = {}) {
  return refuse(rule, Argument::none, 0, first, second, third);
}

[[nodiscard]] inline Error out_of_memory(std::int64_t bytes) { return refuse(Rule::out_of_memory, bytes); }

[[nodiscard]] inline bool is_positive(double x) { return std::isfinite(x) && x > 0.0; }
[[nodiscard]] inline bool is_not_negative(double x) { return std::isfinite(x) && x >= 0.0; }

[[nodiscard]] Error check_dtype(Argument argument, Dtype dtype);
/// Whether an enumeration, which counts from 0, has `value`. `last` is the last that it has.
template <class Choice>
[[nodiscard]] Error check_choice(Argument argument, Choice value, Choice last) {
  return value >= Choice{} && value <= last
             ? Error()
             : refuse(Rule::choice, argument, static_cast<std::int32_t>(last), static_cast<std::int32_t>(value));
}
[[nodiscard]] inline Error check_layout(Argument argument, Layout layout) {
  return check_choice(argument, layout, Layout::bes);
}
/// A length, width or count, and the least that it may be.
struct Extent {
  Argument argument;
  std::int64_t value, least;
};
[[nodiscard]] Error check_least(std::initializer_list<Extent> extents);
/// Whether each is in least..2^31-1.
[[nodiscard]] Error check_counts(std::initializer_list<Extent> extents);
[[nodiscard]] Error check_positive(Argument argument, double value);
[[nodiscard]] Error check_not_negative(Argument argument, double value);
/// An array of the caller, and whether it has elements.
struct Array {
  Argument argument;
  bool has_elements;
  const void* data;
};
/// Whether each is there that has elements.
[[nodiscard]] Error check_given(std::initializer_list<Array> arrays);
/// Whether all of them are in 0..most. There may be none.
[[nodiscard]] Error check_indices(Rule rule, Argument argument, const std::int32_t* indices, std::int64_t count,
                                  std::int64_t most);

}  // namespace headwise
