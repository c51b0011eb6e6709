#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace headwise {

/// All scratch of the core is allocated here: 64-byte aligned, and null if there is no memory. Tests install a gate
/// that makes the n-th allocation fail, and a watch that is told of each block that is freed. Without a gate every
/// request goes to the system.
void* allocate_bytes(std::size_t bytes);
void free_bytes(void* pointer);
using AllocationGate = bool (*)(std::size_t bytes);
using ReleaseWatch = void (*)();
void set_allocation_gate(AllocationGate gate, ReleaseWatch watch = nullptr);

/// Owns uninitialised memory for plain values. It can be moved, not copied.
template <class T>
class Buffer {
 public:
  Buffer() = default;
  ~Buffer() { free_bytes(data_); }
  Buffer(Buffer&& other) noexcept : data_(other.data_), size_(other.size_) { other.data_ = nullptr, other.size_ = 0; }
  Buffer& operator=(Buffer&& other) noexcept {
    if (this != &other) {
      free_bytes(data_);
      data_ = other.data_, size_ = other.size_;
      other.data_ = nullptr, other.size_ = 0;
    }
    return *this;
  }

  /// False if there is no memory or the number of bytes overflows. The buffer is then empty.
  [[nodiscard]] bool allocate(std::int64_t count) {
    *this = Buffer();
    if (count < 0 || static_cast<std::uint64_t>(count) > std::numeric_limits<std::size_t>::max() / sizeof(T))
      return false;
    data_ = static_cast<T*>(allocate_bytes(static_cast<std::size_t>(count) * sizeof(T)));
    size_ = data_ ? count : 0;
    return data_ != nullptr;
  }

  [[nodiscard]] T* data() { return data_; }
  [[nodiscard]] const T* data() const { return data_; }
  [[nodiscard]] std::int64_t size() const { return size_; }
  T& operator[](std::int64_t i) { return data_[i]; }
  const T& operator[](std::int64_t i) const { return data_[i]; }
  explicit operator bool() const { return data_ != nullptr; }

 private:
  T* data_ = nullptr;
  std::int64_t size_ = 0;
};

}  // namespace headwise
