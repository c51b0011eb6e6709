#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/workspace.h"
#include "headwise/layer.h"
#include "headwise/thread_pool.h"
#include "kernel/kernel_table.h"
#include "layer/head_steps.h"
#include "layer/token_rows.h"

namespace headwise {

struct ProjectionJob;

/// Y = X W + b, with W [in, out] packed into the kernel's panels.
///
/// Work is cut into tiles of rows by columns. Every element is the sum b + x_0 w_0 + x_1 w_1 + … in that order,
/// whatever the tiles; with int8 it is (x_0 w_0 + x_1 w_1 + …) s + b. So the bits of a row do not depend on the number
/// of threads, the batch size and the row's place in the batch.
class Projection {
 public:
  /// @param head_dim  columns that are stored together: a tile has whole heads. 1 if there are no HeadSteps.
  [[nodiscard]] Status create(const LinearWeights& weights, std::int64_t in, std::int64_t out, std::int64_t head_dim);

  /// Y = X W^T, with the weight of `forward` and no bias: the way back of a gradient.
  [[nodiscard]] Status create_transposed(const Projection& forward);

  /// Packs other weights of the same size. A null weight or bias stays as it is.
  void update(const LinearWeights& weights);

  [[nodiscard]] std::int64_t bytes() const;

  /// Floats of scratch that a worker needs.
  [[nodiscard]] std::int64_t scratch_floats() const;

 private:
  friend void project(ThreadPool& pool, std::span<const ProjectionJob> jobs, Buffer<float>& scratch);
  struct Tile;
  [[nodiscard]] Status allocate(const KernelTable& kernels, std::int64_t in, std::int64_t out, std::int64_t head_dim);
  [[nodiscard]] std::int64_t most_columns() const;
  [[nodiscard]] std::int64_t tile_columns(std::int64_t rows) const;
  void compute(const ProjectionJob& job, const Tile& tile, float* scratch) const;

  const KernelTable* kernels_ = nullptr;
  std::int64_t in_ = 0, out_ = 0, padded_out_ = 0;
  std::int64_t unit_ = 1;  ///< tiles have a multiple of this many columns
  Buffer<float> panels_;
  Buffer<float> bias_;    ///< 0 without a bias, and from `out` on
  Buffer<float> scales_;  ///< of a weight of int8, whose panels hold whole numbers; else empty
};

/// Rows [first, first + count) of a weight W.
struct WeightPart {
  std::int64_t first = 0, count = 0;
};

/// Reads X [.., in] and writes Y [.., out], float32 or float16. Both have the same batch size and length.
struct ProjectionJob {
  const Projection* projection = nullptr;
  ConstTokenRows x;
  TokenRows y;
  HeadSteps heads = {};
  bool adds = false;  ///< whether it adds to Y, which is float32
  /// If given, X has only the features of these rows of W, and the bias is left out.
  std::optional<WeightPart> part = {};
};

/// Computes all jobs in one parallel region. `scratch` has scratch_floats() of the largest for each worker.
void project(ThreadPool& pool, std::span<const ProjectionJob> jobs, Buffer<float>& scratch);

}  // namespace headwise
