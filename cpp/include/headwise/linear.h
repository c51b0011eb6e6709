#pragma once

#include <cstdint>

#include "headwise/layer.h"
#include "headwise/status.h"
#include "headwise/thread_pool.h"

/// The core's product as an operation of its own: Y = X W + b, and its gradient
///
///     dX = dY W^T,   dW = X^T dY,   db = sum over the rows of dY
///
/// Rows of X and Y are contiguous. Sums run in float32. The bits of a row of Y and dX do not depend on the other rows
/// or the threads, those of dW and db not on the threads.
///
/// A weight of int8 has one scale s for each output: Y = (X W) s + b, with the whole numbers of W. Up to 8 rows read
/// the weight once, where it lies: what a step of generating text needs. More rows pack it first, as float32.
///
/// Up to 8 rows of X are multiplied with int8 that is stored [out, in] as whole numbers. For that each element of X is
/// rounded, by at most 2^-29 of the largest magnitude in its block of 128 elements, or by 2^-142 if that is more. So
/// the bits of a row depend on whether there are more than 8 rows. Infinities and NaNs give what they give in float32.
namespace headwise {

struct LinearShape {
  std::int64_t rows = 0, in = 1, out = 1;
};

/// `weights` as for a layer: strides describe [in, out] or [out, in]; float32, float16, bfloat16 or int8. `y` [rows,
/// out].
[[nodiscard]] Status linear(ThreadPool& pool, const LinearShape& shape, ConstArray x, const LinearWeights& weights,
                            MutableArray y);

/// A weight [in, out] in panels, the order in which the kernels read it from memory without a pause: panel p has
/// columns p * width to p * width + width - 1, row after row. Columns from `out` on are 0. Sums have the bits that the
/// same weight gives as `LinearWeights`.
struct PanelWeights {
  /// [ceil(out / width), in, width], with the width of `panel_width`: float32, float16 or bfloat16. They begin at a
  /// multiple of 64 bytes.
  ConstArray panels{};
  ConstArray bias{};  ///< float32, float16 or bfloat16
};

/// Columns of a panel. It depends on the processor, and is 16 under WebAssembly.
[[nodiscard]] int panel_width();

[[nodiscard]] Status linear(ThreadPool& pool, const LinearShape& shape, ConstArray x, const PanelWeights& weights,
                            MutableArray y);

/// The weight is float32, float16 or bfloat16. Null is not wanted. `weight` has the strides of the weight that was
/// given: with them no two elements may lie in one place.
struct LinearGradients {
  float* input = nullptr;   ///< [rows, in]
  float* weight = nullptr;  ///< in x out, with in_stride and out_stride of `weights`
  float* bias = nullptr;    ///< [out]
};
[[nodiscard]] Status linear_backward(ThreadPool& pool, const LinearShape& shape, ConstArray x,
                                     const LinearWeights& weights, ConstArray output_gradient,
                                     const LinearGradients& gradients);

}  // namespace headwise
