#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <span>
#include <utility>

#include "base/guard.h"
#include "base/rules.h"

namespace headwise {

inline constexpr std::int64_t kFloatBytes = sizeof(float);
/// Where parts of a piece of memory begin, in bytes: at a cache line.
inline constexpr std::int64_t kAlignment = 64;

/// a * b, or false when the product leaves int64. Both must be >= 0.
[[nodiscard]] inline bool multiply_sizes(std::int64_t a, std::int64_t b, std::int64_t* product) {
  return !__builtin_mul_overflow(a, b, product);
}

/// value / step, rounded up.
[[nodiscard]] constexpr std::int64_t divide_up(std::int64_t value, std::int64_t step) {
  return (value + step - 1) / step;
}

/// The next multiple of `step` that is not below `value`.
[[nodiscard]] constexpr std::int64_t round_up(std::int64_t value, std::int64_t step) {
  return divide_up(value, step) * step;
}

/// All scratch of the core is allocated here: 64-byte aligned, and null if there is no memory. Tests install a gate
/// that makes the n-th allocation fail, and a watch that is told of each piece that is freed. Without a gate every
/// request goes to the system.
void* allocate_bytes(std::size_t bytes);
void free_bytes(void* pointer);
using AllocationGate = bool (*)(std::size_t bytes);
using ReleaseWatch = void (*)();
void set_allocation_gate(AllocationGate gate, ReleaseWatch watch = nullptr);

/// Owns uninitialised memory. It can be moved, not copied.
class Memory {
 public:
  Memory() = default;
  ~Memory() { free_bytes(data_); }
  Memory(Memory&& other) noexcept { swap(other); }
  Memory& operator=(Memory&& other) noexcept {
    Memory(std::move(other)).swap(*this);
    return *this;
  }
  [[nodiscard]] Error allocate(std::int64_t count, std::int64_t element_bytes);
  [[nodiscard]] void* data() const { return data_; }
  [[nodiscard]] std::int64_t count() const { return count_; }

 private:
  void swap(Memory& other) { std::swap(data_, other.data_), std::swap(count_, other.count_); }

  void* data_ = nullptr;
  std::int64_t count_ = 0;
};

/// Memory for plain values.
template <class T>
class Buffer {
 public:
  /// An error if there is no memory or the number of bytes overflows. The buffer is then empty.
  [[nodiscard]] Error allocate(std::int64_t count) { return memory_.allocate(count, sizeof(T)); }

  [[nodiscard]] T* data() { return static_cast<T*>(memory_.data()); }
  [[nodiscard]] const T* data() const { return static_cast<const T*>(memory_.data()); }
  [[nodiscard]] std::int64_t size() const { return memory_.count(); }
  T& operator[](std::int64_t i) { return data()[i]; }
  const T& operator[](std::int64_t i) const { return data()[i]; }
  explicit operator bool() const { return memory_.data() != nullptr; }

 private:
  Memory memory_;
};

/// Allocates buffers, each followed by its size.
template <class T, class... More>
[[nodiscard]] Error allocate_all(Buffer<T>& buffer, std::int64_t count, More&&... more) {
  const Error e = buffer.allocate(count);
  if constexpr (sizeof...(More) > 0)
    if (!e) return allocate_all(std::forward<More>(more)...);
  return e;
}

/// Hands out 64-byte aligned pieces of a piece of memory. Without memory it only counts their bytes.
class Placement {
 public:
  explicit Placement(char* memory) : memory_(memory) {}
  template <class T>
  T* take(std::int64_t rows, std::int64_t columns = 1) {
    std::int64_t count = 0, bytes = 0;
    overflow_ |= !multiply_sizes(rows, columns, &count) || !multiply_sizes(count, sizeof(T), &bytes);
    bytes = round_up(std::min(bytes, kLargest), kAlignment);
    const std::int64_t first = offset_;
    overflow_ |= __builtin_add_overflow(offset_, bytes + kGuardBytes, &offset_);
    if (!memory_) return nullptr;
    guard(memory_ + first, bytes);
    return reinterpret_cast<T*>(memory_ + first);
  }
  /// An object whose parts follow it: T::place(*this, args...).
  template <class T, class... Args>
  T* make(const Args&... args) {
    T counted;
    T* const at = take<T>(1);
    T* const made = at ? new (at) T : &counted;
    made->place(*this, args...);
    return at;
  }
  /// The bytes taken so far; -1 on overflow.
  [[nodiscard]] std::int64_t total() const { return overflow_ ? -1 : offset_; }

 private:
  static constexpr std::int64_t kLargest = std::int64_t{1} << 60;
  char* memory_;
  std::int64_t offset_ = 0;
  bool overflow_ = false;
};

/// Arrays of plain values in one piece of memory: they come with one request, and go together.
class Arrays {
 public:
  /// Makes arrays, each followed by its size. If there is no memory, or the number of bytes overflows, they are not to
  /// be read.
  template <class... All>
  [[nodiscard]] Error allocate(All&&... arrays_and_sizes) {
    Placement sizes(nullptr);
    place(sizes, arrays_and_sizes...);
    constexpr std::int64_t kTooMany = std::numeric_limits<std::int64_t>::max();
    if (Error e = memory_.allocate(sizes.total() < 0 ? kTooMany : sizes.total())) return e;
    Placement memory(memory_.data());
    place(memory, arrays_and_sizes...);
    return {};
  }

 private:
  template <class T, class... More>
  static void place(Placement& memory, std::span<T>& array, std::int64_t size, More&&... more) {
    array = {memory.take<T>(size), static_cast<std::size_t>(size)};
    if constexpr (sizeof...(More) > 0) place(memory, more...);
  }

  Buffer<char> memory_;
};

/// The bytes that `T::place(Placement&, args...)` takes; -1 on overflow.
template <class T, class... Args>
[[nodiscard]] std::int64_t bytes_of(const Args&... args) {
  T counted;
  Placement place(nullptr);
  counted.place(place, args...);
  return place.total();
}

/// A T whose parts lie in `memory`.
template <class T, class... Args>
[[nodiscard]] T placed_in(char* memory, const Args&... args) {
  T placed;
  Placement place(memory);
  placed.place(place, args...);
  return placed;
}

}  // namespace headwise
