#include "layer/stored_product.h"

#include <algorithm>

#include "base/memory.h"
#include "kernel/kernel_table.h"
#include "layer/byte_product.h"
#include "layer/scaled_sums.h"

namespace headwise {

namespace {

// Tiles for each worker: enough to share them out evenly.
constexpr std::int64_t kTilesPerWorker = 4;
// Tiles have a multiple of this many columns: whole cache lines of every type, and four vectors of any instruction set.
constexpr std::int64_t kUnit = 64;
// A row of a weight [in, out] is read in runs of at least so many bytes, if every worker still has a tile. Processors
// do not prefetch shorter ones.
constexpr std::int64_t kRunBytes = 1024;
// The sums of a tile, which take 16 KiB, stay in the first-level cache while rows of the weight are added.
constexpr std::int64_t kMostSums = 4096;

bool is_out_in(const LinearWeights& weights) { return weights.in_stride == 1 && weights.out_stride != 1; }

/// Whether inputs are multiplied as whole numbers.
bool needs_fixed_point(const LinearWeights& weights) {
  return is_out_in(weights) && weights.weight.dtype == Dtype::int8;
}

std::int64_t tile_columns(const LinearWeights& weights, std::int64_t rows, std::int64_t out, int workers) {
  const std::int64_t most = kMostSums / rows, run = out / workers * size_of(weights.weight.dtype);
  const std::int64_t tiles =
      is_out_in(weights) ? kTilesPerWorker : std::clamp(run / kRunBytes, std::int64_t{1}, kTilesPerWorker);
  return std::min(round_up(divide_up(out, tiles * workers), kUnit), most);
}

}  // namespace

bool StoredProduct::suits(const LinearWeights& weights, std::int64_t rows) {
  return rows > 0 && rows <= kFewRows && (weights.in_stride == 1 || weights.out_stride == 1);
}

Status StoredProduct::run(ThreadPool& pool, const ConstTokenRows& x, const TokenRows& y) const {
  const std::int64_t rows = x.count(), width = tile_columns(weights_, rows, out_, pool.size());
  const std::int64_t inputs = rows * in_, room = needs_fixed_point(weights_) ? fixed_point_floats(in_) : 0;
  const std::int64_t floats = inputs + out_ + rows * room + pool.size() * rows * width;
  Buffer<float> scratch;
  if (!scratch.allocate(floats)) return Status::out_of_memory(floats * static_cast<std::int64_t>(sizeof(float)));
  float *const input = scratch.data(), *const bias = input + inputs, *const rooms = bias + out_;
  float* const all_sums = rooms + rows * room;
  gather(x, 0, rows, 0, in_, input);
  FixedPoint fixed[kFewRows];
  for (std::int64_t r = 0; needs_fixed_point(weights_) && r < rows; ++r)
    fixed[r] = to_fixed_point(input + r * in_, in_, rooms + r * room);
  const RowRun bias_run{.data = weights_.bias.data, .dtype = weights_.bias.dtype, .row_stride = 1, .count = out_};
  if (weights_.bias.data)
    kernel_table().widen(bias_run, 1, bias, 1);
  else
    std::fill_n(bias, out_, 0.0f);

  pool.parallel_for(divide_up(out_, width), [&](std::int64_t tile, int worker) {
    const std::int64_t column = tile * width, columns = std::min(width, out_ - column);
    float* const sums = all_sums + worker * rows * width;
    for (std::int64_t r = 0; r < rows; ++r)
      if (weights_.scales)
        std::fill_n(sums + r * width, columns, 0.0f);
      else
        std::copy_n(bias + column, columns, sums + r * width);
    multiply(input, fixed, rows, column, columns, sums, width);
    for (std::int64_t r = 0; weights_.scales && r < rows; ++r)
      scale_sums(weights_.scales + column, bias + column, columns, sums + r * width);
    scatter(sums, width, 0, rows, column, columns, y);
  });
  return {};
}

void StoredProduct::multiply(const float* x, const FixedPoint* fixed, std::int64_t rows, std::int64_t column,
                             std::int64_t columns, float* sums, std::int64_t width) const {
  const bool out_in = is_out_in(weights_);
  const std::int64_t stride = out_in ? weights_.out_stride : weights_.in_stride;
  const std::int64_t first = column * weights_.out_stride * size_of(weights_.weight.dtype);
  const RowRun run{.data = static_cast<const char*>(weights_.weight.data) + first,
                   .dtype = weights_.weight.dtype,
                   .row_stride = static_cast<std::ptrdiff_t>(stride),
                   .count = out_in ? columns : in_};
  for (std::int64_t r = 0; needs_fixed_point(weights_) && r < rows; ++r)
    multiply_row_by_bytes(kernel_table(), x + r * in_, fixed[r], run, sums + r * width);
  if (needs_fixed_point(weights_)) return;
  if (out_in)
    kernel_table().multiply_stored_transposed(x, in_, rows, run, in_, sums, width);
  else
    kernel_table().multiply_stored(x, in_, rows, run, columns, sums, width);
}

}  // namespace headwise
