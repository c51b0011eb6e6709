#pragma once

// Where the fields of the calls lie. JavaScript reads that once, and then writes the fields into memory itself: a call
// into the engine for each field would cost more than the rest of a small call.

#include <cstddef>
#include <cstdint>
#include <optional>
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

/// The value of a field, and how far behind its first byte an optional one says that it has a value; 0: it always has
/// one.
template <class T>
struct Stored {
  using Value = T;
  static constexpr std::int32_t flag = 0;
};

/// The standard library of wasm stores the value first, and then whether there is one.
template <class T>
struct Stored<std::optional<T>> {
  using Value = T;
  static constexpr std::int32_t flag = sizeof(T);
  static_assert(sizeof(std::optional<T>) > sizeof(T));
};

/// A field of a call. JavaScript reads a list of these as words; the last one has no name.
struct Field {
  const char* name = nullptr;
  std::int32_t offset = 0;
  std::int32_t letter = 0;        ///< of letter_of; 0: the fields of a struct, whose names come behind `name`
  std::int32_t flag = 0;          ///< where an optional says that it has a value, behind its first byte; or 0
  const Field* inside = nullptr;  ///< the fields of the struct
};
static_assert(sizeof(Field) == 5 * sizeof(std::int32_t));

/// Where the places of fields are measured: as large as a call, and never one. So the compiler knows each offset.
template <class Call>
alignas(Call) inline unsigned char room[sizeof(Call)];

template <class Call, class Member, class... More>
const auto& member_of(const Call& call, Member Call::*path, More... more) {
  if constexpr (sizeof...(More) == 0) {
    return call.*path;
  } else {
    return member_of(call.*path, more...);
  }
}

template <class Call>
std::int32_t offset_in(const Call& call, const void* place) {
  return static_cast<std::int32_t>(static_cast<const char*>(place) - reinterpret_cast<const char*>(&call));
}

/// A field. Member pointers lead to it: `field("headDim", &C::shape, &S::head_dim)`.
template <class Call, class Member, class... More>
Field field(const char* name, Member Call::*path, More... more) {
  const Call& call = *reinterpret_cast<const Call*>(room<Call>);
  const auto& place = member_of(call, path, more...);
  using Place = Stored<std::decay_t<decltype(place)>>;
  return {name, offset_in(call, &place), letter_of<typename Place::Value>(), Place::flag};
}

/// The fields of a struct in the call, whose names come behind `prefix`.
template <class Call, class Member, class... More>
Field fields(const char* prefix, const Field* inside, Member Call::*path, More... more) {
  const Call& call = *reinterpret_cast<const Call*>(room<Call>);
  return {prefix, offset_in(call, &member_of(call, path, more...)), 0, 0, inside};
}

/// A call of a recorded step. JavaScript reads a list of these as words; the last one has no name.
struct StepCallFields {
  const char* name = nullptr;
  std::int32_t size = 0;
  const Field* fields = nullptr;  ///< null: JavaScript copies the call from one of its class
};

extern const Field kAttentionCall[], kBackwardCall[], kMergeCall[], kRotaryCall[], kCacheCall[], kLinearCall[],
    kLinearBackwardCall[], kLayerCreation[], kLayerCall[], kLayerBackwardCall[], kLayerUpdateCall[];
extern const StepCallFields kStepCalls[];

}  // namespace headwise
