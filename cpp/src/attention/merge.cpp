#include <algorithm>
#include <cmath>
#include <limits>

#include "attention/call.h"
#include "attention/validate.h"
#include "base/numbers.h"
#include "base/rules.h"
#include "base/strides.h"
#include "headwise/attention.h"
#include "headwise/thread_pool.h"

namespace headwise {

namespace {

constexpr double kNothing = -std::numeric_limits<double>::infinity();

// Enough work to pay for claiming a task.
constexpr std::int64_t kRowsPerTask = 32;
// Columns whose sums stay in registers and in the first-level cache while the parts are added.
constexpr std::int64_t kColumns = 64;

/// exp(largest) * sum. The two stay apart, because the sum is lost beside a large logarithm.
struct Total {
  double largest;
  double sum;

  [[nodiscard]] double lse() const { return largest + std::log(sum); }
  [[nodiscard]] double weight(double lse) const { return std::exp(lse - largest) / sum; }
};

struct Merge {
  const AttentionShape& shape;
  const AttentionPart* parts;
  std::int64_t num_parts;
  const float* sinks;
  MutableArray output;
  float* lse;
  Strides strides;

  void row(std::int64_t b, std::int64_t h, std::int64_t i) const;

 private:
  [[nodiscard]] double sink(std::int64_t h) const { return sinks ? static_cast<double>(sinks[h]) : kNothing; }
  [[nodiscard]] Total total(std::int64_t at, double sink) const;
  void columns(std::int64_t at, std::int64_t lse_at, const Total& total, std::int64_t count) const;
};

/// sum_p exp(lse_p) + exp(sink), around the largest term.
Total Merge::total(std::int64_t at, double sink) const {
  double largest = sink;
  for (std::int64_t p = 0; p < num_parts; ++p) {
    const double part_lse = parts[p].lse[at];
    if (std::isnan(part_lse))
      return {0, part_lse};  // a NaN in one part makes the row NaN, even if the other parts are empty
    largest = std::max(largest, part_lse);
  }
  if (largest == kNothing) return {kNothing, 1};
  double sum = std::exp(sink - largest);
  for (std::int64_t p = 0; p < num_parts; ++p) sum += std::exp(parts[p].lse[at] - largest);
  return {largest, sum};
}

double element(ConstArray array, std::int64_t at) {
  return array.dtype == Dtype::float16 ? half_to_float(static_cast<const std::uint16_t*>(array.data)[at])
                                       : static_cast<const float*>(array.data)[at];
}

void store(MutableArray array, std::int64_t at, double value) {
  const float rounded = static_cast<float>(value);
  if (array.dtype == Dtype::float16)
    static_cast<std::uint16_t*>(array.data)[at] = float_to_half(rounded);
  else
    static_cast<float*>(array.data)[at] = rounded;
}

/// o = sum_p exp(lse_p) o_p / total for `count` columns from element `at` on. Sums run in double, so that the result is
/// rounded to float32 once, for any number of parts.
void Merge::columns(std::int64_t at, std::int64_t lse_at, const Total& total, std::int64_t count) const {
  double sums[kColumns] = {};
  for (std::int64_t p = 0; p < num_parts; ++p) {
    const double part_lse = parts[p].lse[lse_at];
    if (part_lse == kNothing) continue;  // the part saw no key
    const double weight = total.weight(part_lse);
    for (std::int64_t d = 0; d < count; ++d) sums[d] += weight * element(parts[p].output, at + d * strides.feature);
  }
  for (std::int64_t d = 0; d < count; ++d) store(output, at + d * strides.feature, sums[d]);
}

void Merge::row(std::int64_t b, std::int64_t h, std::int64_t i) const {
  const std::int64_t lse_at = (b * shape.num_heads + h) * shape.query_length + i;
  const Total all = total(lse_at, sink(h));
  if (lse) lse[lse_at] = static_cast<float>(all.lse());
  if (!output.data) return;
  const std::int64_t at = b * strides.batch + h * strides.head + i * strides.position;
  for (std::int64_t d = 0; d < shape.value_dim; d += kColumns)
    columns(at + d * strides.feature, lse_at, all, std::min(kColumns, shape.value_dim - d));
}

Error check_parts(const AttentionPart* parts, std::int64_t num_parts, bool has_rows, bool wants_output) {
  if (num_parts < 1 || !parts) return refuse(Rule::part_count);
  for (std::int64_t p = 0; p < num_parts; ++p) {
    if (!is_input_dtype(parts[p].output.dtype)) return refuse(Rule::part_dtype, at(p));
    if (has_rows && !(parts[p].lse && (parts[p].output.data || !wants_output))) return refuse(Rule::part_given, at(p));
  }
  return {};
}

}  // namespace

Status merge_attention(ThreadPool& pool, const AttentionShape& shape, Layout layout, const AttentionPart* parts,
                       std::int64_t num_parts, const float* sinks, MutableArray output, float* lse) {
  if (Error e = validate_shape(shape)) return e;
  if (Error e = check_layout(Argument::layout, layout)) return e;
  const std::int64_t rows = shape.batch_size * shape.num_heads * shape.query_length;
  if (Error e = check_parts(parts, num_parts, rows > 0, output.data)) return e;
  if (Error e = check_sinks(sinks, shape.num_heads)) return e;
  if (Error e = check_dtype(Argument::output, output.dtype)) return e;
  const Merge merge{shape,
                    parts,
                    num_parts,
                    sinks,
                    output,
                    lse,
                    strides_of(layout, shape.num_heads, shape.query_length, shape.value_dim)};
  pool.parallel_for((rows + kRowsPerTask - 1) / kRowsPerTask, [&](std::int64_t task, int) {
    const std::int64_t end = std::min(rows, (task + 1) * kRowsPerTask);
    for (std::int64_t r = task * kRowsPerTask; r < end; ++r) {
      const std::int64_t i = r % shape.query_length, head = r / shape.query_length;
      merge.row(head / shape.num_heads, head % shape.num_heads, i);
    }
  });
  return {};
}

}  // namespace headwise
