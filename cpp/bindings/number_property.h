#pragma once

#include <optional>
#include <string>
#include <type_traits>

#include "address.h"

namespace headwise {

template <class T>
double to_number(const T& value) {
  if constexpr (std::is_pointer_v<T>) {
    return static_cast<double>(reinterpret_cast<Address>(value));
  } else {
    return static_cast<double>(value);
  }
}

template <class T>
double to_number(const std::optional<T>& value) {
  return to_number(value.value_or(T{}));
}

template <class T>
void assign_number(T& target, double number) {
  if constexpr (std::is_pointer_v<T>) {
    target = reinterpret_cast<T>(static_cast<Address>(number));
  } else if constexpr (std::is_enum_v<T>) {
    target = static_cast<T>(static_cast<std::underlying_type_t<T>>(number));
  } else {
    target = static_cast<T>(number);
  }
}

template <class T>
void assign_number(std::optional<T>& target, double number) {
  assign_number(target.emplace(), number);
}

/// A field of a call as a number. Member pointers lead to it: `property<&C::shape, &S::head_dim>(binding, "headDim")`.
template <class Call, auto... Path>
struct Field {
  static double get(const Call& call) { return to_number((call.*....*Path)); }
  static void set(Call& call, double number) { assign_number((call.*....*Path), number); }
};

template <auto... Path, class Class>
void property(Class& binding, const std::string& name) {
  using Call = typename Class::class_type;
  binding.property(name.c_str(), &Field<Call, Path...>::get, &Field<Call, Path...>::set);
}

}  // namespace headwise
