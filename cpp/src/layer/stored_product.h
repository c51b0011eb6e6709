#pragma once

#include <cstdint>

#include "base/numbers.h"
#include "headwise/layer.h"
#include "headwise/status.h"
#include "headwise/thread_pool.h"
#include "layer/token_rows.h"

namespace headwise {

/// From more rows on packing pays, if the weight is in a cache; if it comes from memory, from twice as many on.
inline constexpr std::int64_t kFewRows = 8;

/// Y = X W + b for few rows. It reads the weight once, where it lies, and widens it in registers.
///
/// Workers share out the columns. Every element is summed as a Projection sums it, so it has the same bits. int8 that
/// is stored [out, in] is multiplied with whole numbers instead, see FixedPoint.
class StoredProduct {
 public:
  /// Whether a product of so many rows is faster without packing, and the strides of the weight allow it.
  [[nodiscard]] static bool suits(const LinearWeights& weights, std::int64_t rows);

  StoredProduct(const LinearWeights& weights, std::int64_t in, std::int64_t out)
      : weights_(weights), in_(in), out_(out) {}

  [[nodiscard]] Status run(ThreadPool& pool, const ConstTokenRows& x, const TokenRows& y) const;

 private:
  /// @param fixed  the rows of x as whole numbers, for int8 [out, in]
  void multiply(const float* x, const FixedPoint* fixed, std::int64_t rows, std::int64_t column, std::int64_t columns,
                float* sums, std::int64_t width) const;

  LinearWeights weights_;
  std::int64_t in_, out_;
};

}  // namespace headwise
