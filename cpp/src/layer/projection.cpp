#include "layer/projection.h"

#include <algorithm>
#include <numeric>

#include "base/element.h"
#include "base/sizes.h"

namespace headwise {

namespace {

// X of a tile, which takes 16 KiB, and the panel that it is multiplied with, which takes 8 KiB under wasm, fit the
// first-level cache with the next panel, which is read ahead. A tile of one row needs no panel twice, so it takes all
// features that fit.
constexpr std::int64_t kRows = 32;
constexpr std::int64_t kDepth = 128;
constexpr std::int64_t kInputFloats = kRows * kDepth;
// Columns of a tile, which share one reading of X.
constexpr std::int64_t kColumns = 384;
// Tiles have fewer columns if there are few rows, so that several workers share them.
constexpr std::int64_t kEnoughTiles = 16;

}  // namespace

/// Rows [row, row + rows) of all tokens by columns [column, column + columns).
struct Projection::Tile {
  std::int64_t row, rows, column, columns;
};

Status Projection::create(const LinearWeights& weights, std::int64_t in, std::int64_t out, std::int64_t head_dim) {
  kernels_ = &kernel_table();
  in_ = in;
  out_ = out;
  padded_out_ = round_up(out, kernels_->panel_width);
  // Two panels, since a row of X is multiplied with two at a time.
  unit_ = std::min(std::lcm(head_dim, std::int64_t{2} * kernels_->panel_width), padded_out_);
  std::int64_t floats = 0;
  if (!multiply_sizes(in, padded_out_, &floats))
    return Status::error(StatusCode::invalid_shape, "the size of a weight overflows");
  if (!panels_.allocate(floats)) return Status::out_of_memory(floats * 4);
  if (!bias_.allocate(padded_out_)) return Status::out_of_memory(padded_out_ * 4);

  const RowRun rows{.data = weights.weight.data,
                    .dtype = weights.weight.dtype,
                    .row_stride = static_cast<std::ptrdiff_t>(weights.in_stride),
                    .column_stride = static_cast<std::ptrdiff_t>(weights.out_stride),
                    .count = in};
  kernels_->pack(rows, out, 0, in, panels_.data());
  std::fill(bias_.data(), bias_.data() + padded_out_, 0.0f);
  const RowRun bias{.data = weights.bias.data, .dtype = weights.bias.dtype, .row_stride = 1, .count = out};
  if (weights.bias.data) kernels_->widen(bias, 1, bias_.data(), 1);
  return {};
}

std::int64_t Projection::bytes() const { return 4 * (panels_.size() + bias_.size()); }

std::int64_t Projection::most_columns() const { return std::max(kColumns / unit_, std::int64_t{1}) * unit_; }

std::int64_t Projection::scratch_floats() const { return kInputFloats + kRows * most_columns(); }

std::int64_t Projection::tile_columns(std::int64_t rows) const {
  const std::int64_t tiles = divide_up(kEnoughTiles, std::max(divide_up(rows, kRows), std::int64_t{1}));
  return std::min(round_up(divide_up(padded_out_, tiles), unit_), most_columns());
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
  for (std::int64_t r = 0; tokens.added && r < rows; ++r)
    if (const float* added = tokens.added[row + r])
      for (std::int64_t d = 0; d < depth; ++d) input[r * depth + d] += added[k + d];
}

template <class Element>
void scatter(const float* output, std::int64_t width, std::int64_t row, std::int64_t rows, std::int64_t column,
             std::int64_t columns, const TokenRows& tokens, Element* y) {
  const std::int64_t stride = tokens.strides.feature;
  for (std::int64_t r = 0; r < rows; ++r) {
    const float* output_r = output + r * width;
    Element* y_r = y + token_offset(tokens, row + r) + column * stride;
    if (stride == 1)
      for (std::int64_t c = 0; c < columns; ++c) store_element(y_r + c, output_r[c]);
    else
      for (std::int64_t c = 0; c < columns; ++c) store_element(y_r + c * stride, output_r[c]);
  }
}

}  // namespace

void Projection::compute(const ProjectionJob& job, const Tile& tile, float* scratch) const {
  float *const input = scratch, *const output = scratch + kInputFloats;
  const std::int64_t width = kernels_->panel_width, padded_columns = round_up(tile.columns, width);
  for (std::int64_t r = 0; r < tile.rows; ++r)
    std::copy_n(bias_.data() + tile.column, padded_columns, output + r * padded_columns);
  const float* const panels = panels_.data() + tile.column * in_;
  const std::int64_t slice = tile.rows == 1 ? kInputFloats : kDepth;
  for (std::int64_t k = 0; k < in_; k += slice) {
    const std::int64_t depth = std::min(slice, in_ - k);
    if (job.x.array.dtype == Dtype::float32)
      gather(static_cast<const float*>(job.x.array.data), job.x, tile.row, tile.rows, k, depth, input);
    else
      gather(static_cast<const std::uint16_t*>(job.x.array.data), job.x, tile.row, tile.rows, k, depth, input);
    const float* next = k + 2 * depth <= in_ ? panels + (k + depth) * width : nullptr;
    kernels_->multiply_streamed(input, depth, panels + k * width, in_ * width, depth, padded_columns / width, next,
                                output, padded_columns, tile.rows);
  }
  for (std::int64_t r = 0; job.heads.any() && r < tile.rows; ++r)
    for (std::int64_t c = 0; c < tile.columns; c += job.heads.head_dim)
      job.heads.apply(tile.row + r, output + r * padded_columns + c);
  if (job.y.array.dtype == Dtype::float32)
    scatter(output, padded_columns, tile.row, tile.rows, tile.column, tile.columns, job.y,
            static_cast<float*>(job.y.array.data));
  else
    scatter(output, padded_columns, tile.row, tile.rows, tile.column, tile.columns, job.y,
            static_cast<std::uint16_t*>(job.y.array.data));
}

void project(ThreadPool& pool, std::span<const ProjectionJob> jobs, Buffer<float>& scratch) {
  const auto rows_of = [](const ProjectionJob& job) { return job.x.batch_size * job.x.length; };
  const auto tiles_of = [&](const ProjectionJob& job) {
    return divide_up(rows_of(job), kRows) * divide_up(job.projection->out_, job.projection->tile_columns(rows_of(job)));
  };
  std::int64_t tasks = 0;
  for (const ProjectionJob& job : jobs) tasks += tiles_of(job);
  pool.parallel_for(tasks, [&](std::int64_t task, int worker) {
    const ProjectionJob* job = jobs.data();
    for (; task >= tiles_of(*job); ++job) task -= tiles_of(*job);
    // Rows first: the weights of a tile's columns then stay in a cache for the next rows.
    const Projection& projection = *job->projection;
    const std::int64_t rows = rows_of(*job), row_tiles = divide_up(rows, kRows);
    const std::int64_t columns = projection.tile_columns(rows);
    const std::int64_t row = task % row_tiles * kRows, column = task / row_tiles * columns;
    projection.compute(*job, {row, std::min(kRows, rows - row), column, std::min(columns, projection.out_ - column)},
                       scratch.data() + worker * (scratch.size() / pool.size()));
  });
}

}  // namespace headwise
