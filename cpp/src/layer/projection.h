#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/memory.h"
#include "base/numbers.h"
#include "base/rules.h"
#include "headwise/layer.h"
#include "headwise/linear.h"
#include "headwise/thread_pool.h"
#include "kernel/kernel_table.h"
#include "kernel/row_run.h"
#include "layer/head_steps.h"
#include "layer/token_rows.h"

namespace headwise {

struct ProjectionJob;

/// Y = X W + b, with W [in, out] in the kernel's panels: float32, float16 or bfloat16. Or W is kept [out, in] in int8.
/// Tiles of few rows read what is kept where it lies. Other tiles widen their part of it into scratch, as panels.
///
/// Work is cut into tiles of rows by columns. Every element is the sum b + x_0 w_0 + x_1 w_1 + … in that order,
/// whatever the tiles; with int8 it is (x_0 w_0 + x_1 w_1 + …) s + b. So the bits of a row do not depend on the number
/// of threads, the batch size and the row's place in the batch. Only kept int8 has other sums for up to kFewRows rows
/// in all: those of FixedPoint.
class Projection {
 public:
  /// @param head_dim  columns that are stored together: a tile has whole heads. 1 if there are no HeadSteps.
  /// @param kept  float16, bfloat16 or int8: weights are rounded to it. float32: weights of int8 are packed as they
  /// are.
  [[nodiscard]] Error create(const LinearWeights& weights, std::int64_t in, std::int64_t out, std::int64_t head_dim,
                             Dtype kept = Dtype::float32);

  /// Reads panels where they lie. They must outlive it.
  [[nodiscard]] Error view(const PanelWeights& weights, std::int64_t in, std::int64_t out);

  /// Y = X W^T, with the weight of `forward` and no bias: the way back of a gradient.
  [[nodiscard]] Error create_transposed(const Projection& forward);

  /// Packs other weights of the same size. A null weight or bias stays as it is.
  void update(const LinearWeights& weights);

  [[nodiscard]] std::int64_t bytes() const;

  /// Floats of scratch that a worker needs.
  [[nodiscard]] std::int64_t scratch_floats() const;

 private:
  friend void project(ThreadPool& pool, std::span<const ProjectionJob> jobs, Buffer<float>& scratch);
  struct Tile;
  void set_size(const KernelTable& kernels, std::int64_t in, std::int64_t out, std::int64_t head_dim);
  [[nodiscard]] Error allocate(const KernelTable& kernels, std::int64_t in, std::int64_t out, std::int64_t head_dim,
                               Dtype kept);
  [[nodiscard]] Error allocate_bias();
  void set_bias(ConstArray bias);
  void set_weight(const LinearWeights& weights);
  void round(const LinearWeights& weights);
  void quantise(const LinearWeights& weights);
  [[nodiscard]] std::int64_t most_columns() const;
  [[nodiscard]] std::int64_t tile_columns(std::int64_t rows, int workers) const;
  [[nodiscard]] ConstArray panels(std::int64_t column, std::int64_t k) const;
  [[nodiscard]] bool reads_kept(const Tile& tile) const;
  void multiply_panels(const float* input, const Tile& tile, std::int64_t k, std::int64_t depth, float* output) const;
  void multiply_kept(const float* input, const Tile& tile, std::int64_t k, std::int64_t depth, float* output,
                     float* scratch) const;
  void compute(const ProjectionJob& job, const Tile& tile, float* scratch) const;

  const KernelTable* kernels_ = nullptr;
  std::int64_t in_ = 0, out_ = 0, padded_out_ = 0;
  std::int64_t unit_ = 1;  ///< tiles have a multiple of this many columns
  Dtype kept_ = Dtype::float32;
  Buffer<std::uint8_t> numbers_;     ///< panels; int8: rows [out, in]
  const void* elsewhere_ = nullptr;  ///< panels that are viewed
  Buffer<float> row_;                ///< the weights of an output while they are rounded
  Buffer<float> bias_;               ///< 0 without a bias, and from `out` on
  Buffer<float> scales_;             ///< of a weight of int8, whose panels hold whole numbers; else empty
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

/// From more rows on packing pays, if the weight is in a cache; if it comes from memory, from twice as many on.
inline constexpr std::int64_t kFewRows = 8;

/// Whether a product of so many rows is faster without packing, and the strides of the weight allow it.
[[nodiscard]] bool suits_in_place(const LinearWeights& weights, std::int64_t rows);

/// Y = X W + b for few rows, with W [in, out]. It reads the weight once, where it lies, and widens it in registers.
///
/// Workers share out the columns. Every element is summed as a Projection sums it, so it has the same bits. int8 that
/// is stored [out, in] is multiplied with whole numbers instead, see FixedPoint.
[[nodiscard]] Error multiply_in_place(ThreadPool& pool, const LinearWeights& weights, std::int64_t in, std::int64_t out,
                                      const ConstTokenRows& x, const TokenRows& y);

}  // namespace headwise
