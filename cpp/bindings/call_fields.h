#pragma once

// Where the fields of the calls lie. JavaScript reads that once, and then writes the fields into memory itself: a call
// into the engine for each field would cost more than the rest of a small call.

#include <emscripten/bind.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <new>
#include <optional>
#include <string>
#include <type_traits>

namespace headwise {

/// The letter of a field's type, as web/src/wasm/callFields.ts reads it.
template <class T>
constexpr char letter_of() {
  if constexpr (std::is_enum_v<T>) {
    return letter_of<std::underlying_type_t<T>>();
  } else if constexpr (std::is_same_v<T, bool>) {
    return 'b';
  } else if constexpr (std::is_same_v<T, float>) {
    return 'f';
  } else if constexpr (std::is_same_v<T, double>) {
    return 'd';
  } else {
    static_assert(std::is_pointer_v<T> || std::is_integral_v<T>, "a field is a number or an address");
    static_assert(sizeof(T) == 4 || sizeof(T) == 8);
    return sizeof(T) == 4 ? 'w' : 'l';
  }
}

/// The value of a field, and where an optional one says that it has a value: 0 for a field that always has one.
template <class T>
struct Stored {
  using Value = T;
  static std::size_t flag() { return 0; }
};

template <class T>
struct Stored<std::optional<T>> {
  using Value = T;
  /// The byte in which an optional that holds zero differs from an empty one.
  [[gnu::noinline]] static std::size_t flag() {
    alignas(std::optional<T>) unsigned char none[sizeof(std::optional<T>)] = {}, zero[sizeof(std::optional<T>)] = {};
    new (none) std::optional<T>;
    new (zero) std::optional<T>(T{});
    return static_cast<std::size_t>(std::mismatch(std::begin(none), std::end(none), zero).first - none);
  }
};

/// The fields of a call, a line each: name, offset, letter, and the offset of an optional's flag, or 0.
template <class Call>
std::string& field_lines() {
  static std::string lines;
  return lines;
}

/// There are some 250 fields: inlined, this would be 5 KB of the module.
[[gnu::noinline]] inline void add_line(std::string& lines, const char* name, const char* rest, std::size_t offset,
                                       char letter, std::size_t flag) {
  lines += name;
  lines += rest;
  lines += ' ' + std::to_string(offset) + ' ' + letter + ' ' + std::to_string(flag) + '\n';
}

/// Where the places of fields are measured: as large as a call, and never one. So the compiler knows each offset.
template <class Call>
alignas(Call) inline unsigned char room[sizeof(Call)];

/// Adds a field. Member pointers lead to it: `field<&C::shape, &S::head_dim>(binding, "headDim")`.
/// @param rest - what stands behind `name` in the field's name
template <auto... Path, class Class>
void field(Class&, const char* name, const char* rest = "") {
  using Call = typename Class::class_type;
  const Call& call = *reinterpret_cast<const Call*>(room<Call>);
  const auto& place = (call.*....*Path);
  using Place = Stored<std::decay_t<decltype(place)>>;
  const auto offset =
      static_cast<std::size_t>(reinterpret_cast<const char*>(&place) - reinterpret_cast<const char*>(&call));
  const std::size_t flag = Place::flag();
  add_line(field_lines<Call>(), name, rest, offset, letter_of<typename Place::Value>(), flag ? offset + flag : 0);
}

/// Sets the defaults, so that a call sets only what differs from them.
template <class Call>
void reset(Call& call) {
  call = Call{};
}

template <class Call>
std::uintptr_t address_of(const Call& call) {
  return reinterpret_cast<std::uintptr_t>(&call);
}

/// Address of a C string: the fields. Emscripten's strings need SharedArrayBuffer, which some pages lack.
template <class Call>
std::uintptr_t fields_of() {
  return reinterpret_cast<std::uintptr_t>(field_lines<Call>().c_str());
}

/// Declares a call to JavaScript, with what every call has.
template <class Call, class Base = emscripten::internal::NoBaseClass>
emscripten::class_<Call, Base> call_class(const char* name) {
  emscripten::class_<Call, Base> binding(name);
  binding.template constructor<>()
      .function("reset", &reset<Call>)
      .function("address", &address_of<Call>)
      .class_function("fields", &fields_of<Call>);
  return binding;
}

}  // namespace headwise
