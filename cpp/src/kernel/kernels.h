#pragma once

// All kernels, written once over xsimd's architecture type. Each instruction set has a file of two lines that
// instantiates `make_kernel_table`. No other file includes this one.
//
// Everything in these headers is in an unnamed namespace. The files that include them are compiled for different
// machines, so the linker must not let them share a function.

#include "kernel/elementwise.h"
#include "kernel/few_rows.h"
#include "kernel/formula_steps.h"
#include "kernel/kernel_table.h"
#include "kernel/panels.h"
#include "kernel/products.h"
#include "kernel/softmax_step.h"
#include "kernel/stored_weights.h"

namespace headwise::kernels {
namespace {

/// @tparam Rows, Vectors  the block of rows and column vectors whose sums `multiply` keeps in registers
template <class Arch, int Rows = kRowStep<Arch>, int Vectors = kPanelVectors<Arch>>
constexpr KernelTable make_kernel_table(const char* name, const char* block = "") {
  return {name,
          block,
          static_cast<int>(Floats<Arch>::size),
          kPanelWidth<Arch>,
          kRowStep<Arch>,
          multiply<Arch, Rows, Vectors, false>,
          multiply<Arch, Rows, Vectors, true>,
          multiply_streamed<Arch>,
          pack_transposed<Arch>,
          pack<Arch>,
          widen<Arch>,
          dot_rows<Arch>,
          weighted_sum<Arch>,
          multiply_stored<Arch>,
          multiply_stored_transposed<Arch>,
          softmax_step<Arch>,
          exponentials<Arch>,
          gradient_step<Arch>,
          softcap<Arch>,
          scale<Arch>,
          subtract_distances<Arch>,
          add_bias<Arch>,
          hide<Arch>,
          make_formula_steps<Arch>(),
          multiply_bytes};
}

}  // namespace
}  // namespace headwise::kernels
