#include "base/rules.h"

#include <cmath>
#include <cstdlib>
#include <iterator>
#include <limits>

namespace headwise {

namespace {

struct RuleText {
  StatusCode code;
  const char* sentence;
};

#define RULE(name, code, sentence) {StatusCode::code, sentence},
constexpr RuleText kRules[] = {
#include "base/rules.def"
};

#define ARGUMENT(name, text) text,
constexpr const char* kArguments[] = {
#include "base/arguments.def"
};

/// Appends to a message. What does not fit is cut.
class MessageWriter {
 public:
  explicit MessageWriter(Message& message) : at_(message.text), end_(std::end(message.text) - 1) {}

  void character(char c) {
    if (at_ < end_) *at_++ = c;
  }
  void text(const char* characters) {
    while (*characters) character(*characters++);
  }
  void whole(std::int64_t value) {
    if (value < 0) character('-');
    digits(value < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value));
  }

  /// Six digits, as printf's %g.
  void number(double value) {
    if (std::isnan(value)) return text("nan");
    if (std::signbit(value)) character('-');
    double size = std::abs(value);
    if (std::isinf(size)) return text("inf");
    int exponent = 0;
    for (; size >= 10.0; size /= 10.0) ++exponent;
    for (; size > 0.0 && size < 1.0; size *= 10.0) --exponent;
    auto six = static_cast<std::uint64_t>(std::round(size * 1e5));
    if (six == 1000000) six = 100000, ++exponent;
    int count = 6;
    for (; count > 1 && six % 10 == 0; six /= 10) --count;
    const bool is_fixed = exponent >= -4 && exponent < 6;
    for (int n = is_fixed ? exponent : 0; n < 0; ++n) text(n == exponent ? "0." : "0");
    digits(six, count - 1 - (is_fixed ? exponent : 0));
    for (int n = count - 1; is_fixed && n < exponent; ++n) character('0');
    if (is_fixed) return;
    text(exponent < 0 ? "e-" : "e+");
    if (std::abs(exponent) < 10) character('0');
    digits(static_cast<std::uint64_t>(std::abs(exponent)));
  }

 private:
  /// @param after_point  of the digits
  void digits(std::uint64_t value, int after_point = 0) {
    char last_first[20];
    int count = 0;
    do last_first[count++] = static_cast<char>('0' + value % 10);
    while (value /= 10);
    while (count > 0) {
      character(last_first[--count]);
      if (count > 0 && count == after_point) character('.');
    }
  }

  char* at_;
  char* const end_;
};

}  // namespace

Error refuse(Rule rule, Argument argument, std::int64_t index, Seen first, Seen second, Seen third) {
  const StatusCode code = kRules[static_cast<int>(rule)].code;
  return Status{code, argument, rule, static_cast<std::int32_t>(index), {first.bits, second.bits, third.bits}};
}

Error check_dtype(Argument argument, Dtype dtype) {
  return is_input_dtype(dtype) ? Error() : refuse(Rule::dtype, argument);
}

Error check_least(std::initializer_list<Extent> extents) {
  for (const auto& [argument, value, least] : extents)
    if (value < least) return refuse(Rule::least, argument, least, value);
  return {};
}

Error check_counts(std::initializer_list<Extent> extents) {
  for (const auto& [argument, value, least] : extents)
    if (value < least || value > std::numeric_limits<std::int32_t>::max())
      return refuse(Rule::count, argument, least, value);
  return {};
}

Error check_positive(Argument argument, double value) {
  return is_positive(value) ? Error() : refuse(Rule::positive, argument, value);
}

Error check_not_negative(Argument argument, double value) {
  return is_not_negative(value) ? Error() : refuse(Rule::not_negative, argument, value);
}

Error check_given(std::initializer_list<Array> arrays) {
  for (const auto& [argument, has_elements, data] : arrays)
    if (has_elements && !data) return refuse(Rule::array_given, argument);
  return {};
}

Error check_indices(Rule rule, Argument argument, const std::int32_t* indices, std::int64_t count, std::int64_t most) {
  for (std::int64_t n = 0; indices && n < count; ++n)
    if (indices[n] < 0 || indices[n] > most) return refuse(rule, {argument, n}, most, indices[n]);
  return {};
}

Message Status::message() const {
  Message message;
  MessageWriter writer(message);
  for (const char* c = kRules[static_cast<int>(rule)].sentence; *c; ++c) {
    if (*c != '{') {
      writer.character(*c);
      continue;
    }
    const char place = *++c;
    if (place == 'n') {
      writer.text(kArguments[static_cast<int>(argument)]);
    } else if (place == 'i') {
      writer.whole(index);
    } else if (c[1] == 'g') {
      writer.number(std::bit_cast<double>(seen[place - '0']));
    } else {
      writer.whole(seen[place - '0']);
    }
    while (*c != '}') ++c;
  }
  return message;
}

}  // namespace headwise
