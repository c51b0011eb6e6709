#include "layer/weight_gradient.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "base/memory.h"

namespace headwise {

namespace {

// A tile of dW is the product of kLeft columns of L with kRight columns of R, over kTokenDepth tokens at a time. Tile
// and factors stay in the second-level cache.
constexpr std::int64_t kLeft = 128;
constexpr std::int64_t kRight = 384;
constexpr std::int64_t kTokenDepth = 128;
// Tokens that are copied at a time.
constexpr std::int64_t kTokensAtATime = 32;
// Products write whole steps of rows, so they read a few floats behind the last token of L.
constexpr std::int64_t kBeyond = 16;
// Tokens are split into parts, so that small weights too give enough tasks for several workers.
constexpr std::int64_t kEnoughTasks = 16;
// Rows of the stored weight that a task adds up.
constexpr std::int64_t kRowsToAdd = 32;

/// Some columns of X or dY, and room for some tokens of them.
struct Columns {
  const ConstTokenRows& rows;
  std::int64_t first, count;
  float* copied;

  void copy(std::int64_t token, std::int64_t tokens) const { gather(rows, token, tokens, first, count, copied); }
  /// Whether row r of the copy is 0. A NaN is not.
  [[nodiscard]] bool is_zero(std::int64_t r) const {
    return std::all_of(copied + r * count, copied + (r + 1) * count, [](float value) { return value == 0.0f; });
  }
  void clear(std::int64_t r) const { std::fill_n(copied + r * count, count, 0.0f); }
};

/// Whether no two elements of a matrix [rows, columns] lie in one place.
bool are_apart(std::int64_t rows, std::int64_t columns, std::int64_t row_stride, std::int64_t column_stride) {
  const std::int64_t step = std::gcd(row_stride, column_stride);  // the nearest two that could: a step of each index
  if (step == 0) return rows == 1 && columns == 1;
  return std::abs(column_stride / step) >= rows || std::abs(row_stride / step) >= columns;
}

/// Adds the other parts to the first, in order.
void add_parts(float* first, std::int64_t parts, std::int64_t part_floats, std::int64_t floats) {
  for (std::int64_t part = 1; part < parts; ++part)
    for (std::int64_t i = 0; i < floats; ++i) first[i] += first[part * part_floats + i];
}

}  // namespace

WeightGradient::Parts::Parts(std::int64_t all, std::int64_t wanted, std::int64_t unit)
    : tokens(std::max(round_up(divide_up(all, wanted), unit), unit)),
      count(std::max(divide_up(all, tokens), std::int64_t{1})) {}

std::int64_t WeightGradient::scratch_floats() {
  return kTokenDepth * (kLeft + kRight) + kTokensAtATime * kRight + kBeyond;
}

Error WeightGradient::create(const WeightGradientJob& job) {
  job_ = job;
  kernels_ = &kernel_table();
  const std::int64_t tokens = job.dy.count();
  if (job.weight) {
    if (!are_apart(job.in, job.out, job.in_stride, job.out_stride))
      return refuse(Rule::gradient_strides, job.in_stride, job.out_stride);
    swapped_ = job.in_stride < job.out_stride;
    left_ = swapped_ ? job.out : job.in;
    right_ = swapped_ ? job.in : job.out;
    left_tiles_ = divide_up(left_, kLeft);
    right_tiles_ = divide_up(right_, kRight);
    ld_ = round_up(right_, kernels_->panel_width);
    part_floats_ = round_up(left_, kernels_->row_step) * ld_;
    product_parts_ = Parts(tokens, divide_up(kEnoughTasks, left_tiles_ * right_tiles_), kTokenDepth);
  }
  if (job.bias) sum_parts_ = Parts(tokens, kEnoughTasks, kTokensAtATime);
  const std::int64_t products = product_parts_.count * part_floats_, sums = sum_parts_.count * job.out;
  return allocate_all(products_, products, sums_, sums);
}

void WeightGradient::run(ThreadPool& pool, Buffer<float>& scratch) {
  const auto scratch_of = [&](int worker) { return scratch.data() + worker * (scratch.size() / pool.size()); };
  if (job_.weight) {
    pool.parallel_for(left_tiles_ * right_tiles_ * product_parts_.count,
                      [&](std::int64_t task, int worker) { multiply(task, scratch_of(worker)); });
    pool.parallel_for(divide_up(left_, kRowsToAdd), [&](std::int64_t task, int) { add_products(task); });
  }
  if (job_.bias) {
    pool.parallel_for(sum_parts_.count, [&](std::int64_t part, int worker) { add_tokens(part, scratch_of(worker)); });
    add_sums();
  }
}

/// A tile of a part of dW.
void WeightGradient::multiply(std::int64_t task, float* scratch) {
  const std::int64_t part = task % product_parts_.count, tile = task / product_parts_.count;
  const std::int64_t l = tile % left_tiles_ * kLeft, r = tile / left_tiles_ * kRight;
  float *const panels = scratch, *const right_rows = panels + kTokenDepth * kRight;
  float* const left_rows = right_rows + kTokensAtATime * kRight;
  const Columns right{swapped_ ? job_.x : job_.dy, r, std::min(kRight, right_ - r), right_rows};
  const std::int64_t left_count = std::min(kLeft, left_ - l);
  const std::int64_t width = kernels_->panel_width, count = divide_up(right.count, width);
  const std::int64_t rows = round_up(left_count, kernels_->row_step);

  float* const product = products_.data() + part * part_floats_ + l * ld_ + r;
  for (std::int64_t row = 0; row < rows; ++row) std::fill_n(product + row * ld_, count * width, 0.0f);
  std::fill_n(left_rows + kTokenDepth * left_count, kBeyond, 0.0f);
  const std::int64_t begin = part * product_parts_.tokens,
                     end = std::min(begin + product_parts_.tokens, job_.x.count());
  for (std::int64_t token = begin; token < end; token += kTokenDepth) {
    const std::int64_t depth = std::min(kTokenDepth, end - token);
    for (std::int64_t k = 0; k < depth; k += kTokensAtATime) {
      const std::int64_t tokens = std::min(kTokensAtATime, depth - k);
      const Columns left{swapped_ ? job_.dy : job_.x, l, left_count, left_rows + k * left_count};
      const Columns &x = swapped_ ? right : left, &dy = swapped_ ? left : right;
      left.copy(token + k, tokens);
      right.copy(token + k, tokens);
      for (std::int64_t t = 0; t < tokens; ++t)
        if (dy.is_zero(t)) x.clear(t);
      const RowRun run{.data = right.copied, .row_stride = static_cast<std::ptrdiff_t>(right.count), .count = tokens};
      kernels_->pack(run, right.count, k, depth, panels);
    }
    kernels_->multiply_transposed(left_rows, left_count, panels, depth * width, depth, count, product, ld_, rows, true);
  }
}

/// Adds the parts of some rows of the stored weight, and stores them.
void WeightGradient::add_products(std::int64_t task) {
  const std::int64_t begin = task * kRowsToAdd, end = std::min(begin + kRowsToAdd, left_);
  const std::int64_t row_stride = swapped_ ? job_.out_stride : job_.in_stride;
  const std::int64_t column_stride = swapped_ ? job_.in_stride : job_.out_stride;
  for (std::int64_t row = begin; row < end; ++row) {
    float* const sums = products_.data() + row * ld_;
    add_parts(sums, product_parts_.count, part_floats_, right_);
    scatter(sums, ld_, row, 1, 0, right_, {{job_.weight}, {0, 0, row_stride, column_stride}, 1, left_});
  }
}

/// The sum of a part of the tokens.
void WeightGradient::add_tokens(std::int64_t part, float* scratch) {
  const std::int64_t begin = part * sum_parts_.tokens, end = std::min(begin + sum_parts_.tokens, job_.dy.count());
  for (std::int64_t first = 0; first < job_.out; first += kRight) {
    const Columns columns{job_.dy, first, std::min(kRight, job_.out - first), scratch};
    float* const sums = sums_.data() + part * job_.out + first;
    std::fill_n(sums, columns.count, 0.0f);
    for (std::int64_t token = begin; token < end; token += kTokensAtATime) {
      const std::int64_t tokens = std::min(kTokensAtATime, end - token);
      columns.copy(token, tokens);
      for (std::int64_t t = 0; t < tokens; ++t)
        for (std::int64_t i = 0; i < columns.count; ++i) sums[i] += scratch[t * columns.count + i];
    }
  }
}

void WeightGradient::add_sums() {
  add_parts(sums_.data(), sum_parts_.count, job_.out, job_.out);
  std::copy_n(sums_.data(), job_.out, job_.bias);
}

}  // namespace headwise
