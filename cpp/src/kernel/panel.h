#pragma once

#include <cstdint>

#include "kernel/arch.h"

namespace headwise::kernels {
namespace {

/// Vectors in a panel, and the rows that are multiplied with it at a time. There are always 8 accumulators. With 4
/// column vectors and 2 broadcast rows, or 2 and 4, they fit 16 registers. They must fit even where a compiler loads
/// all operands of a step before it multiplies, as V8 does. Four short vectors are faster than two. Four long vectors
/// would pad too much.
template <class Arch>
constexpr int kPanelVectors = Floats<Arch>::size == 4 ? 4 : 2;
template <class Arch>
constexpr int kRowStep = 8 / kPanelVectors<Arch>;
template <class Arch>
constexpr int kPanelWidth = kPanelVectors<Arch>* static_cast<int>(Floats<Arch>::size);

/// The index of element (depth k, column c) in panels of depth `depth`.
inline std::int64_t panel_index(std::int64_t depth, std::int64_t k, std::int64_t c, int width) {
  return (c / width) * depth * width + k * width + c % width;
}

}  // namespace
}  // namespace headwise::kernels
