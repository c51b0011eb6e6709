#include "layer/projection.h"

#include <algorithm>

#include "base/element.h"
#include "base/sizes.h"

namespace headwise {

namespace {

// Under wasm a panel of a slice (kDepth x 16 floats) takes 16 KiB. The input of a tile takes 64 KiB, its panels 128
// KiB.
constexpr std::int64_t kDepth = 256;
constexpr std::int64_t kRows = 64;
constexpr std::int64_t kColumns = 128;  // a multiple of every kernel's panel width

constexpr std::int64_t kInputFloats = kRows * kDepth;
constexpr std::int64_t kOutputFloats = kRows * kColumns;

}  // namespace

bool ProjectionScratch::allocate(const ThreadPool& pool) {
  return floats_.allocate(pool.size() * (kInputFloats + kOutputFloats));
}

float* ProjectionScratch::input(int worker) { return floats_.data() + worker * (kInputFloats + kOutputFloats); }
float* ProjectionScratch::output(int worker) { return input(worker) + kInputFloats; }

/// Rows [row, row + rows) of all tokens by columns [column, column + columns).
struct Projection::Tile {
  std::int64_t row, rows, column, columns;
};

Status Projection::create(const LinearWeights& weights, std::int64_t in, std::int64_t out) {
  kernels_ = &kernel_table();
  in_ = in;
  out_ = out;
  padded_out_ = round_up(out, kernels_->panel_width);
  std::int64_t floats = 0;
  if (!multiply_sizes(in, padded_out_, &floats))
    return Status::error(StatusCode::invalid_shape, "the size of a weight overflows");
  if (!panels_.allocate(floats)) return Status::out_of_memory(floats * 4);
  if (!bias_.allocate(padded_out_)) return Status::out_of_memory(padded_out_ * 4);

  for (std::int64_t k = 0; k < in; k += kDepth) {
    const std::int64_t depth = std::min(kDepth, in - k);
    const char* row_k =
        static_cast<const char*>(weights.weight.data) + k * weights.in_stride * size_of(weights.weight.dtype);
    const RowRun slice{.data = row_k,
                       .dtype = weights.weight.dtype,
                       .row_stride = static_cast<std::ptrdiff_t>(weights.in_stride),
                       .column_stride = static_cast<std::ptrdiff_t>(weights.out_stride),
                       .count = depth};
    kernels_->pack(slice, out, 0, depth, panels_.data() + k * padded_out_);
  }
  std::fill(bias_.data(), bias_.data() + padded_out_, 0.0f);
  const RowRun bias{.data = weights.bias.data, .dtype = weights.bias.dtype, .row_stride = 1, .count = out};
  if (weights.bias.data) kernels_->widen(bias, 1, bias_.data(), 1);
  return {};
}

std::int64_t Projection::bytes() const { return 4 * (panels_.size() + bias_.size()); }

void Projection::apply(ThreadPool& pool, ProjectionScratch& scratch, const ConstTokenRows& x,
                       const TokenRows& y) const {
  const std::int64_t rows = x.batch_size * x.length;
  const std::int64_t column_tiles = divide_up(out_, kColumns);
  pool.parallel_for(divide_up(rows, kRows) * column_tiles, [&](std::int64_t task, int worker) {
    const std::int64_t row = task / column_tiles * kRows, column = task % column_tiles * kColumns;
    compute(x, y, {row, std::min(kRows, rows - row), column, std::min(kColumns, out_ - column)}, scratch.input(worker),
            scratch.output(worker));
  });
}

namespace {

/// Where token `row`, counted over all batches, begins.
template <class Tokens>
std::int64_t token_offset(const Tokens& tokens, std::int64_t row) {
  return row / tokens.length * tokens.strides.batch + row % tokens.length * tokens.strides.position;
}

/// Copies features [k, k + depth) of `rows` tokens to `input`.
template <class Element>
void gather(const Element* x, const ConstTokenRows& tokens, std::int64_t row, std::int64_t rows, std::int64_t k,
            std::int64_t depth, float* input) {
  const std::int64_t stride = tokens.strides.feature;
  const Element* x_r[kRows];
  for (std::int64_t r = 0; r < rows; ++r) x_r[r] = x + token_offset(tokens, row + r) + k * stride;
  if (stride == 1) {
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t d = 0; d < depth; ++d) input[r * depth + d] = load_element(x_r[r] + d);
  } else {  // features in the outer loop, since tokens are neighbours in memory
    for (std::int64_t d = 0; d < depth; ++d)
      for (std::int64_t r = 0; r < rows; ++r) input[r * depth + d] = load_element(x_r[r] + d * stride);
  }
}

template <class Element>
void scatter(const float* output, std::int64_t width, std::int64_t row, std::int64_t rows, std::int64_t column,
             std::int64_t columns, const TokenRows& tokens, Element* y) {
  const std::int64_t stride = tokens.strides.feature;
  for (std::int64_t r = 0; r < rows; ++r) {
    Element* y_r = y + token_offset(tokens, row + r) + column * stride;
    for (std::int64_t c = 0; c < columns; ++c) store_element(y_r + c * stride, output[r * width + c]);
  }
}

}  // namespace

void Projection::compute(const ConstTokenRows& x, const TokenRows& y, const Tile& tile, float* input,
                         float* output) const {
  const std::int64_t width = kernels_->panel_width;
  const std::int64_t padded_rows = round_up(tile.rows, kernels_->row_step);
  const std::int64_t padded_columns = round_up(tile.columns, width);
  for (std::int64_t r = 0; r < padded_rows; ++r)
    std::copy_n(bias_.data() + tile.column, padded_columns, output + r * padded_columns);
  for (std::int64_t k = 0; k < in_; k += kDepth) {
    const std::int64_t depth = std::min(kDepth, in_ - k);
    if (x.array.dtype == Dtype::float32)
      gather(static_cast<const float*>(x.array.data), x, tile.row, tile.rows, k, depth, input);
    else
      gather(static_cast<const std::uint16_t*>(x.array.data), x, tile.row, tile.rows, k, depth, input);
    std::fill(input + tile.rows * depth, input + padded_rows * depth, 0.0f);
    kernels_->multiply(input, depth, panels_.data() + k * padded_out_ + tile.column * depth,
                       depth * kernels_->panel_width, depth, padded_columns / width, output, padded_columns,
                       padded_rows, true);
  }
  if (y.array.dtype == Dtype::float32)
    scatter(output, padded_columns, tile.row, tile.rows, tile.column, tile.columns, y,
            static_cast<float*>(y.array.data));
  else
    scatter(output, padded_columns, tile.row, tile.rows, tile.column, tile.columns, y,
            static_cast<std::uint16_t*>(y.array.data));
}

}  // namespace headwise
