#pragma once

#include <cstddef>

namespace headwise::kernels {
namespace {

/// One pointer into each of Count rows of a matrix. All advance together. V8 would compute `row * stride` anew in every
/// step.
template <class T, int Count>
struct RowPointers {
  T* at[Count];
  RowPointers(T* first, std::ptrdiff_t ld) {
    for (int i = 0; i < Count; ++i) at[i] = first + i * ld;
  }
  void advance(std::ptrdiff_t step) {
    for (T*& each : at) each += step;
  }
};

}  // namespace
}  // namespace headwise::kernels
