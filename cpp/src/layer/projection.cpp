#include "layer/projection.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace headwise {

namespace {

/// How the sums of a tile begin and end: bias + x_0 w_0 + …, or (x_0 w_0 + …) scale + bias if there are scales.
struct SumEnds {
  const float *bias, *scales;  ///< from the tile's first column on; a null bias is 0

  void begin(std::int64_t columns, float* sums) const {
    if (scales || !bias)
      std::fill_n(sums, columns, 0.0f);
    else
      std::copy_n(bias, columns, sums);
  }
  void finish(std::int64_t columns, float* sums) const {
    for (std::int64_t c = 0; scales && c < columns; ++c) sums[c] = sums[c] * scales[c] + (bias ? bias[c] : 0.0f);
  }
};

/// Adds what FixedPoint leaves out.
void add_infinities(const float* x, std::int64_t count, const RowRun& weight, float* y) {
  const auto* const data = static_cast<const std::int8_t*>(weight.data);
  for (std::int64_t i = 0; i < count; ++i)
    for (std::int64_t o = 0; !std::isfinite(x[i]) && o < weight.count; ++o)
      y[o] += x[i] * static_cast<float>(data[o * weight.row_stride + i]);
}

/// A few rows of X, side by side.
struct FewRows {
  const float* x;
  std::int64_t count, depth;
  FixedPoint whole[kFewRows];  ///< the rows as whole numbers, where the weight needs them

  void make_whole(float* room) {
    for (std::int64_t r = 0; r < count; ++r)
      whole[r] = to_fixed_point(x + r * depth, depth, room + r * fixed_point_floats(depth));
  }
};

bool is_out_in(const LinearWeights& weights) { return weights.in_stride == 1 && weights.out_stride != 1; }

/// A weight that is read where it lies. Its scales are applied to sums.
struct StoredWeight {
  ConstArray array;
  std::int64_t row_stride;
  bool out_in;  ///< a row has the weights of an output; else of an input

  explicit StoredWeight(const LinearWeights& weights)
      : array(weights.weight),
        row_stride(is_out_in(weights) ? weights.out_stride : weights.in_stride),
        out_in(is_out_in(weights)) {}
  StoredWeight(ConstArray rows_of_outputs, std::int64_t in) : array(rows_of_outputs), row_stride(in), out_in(true) {}

  /// Whether few rows of X are multiplied as whole numbers.
  [[nodiscard]] bool needs_whole_numbers() const { return out_in && array.dtype == Dtype::int8; }

  /// The rows that hold some inputs and outputs, from the first input and output on.
  [[nodiscard]] RowRun rows(std::int64_t input, std::int64_t inputs, std::int64_t output, std::int64_t outputs) const {
    const std::int64_t at = out_in ? output * row_stride + input : input * row_stride + output;
    return {.data = static_cast<const char*>(array.data) + at * size_of(array.dtype),
            .dtype = array.dtype,
            .row_stride = static_cast<std::ptrdiff_t>(row_stride),
            .count = out_in ? outputs : inputs};
  }

  /// sums += X * W for the inputs from `input` on, which X has, and some outputs.
  void multiply(const KernelTable& kernels, const FewRows& x, std::int64_t input, std::int64_t output,
                std::int64_t outputs, float* sums, std::int64_t width) const {
    const RowRun run = rows(input, x.depth, output, outputs);
    if (needs_whole_numbers())
      multiply_bytes(kernels, x, run, sums, width);
    else if (out_in)
      kernels.multiply_stored_transposed(x.x, x.depth, x.count, run, x.depth, sums, width);
    else
      kernels.multiply_stored(x.x, x.depth, x.count, run, outputs, sums, width);
  }

 private:
  /// Infinities and NaNs give what they give in float32.
  static void multiply_bytes(const KernelTable& kernels, const FewRows& x, const RowRun& run, float* sums,
                             std::int64_t width) {
    for (std::int64_t r = 0; r < x.count; ++r) {
      kernels.multiply_bytes(x.whole[r], run, sums + r * width);
      if (!x.whole[r].is_finite) add_infinities(x.x + r * x.depth, x.depth, run, sums + r * width);
    }
  }
};

// Tiles for each worker: enough to share them out evenly.
constexpr std::int64_t kTilesPerWorker = 4;
// Tiles have a multiple of this many columns: whole cache lines of every type, and four vectors of any instruction set.
constexpr std::int64_t kUnit = 64;
// A row of a weight [in, out] is read in runs of at least so many bytes, if every worker still has a tile. Processors
// do not prefetch shorter ones.
constexpr std::int64_t kRunBytes = 1024;
// The sums of a tile, which take 16 KiB, stay in the first-level cache while rows of the weight are added.
constexpr std::int64_t kMostSums = 4096;

std::int64_t tile_columns(const LinearWeights& weights, std::int64_t rows, std::int64_t out, int workers) {
  const std::int64_t most = kMostSums / rows, run = out / workers * size_of(weights.weight.dtype);
  const std::int64_t tiles =
      is_out_in(weights) ? kTilesPerWorker : std::clamp(run / kRunBytes, std::int64_t{1}, kTilesPerWorker);
  return std::min(round_up(divide_up(out, tiles * workers), kUnit), most);
}

}  // namespace

bool suits_in_place(const LinearWeights& weights, std::int64_t rows) {
  return rows > 0 && rows <= kFewRows && (weights.in_stride == 1 || weights.out_stride == 1);
}

Error multiply_in_place(ThreadPool& pool, const LinearWeights& weights, std::int64_t in, std::int64_t out,
                        const ConstTokenRows& x, const TokenRows& y) {
  const StoredWeight weight(weights);
  const std::int64_t rows = x.count(), width = tile_columns(weights, rows, out, pool.size());
  const std::int64_t inputs = rows * in, room = weight.needs_whole_numbers() ? rows * fixed_point_floats(in) : 0;
  Buffer<float> scratch;
  if (Error e = scratch.allocate(inputs + out + room + pool.size() * rows * width)) return e;
  float *const input = scratch.data(), *const bias = input + inputs, *const all_sums = bias + out + room;
  gather(x, 0, rows, 0, in, input);
  FewRows few{input, rows, in};
  if (weight.needs_whole_numbers()) few.make_whole(bias + out);
  const RowRun bias_run{.data = weights.bias.data, .dtype = weights.bias.dtype, .row_stride = 1, .count = out};
  if (weights.bias.data) kernel_table().widen(bias_run, 1, bias, 1);

  pool.parallel_for(divide_up(out, width), [&](std::int64_t tile, int worker) {
    const std::int64_t column = tile * width, columns = std::min(width, out - column);
    const SumEnds ends{weights.bias.data ? bias + column : nullptr, weights.scales ? weights.scales + column : nullptr};
    float* const sums = all_sums + worker * rows * width;
    for (std::int64_t r = 0; r < rows; ++r) ends.begin(columns, sums + r * width);
    weight.multiply(kernel_table(), few, 0, column, columns, sums, width);
    for (std::int64_t r = 0; r < rows; ++r) ends.finish(columns, sums + r * width);
    scatter(sums, width, 0, rows, column, columns, y);
  });
  return {};
}

namespace {

// X of a tile, which takes 16 KiB, and the panel that it is multiplied with, which takes 8 KiB under wasm, fit the
// first-level cache with the next panel, which is read ahead. A tile of one row needs no panel twice, so it takes all
// features that fit.
constexpr std::int64_t kRows = 32;
constexpr std::int64_t kDepth = 128;
constexpr std::int64_t kInputFloats = kRows * kDepth;
static_assert(kDepth % kFixedBlock == 0, "the bits of a row must not depend on how many rows there are");
// Columns of a tile, which share one reading of X.
constexpr std::int64_t kColumns = 384;
// Tiles have fewer columns if there are few rows, so that several workers share them.
constexpr std::int64_t kEnoughTiles = 16;
// A row alone waits for memory, which is read faster in longer runs. Tiles for each worker then.
constexpr std::int64_t kTilesOfRow = 4;

}  // namespace

/// Rows [row, row + rows) of all tokens by columns [column, column + columns).
struct Projection::Tile {
  std::int64_t row, rows, column, columns;
  std::int64_t all_rows;
};

void Projection::set_size(const KernelTable& kernels, std::int64_t in, std::int64_t out, std::int64_t head_dim) {
  kernels_ = &kernels;
  in_ = in;
  out_ = out;
  padded_out_ = round_up(out, kernels_->panel_width);
  // Two panels, since a row of X is multiplied with two at a time.
  unit_ = std::min(std::lcm(head_dim, std::int64_t{2} * kernels_->panel_width), padded_out_);
}

Error Projection::allocate(const KernelTable& kernels, std::int64_t in, std::int64_t out, std::int64_t head_dim,
                           Dtype kept) {
  set_size(kernels, in, out, head_dim);
  kept_ = kept;
  std::int64_t numbers = 0, bytes = 0;
  if (!multiply_sizes(in, padded_out_, &numbers) || !multiply_sizes(numbers, size_of(kept), &bytes))
    return refuse(Rule::size, Argument::weight);
  if (kept == Dtype::int8) bytes = in * out;  // its rows need no padding
  if (Error e = numbers_.allocate(bytes)) return e;
  if (kept != Dtype::float32)
    if (Error e = row_.allocate(std::max<std::int64_t>(in, kernels_->panel_width))) return e;
  return allocate_bias();
}

Error Projection::allocate_bias() {
  if (Error e = bias_.allocate(padded_out_)) return e;
  std::fill(bias_.data(), bias_.data() + padded_out_, 0.0f);
  return {};
}

namespace {

/// Rows and columns of a weight [in, out].
struct WeightRange {
  std::int64_t input, inputs, output, outputs;
};

/// Packs a part of a weight as float32 panels of depth `inputs`. Scales are not applied.
void pack_part(const KernelTable& kernels, const LinearWeights& weights, const WeightRange& part, float* panels) {
  const auto in_stride = static_cast<std::ptrdiff_t>(weights.in_stride);
  const auto out_stride = static_cast<std::ptrdiff_t>(weights.out_stride);
  RowRun rows{.data = static_cast<const char*>(weights.weight.data) +
                      (part.input * in_stride + part.output * out_stride) * size_of(weights.weight.dtype),
              .dtype = weights.weight.dtype};
  if (is_out_in(weights)) {
    rows.row_stride = out_stride, rows.column_stride = in_stride, rows.count = part.outputs;
    const std::int64_t width = kernels.panel_width, whole = part.outputs / width * width * part.inputs;
    std::fill(panels + whole, panels + round_up(part.outputs, width) * part.inputs, 0.0f);
    kernels.pack_transposed(rows, part.inputs, 0, panels);
  } else {
    rows.row_stride = in_stride, rows.column_stride = out_stride, rows.count = part.inputs;
    kernels.pack(rows, part.outputs, 0, part.inputs, panels);
  }
}

}  // namespace

Error Projection::create(const LinearWeights& weights, std::int64_t in, std::int64_t out, std::int64_t head_dim,
                         Dtype kept) {
  if (Error e = allocate(kernel_table(), in, out, head_dim, kept)) return e;
  const bool scaled = kept == Dtype::int8 || weights.scales;
  if (scaled)
    if (Error e = scales_.allocate(padded_out_)) return e;
  std::fill(scales_.data(), scales_.data() + scales_.size(), 0.0f);
  update(weights);
  return {};
}

Error Projection::view(const PanelWeights& weights, std::int64_t in, std::int64_t out) {
  set_size(kernel_table(), in, out, 1);
  kept_ = weights.panels.dtype;
  elsewhere_ = weights.panels.data;
  if (Error e = allocate_bias()) return e;
  set_bias(weights.bias);
  return {};
}

void Projection::update(const LinearWeights& weights) {
  if (weights.weight.data) set_weight(weights);
  set_bias(weights.bias);
}

void Projection::set_weight(const LinearWeights& weights) {
  if (kept_ == Dtype::int8) return quantise(weights);
  if (kept_ != Dtype::float32) return round(weights);
  pack_part(*kernels_, weights, {0, in_, 0, out_}, reinterpret_cast<float*>(numbers_.data()));
  if (weights.scales) std::copy_n(weights.scales, out_, scales_.data());
}

void Projection::set_bias(ConstArray bias) {
  const RowRun run{.data = bias.data, .dtype = bias.dtype, .row_stride = 1, .count = out_};
  if (bias.data) kernels_->widen(run, 1, bias_.data(), 1);
}

void Projection::round(const LinearWeights& weights) {
  const std::int64_t width = kernels_->panel_width, most = std::max<std::int64_t>(in_ / width, 1);
  auto* to = reinterpret_cast<std::uint16_t*>(numbers_.data());
  for (std::int64_t o = 0; o < out_; o += width)
    for (std::int64_t k = 0; k < in_; k += most) {
      const std::int64_t depth = std::min(most, in_ - k);
      pack_part(*kernels_, weights, {k, depth, o, std::min(width, out_ - o)}, row_.data());
      if (kept_ == Dtype::bfloat16)
        floats_to_bfloats(row_.data(), depth * width, reinterpret_cast<Bfloat16*>(to));
      else
        floats_to_halves(row_.data(), depth * width, to);
      to += depth * width;
    }
}

void Projection::quantise(const LinearWeights& weights) {
  RowRun output{.data = weights.weight.data,
                .dtype = weights.weight.dtype,
                .row_stride = static_cast<std::ptrdiff_t>(weights.in_stride),
                .count = in_};
  for (std::int64_t o = 0; o < out_; ++o) {
    kernels_->widen(output, 1, row_.data(), 1);
    quantise_row(row_.data(), in_, reinterpret_cast<std::int8_t*>(numbers_.data()) + o * in_, &scales_[o]);
    output.data = static_cast<const char*>(output.data) + weights.out_stride * size_of(output.dtype);
  }
}

Error Projection::create_transposed(const Projection& forward) {
  if (Error e = allocate(*forward.kernels_, forward.out_, forward.in_, 1, Dtype::float32)) return e;
  const std::int64_t width = kernels_->panel_width;
  auto* const panels = reinterpret_cast<float*>(numbers_.data());
  if (forward.kept_ == Dtype::int8) {
    const StoredWeight stored({forward.numbers_.data(), Dtype::int8}, out_);
    kernels_->pack(stored.rows(0, out_, 0, in_), out_, 0, in_, panels);
    for (std::int64_t n = 0; n < in_ * padded_out_ / width; ++n)
      kernels_->scale(panels + n * width, width, forward.scales_[n % in_]);
    return {};
  }
  for (std::int64_t o = 0; o < in_; o += width) {  // a panel of the other holds `width` rows of this weight
    const ConstArray panel = forward.panels(o, 0);
    const RowRun rows{.data = panel.data,
                      .dtype = panel.dtype,
                      .row_stride = 1,
                      .column_stride = static_cast<std::ptrdiff_t>(width),
                      .count = std::min(width, in_ - o)};
    kernels_->pack(rows, out_, o, in_, panels);
  }
  return {};
}

std::int64_t Projection::bytes() const { return numbers_.size() + 4 * (row_.size() + bias_.size() + scales_.size()); }

std::int64_t Projection::most_columns() const { return std::max(kColumns / unit_, std::int64_t{1}) * unit_; }

std::int64_t Projection::scratch_floats() const {
  const std::int64_t panels = kept_ == Dtype::float32 ? 0 : kDepth * round_up(most_columns(), kernels_->panel_width);
  return kInputFloats + kRows * most_columns() + panels;
}

std::int64_t Projection::tile_columns(std::int64_t rows, int workers) const {
  const std::int64_t row_tiles = std::max(divide_up(rows, kRows), std::int64_t{1});
  const std::int64_t tiles = rows == 1 ? kTilesOfRow * workers : divide_up(kEnoughTiles, row_tiles);
  const std::int64_t most = rows == 1 ? kRows * most_columns() : most_columns();  // the sums have room
  return std::min(round_up(divide_up(padded_out_, tiles), unit_), most);
}

/// The panel that begins with a column, from row k on.
ConstArray Projection::panels(std::int64_t column, std::int64_t k) const {
  const auto* const numbers = static_cast<const char*>(elsewhere_ ? elsewhere_ : numbers_.data());
  return {numbers + (column * in_ + k * kernels_->panel_width) * size_of(kept_), kept_};
}

/// Whether a tile reads the kept weights in place. int8: this gives other bits, so all tiles of a call do the same.
bool Projection::reads_kept(const Tile& tile) const {
  if (kept_ == Dtype::int8) return tile.all_rows <= kFewRows;
  return kept_ == Dtype::float32 || tile.rows <= kFewRows;
}

void Projection::multiply_panels(const float* input, const Tile& tile, std::int64_t k, std::int64_t depth,
                                 float* output) const {
  const std::int64_t width = kernels_->panel_width, count = divide_up(tile.columns, width);
  const void* const next = k + 2 * depth <= in_ ? panels(tile.column, k + depth).data : nullptr;
  kernels_->multiply_streamed(input, depth, panels(tile.column, k), in_ * width, depth, count, next, output,
                              count * width, tile.rows);
}

/// For int8, and for rows of 16 bits that are too many to read them in place.
///
/// @param scratch  room for panels, or for whole numbers
void Projection::multiply_kept(const float* input, const Tile& tile, std::int64_t k, std::int64_t depth, float* output,
                               float* scratch) const {
  const std::int64_t width = kernels_->panel_width, count = divide_up(tile.columns, width);
  if (kept_ == Dtype::int8) {
    const StoredWeight stored({numbers_.data(), kept_}, in_);
    if (reads_kept(tile)) {
      FewRows few{input, tile.rows, depth};
      few.make_whole(scratch);
      return stored.multiply(*kernels_, few, k, tile.column, tile.columns, output, count * width);
    }
    kernels_->pack_transposed(stored.rows(k, depth, tile.column, tile.columns), depth, 0, scratch);
  } else {
    for (std::int64_t c = 0; c < tile.columns; c += width) {
      const ConstArray from = panels(tile.column + c, k);
      kernels_->widen({.data = from.data, .dtype = from.dtype, .count = 1}, depth * width, scratch + c * depth, 0);
    }
  }
  kernels_->multiply_streamed(input, depth, {scratch}, depth * width, depth, count, nullptr, output, count * width,
                              tile.rows);
}

void Projection::compute(const ProjectionJob& job, const Tile& tile, float* scratch) const {
  float *const input = scratch, *const output = scratch + kInputFloats;
  const std::int64_t width = kernels_->panel_width, padded_columns = round_up(tile.columns, width);
  const auto [first, in] = job.part.value_or(WeightPart{0, in_});
  const SumEnds ends{job.part ? nullptr : bias_.data() + tile.column, scales_ ? scales_.data() + tile.column : nullptr};
  for (std::int64_t r = 0; r < tile.rows; ++r) ends.begin(padded_columns, output + r * padded_columns);
  const std::int64_t slice = tile.rows == 1 && reads_kept(tile) ? kInputFloats : kDepth;
  for (std::int64_t k = 0; k < in; k += slice) {
    const std::int64_t depth = std::min(slice, in - k);
    gather(job.x, tile.row, tile.rows, k, depth, input);
    if (kept_ != Dtype::int8 && reads_kept(tile))
      multiply_panels(input, tile, first + k, depth, output);
    else
      multiply_kept(input, tile, first + k, depth, output, output + kRows * most_columns());
  }
  for (std::int64_t r = 0; r < tile.rows; ++r) ends.finish(padded_columns, output + r * padded_columns);
  for (std::int64_t r = 0; job.heads.any() && r < tile.rows; ++r)
    for (std::int64_t c = 0; c < tile.columns; c += job.heads.head_dim)
      job.heads.apply(tile.row + r, output + r * padded_columns + c);
  (job.adds ? scatter_sums : scatter)(output, padded_columns, tile.row, tile.rows, tile.column, tile.columns, job.y);
}

void project(ThreadPool& pool, std::span<const ProjectionJob> jobs, Buffer<float>& scratch) {
  const auto rows_of = [](const ProjectionJob& job) { return job.x.batch_size * job.x.length; };
  const auto columns_of = [&](const ProjectionJob& job) {
    return job.projection->tile_columns(rows_of(job), pool.size());
  };
  const auto tiles_of = [&](const ProjectionJob& job) {
    return divide_up(rows_of(job), kRows) * divide_up(job.projection->out_, columns_of(job));
  };
  ThreadPool::Loop tasks(0, 0);
  for (const ProjectionJob& job : jobs) {
    tasks.count += tiles_of(job);
    tasks.multiply_adds += 1.0 * rows_of(job) * job.projection->in_ * job.projection->out_;
  }
  pool.parallel_for(tasks, [&](std::int64_t task, int worker) {
    const ProjectionJob* job = jobs.data();
    for (; task >= tiles_of(*job); ++job) task -= tiles_of(*job);
    // Rows first: the weights of a tile's columns then stay in a cache for the next rows.
    const Projection& projection = *job->projection;
    const std::int64_t rows = rows_of(*job), row_tiles = divide_up(rows, kRows);
    const std::int64_t columns = columns_of(*job);
    const std::int64_t row = task % row_tiles * kRows, column = task / row_tiles * columns;
    projection.compute(*job,
                       {row, std::min(kRows, rows - row), column, std::min(columns, projection.out_ - column), rows},
                       scratch.data() + worker * (scratch.size() / pool.size()));
  });
}

}  // namespace headwise
