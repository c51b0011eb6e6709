#pragma once

#include <cstdint>

#include "base/memory.h"
#include "base/rules.h"
#include "headwise/thread_pool.h"
#include "kernel/kernel_table.h"
#include "layer/token_rows.h"

namespace headwise {

/// What WeightGradient computes, from as many tokens of X [.., in] and dY [.., out].
struct WeightGradientJob {
  ConstTokenRows x, dy;
  std::int64_t in = 0, out = 0;
  float* weight = nullptr;  ///< null: not wanted. Element (i, o) is weight[i * in_stride + o * out_stride].
  std::int64_t in_stride = 0, out_stride = 1;
  float* bias = nullptr;  ///< [out]; null: not wanted
};

/// The gradient of Y = X W + b with respect to W and b: dW = X^T dY, and db, the sum of dY over all tokens. A token
/// whose dY is 0 adds nothing to dW, whatever X holds.
///
/// dW is computed in parts, each over some of the tokens, which are then added in order. The shape alone says what the
/// parts are, so the bits do not depend on the threads.
class WeightGradient {
 public:
  /// Makes room for the parts. The tokens are not read yet.
  [[nodiscard]] Error create(const WeightGradientJob& job);
  /// `scratch` has scratch_floats() for each worker.
  void run(ThreadPool& pool, Buffer<float>& scratch);
  [[nodiscard]] static std::int64_t scratch_floats();

 private:
  /// The tokens of a part, and how many parts there are.
  struct Parts {
    std::int64_t tokens = 1, count = 0;
    Parts() = default;
    Parts(std::int64_t all, std::int64_t wanted, std::int64_t unit);
  };

  void multiply(std::int64_t task, float* scratch);
  void add_products(std::int64_t task);
  void add_tokens(std::int64_t part, float* scratch);
  void add_sums();

  WeightGradientJob job_;
  const KernelTable* kernels_ = nullptr;
  // dW as L^T R, whose rows are the rows of the stored weight: L is X, or dY if W is stored [out, in].
  bool swapped_ = false;               ///< L is dY
  std::int64_t left_ = 0, right_ = 0;  ///< columns of L and R
  std::int64_t left_tiles_ = 0, right_tiles_ = 0;
  Parts product_parts_, sum_parts_;
  std::int64_t ld_ = 0, part_floats_ = 0;  ///< a part of the product is [left, ld], and some rows of padding
  Buffer<float> products_;
  Buffer<float> sums_;  ///< [parts, out]
};

}  // namespace headwise
