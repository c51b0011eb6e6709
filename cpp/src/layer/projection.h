#pragma once

#include <cstdint>

#include "base/strides.h"
#include "base/workspace.h"
#include "headwise/layer.h"
#include "headwise/thread_pool.h"
#include "kernel/kernel_table.h"

namespace headwise {

/// Rows of features in the memory order of a layer. Feature f of token (b, s) is element
/// b * batch + s * position + f * feature of the array. `strides.head` is not used.
struct TokenRows {
  MutableArray array;
  Strides strides;
  std::int64_t batch_size, length;
};
struct ConstTokenRows {
  ConstArray array;
  Strides strides;
  std::int64_t batch_size, length;
};

/// Scratch for projections, a piece for each worker. Its size depends on the pool only.
class ProjectionScratch {
 public:
  [[nodiscard]] bool allocate(const ThreadPool& pool);
  [[nodiscard]] float* input(int worker);
  [[nodiscard]] float* output(int worker);

 private:
  Buffer<float> floats_;
};

/// Y = X W + b, with W [in, out] packed into the kernel's panels.
///
/// W is cut into slices of `kDepth` rows, so that a panel of a slice stays in the first-level cache. The panels of a
/// slice lie one after another. Work is cut into tiles of rows by columns. The tiles depend on the shapes alone, and
/// every element is the sum b + x_0 w_0 + x_1 w_1 + … in that order. So the bits of a row do not depend on the number
/// of threads, the batch size and the row's place in the batch.
class Projection {
 public:
  [[nodiscard]] Status create(const LinearWeights& weights, std::int64_t in, std::int64_t out);

  /// Reads X [.., in] and writes Y [.., out], float32 or float16. Both have the same batch size and length.
  void apply(ThreadPool& pool, ProjectionScratch& scratch, const ConstTokenRows& x, const TokenRows& y) const;

  [[nodiscard]] std::int64_t bytes() const;

 private:
  struct Tile;
  void compute(const ConstTokenRows& x, const TokenRows& y, const Tile& tile, float* input, float* output) const;

  const KernelTable* kernels_ = nullptr;
  std::int64_t in_ = 0, out_ = 0, padded_out_ = 0;
  Buffer<float> panels_;
  Buffer<float> bias_;  ///< 0 without a bias, and from `out` on
};

}  // namespace headwise
