#include <algorithm>
#include <cmath>

#include "backward/score_gradients.h"
#include "backward/sweeps.h"
#include "base/memory.h"
#include "base/rules.h"

namespace headwise {

namespace {

// Tasks, as far as their sums take no more than this.
constexpr std::int64_t kReadTasks = 8;
constexpr std::int64_t kMostReadBytes = std::int64_t{16} << 20;

std::int64_t entries_of(const FormulaRead& read) { return std::int64_t{read.rows} * read.columns; }

/// Adds the gradients of rows to a task's sums.
class ReadSums final : public RowObserver {
 public:
  ReadSums(const ScoreDerivative& derivative, const GradientScratch& scratch, double* sums)
      : derivative_(derivative),
        sums_(sums),
        factors_(scratch.factors),
        rows_(scratch.read_rows),
        columns_(scratch.read_columns) {}

  void at_formula(const GradientRow& row, const FormulaTile& values) override {
    const std::int64_t count = row.keys.size();
    double* sums = sums_;
    for (std::int64_t n = 0; n < derivative_.num_reads; ++n) {
      const FormulaRead& read = derivative_.reads[n];
      values.copy_values(read.derivative, count, factors_);
      copy_indices(values, read.row, count, rows_);
      copy_indices(values, read.column, count, columns_);
      for (std::int64_t j = 0; j < count; ++j) {
        // Comparisons with NaN are false: it is no index. Double holds every extent, float32 those up to 2^24.
        const double r = std::floor(rows_[j]), c = std::floor(columns_[j]);
        const bool inside = r >= 0.0 && r < read.rows && c >= 0.0 && c < read.columns;
        if (row.weights[j] != 0.0f && inside)
          sums[static_cast<std::int64_t>(r) * read.columns + static_cast<std::int64_t>(c)] +=
              static_cast<double>(row.gradients[j]) * factors_[j];
      }
      sums += entries_of(read);
    }
  }

 private:
  static void copy_indices(const FormulaTile& values, std::int32_t n, std::int64_t count, float* out) {
    if (n < 0)
      std::fill_n(out, count, 0.0f);
    else
      values.copy_values(n, count, out);
  }

  const ScoreDerivative& derivative_;
  double* const sums_;  ///< the entries of one read after those of the other
  float *const factors_, *const rows_, *const columns_;
};

/// Meets all keys with some rows of a kv head.
void sweep(const GradientCall& call, GradientScratch& scratch, ReadSums& sums, const Rows& rows) {
  ScoreGradients gradients(call, scratch, sums, false);
  const std::int64_t keys = rows.sequence->num_keys, size = scratch.tiles.keys;
  for (std::int64_t j = 0; j < keys; j += size)
    gradients.meet(rows, {j, std::min(j + size, keys)}, [](const Strip&) {});
}

/// Adds the tasks' sums in order. Several reads may add to one array.
void store(const ScoreDerivative& derivative, const double* sums, std::int64_t tasks, std::int64_t entries) {
  for (std::int64_t n = 0; n < derivative.num_reads; ++n)
    std::fill_n(derivative.reads[n].gradient, entries_of(derivative.reads[n]), 0.0f);
  for (std::int64_t n = 0, first = 0; n < derivative.num_reads; first += entries_of(derivative.reads[n++])) {
    for (std::int64_t k = 0; k < entries_of(derivative.reads[n]); ++k) {
      double total = 0;
      for (std::int64_t task = 0; task < tasks; ++task) total += sums[task * entries + first + k];
      derivative.reads[n].gradient[k] += static_cast<float>(total);
    }
  }
}

}  // namespace

Error ReadGradients::allocate() {
  for (std::int64_t n = 0; n < derivative_.num_reads; ++n) entries_ += entries_of(derivative_.reads[n]);
  const std::int64_t size = sizeof(double), fitting = kMostReadBytes / size / std::max<std::int64_t>(entries_, 1);
  tasks_ = std::clamp<std::int64_t>(fitting, 1, kReadTasks);
  const std::int64_t count = tasks_ * entries_;
  return sums_.allocate(count);
}

void ReadGradients::run() {
  std::fill_n(sums_.data(), tasks_ * entries_, 0.0);
  pool_.parallel_for(tasks_, [this](std::int64_t task, int worker) { run_task(task, worker); });
  store(derivative_, sums_.data(), tasks_, entries_);
}

/// Computes a task's share of the rows of every kv head. It is another share in the next kv head, so that short
/// sequences are shared out too.
void ReadGradients::run_task(std::int64_t task, int worker) {
  GradientScratch scratch = scratches_.of(call_, worker);
  ReadSums sums(derivative_, scratch, sums_.data() + task * entries_);
  const std::int64_t groups = call_.forward.shape.num_kv_heads, size = scratch.tiles.rows;
  for (std::int64_t kv_head = 0; kv_head < call_.forward.num_sequences * groups; ++kv_head) {
    const Rows rows = call_.forward.all_rows(call_.forward.sequences[kv_head / groups], kv_head % groups);
    const std::int64_t tiles = divide_up(rows.size(), size), share = (task + kv_head) % tasks_;
    sweep(call_, scratch, sums, rows.part(tiles * share / tasks_ * size, tiles * (share + 1) / tasks_ * size));
  }
}

}  // namespace headwise
