#include <algorithm>
#include <cmath>
#include <limits>

#include "backward/score_gradients.h"
#include "backward/sweeps.h"
#include "base/memory.h"
#include "base/rules.h"

namespace headwise {

/// What a row adds to the gradients that heads have one number of.
struct RowSums {
  double reached = 0;    ///< sum_j p_ij do_i . v_j
  double distances = 0;  ///< sum_j ds_ij |i + offset - pi_j|
  bool sees = false;     ///< whether the row sees a key

  void add(const RowSums& other) {
    reached += other.reached;
    distances += other.distances;
    sees |= other.sees;
  }
};

/// Gradients with one number for each head.
struct HeadSums {
  double gain = 0, sink = 0, slope = 0;

  void add(const HeadSums& other) {
    gain += other.gain;
    sink += other.sink;
    slope += other.slope;
  }
  /// Adds the share of a row.
  void add_row(const GradientCall& call, std::int64_t head, std::int64_t row_index, const RowSums& row);
};

/// What the query rows of a kv head have gathered over some of its keys.
struct QuerySums {
  float* gradient;  ///< [rows, query_width], without the scale; null if it is not wanted
  RowSums* rows;    ///< [rows]

  /// For `count` rows.
  void place(Placement& place, const GradientCall& call, std::int64_t count);
  void clear(const GradientCall& call, std::int64_t count);
  void add(const QuerySums& other, const GradientCall& call, std::int64_t count);
  /// Writes the gradients of the queries, and adds up the rows of each head: `heads` is [num_heads], or null.
  void store(const GradientCall& call, const Rows& chosen, HeadSums* heads) const;
};

void HeadSums::add_row(const GradientCall& call, std::int64_t head, std::int64_t row_index, const RowSums& row) {
  if (!row.sees) return;  // its lse and its output have no meaning
  gain += row.reached;
  slope -= row.distances;
  if (!call.outputs.sinks) return;
  const double rest = call.lse_rest ? call.lse_rest[row_index] : 0.0f;
  const double sink_share =
      std::exp(static_cast<double>(call.forward.options.sinks[head]) - static_cast<double>(call.lse[row_index]) - rest);
  const double delta = call.gain(head) == 0.0f ? 0.0 : call.gain(head) * row.reached;
  const double gradient = delta - call.lse_gradient(row_index);
  if (gradient != 0.0) sink -= sink_share * gradient;
}

namespace {

/// Whether a call wants any of them.
bool wants_head_sums(const BackwardOutputs& outputs) {
  return outputs.sinks || outputs.head_gain || outputs.alibi_slopes;
}

/// Writes the gradients: for each head the sum over sequences, in order. `sums` is [num_sequences, num_heads].
void store_head_sums(const GradientCall& call, const HeadSums* sums) {
  const std::int64_t heads = call.forward.shape.num_heads;
  for (std::int64_t h = 0; h < heads; ++h) {
    HeadSums total;
    for (std::int64_t n = 0; n < call.forward.num_sequences; ++n) total.add(sums[n * heads + h]);
    if (call.outputs.head_gain) call.outputs.head_gain[h] = static_cast<float>(total.gain);
    if (call.outputs.sinks) call.outputs.sinks[h] = static_cast<float>(total.sink);
    if (call.outputs.alibi_slopes) call.outputs.alibi_slopes[h] = static_cast<float>(total.slope);
  }
}

}  // namespace

void QuerySums::place(Placement& place, const GradientCall& call, std::int64_t count) {
  // Products write whole steps of rows.
  const std::int64_t padded = round_up(count, call.kernels().row_step);
  gradient = call.outputs.query ? place.take<float>(padded, call.query_width()) : nullptr;
  rows = place.take<RowSums>(count);
}

void QuerySums::clear(const GradientCall& call, std::int64_t count) {
  if (gradient) std::fill_n(gradient, count * call.query_width(), 0.0f);
  std::fill_n(rows, count, RowSums());
}

void QuerySums::add(const QuerySums& other, const GradientCall& call, std::int64_t count) {
  for (std::int64_t n = 0; gradient && n < count * call.query_width(); ++n) gradient[n] += other.gradient[n];
  for (std::int64_t r = 0; r < count; ++r) rows[r].add(other.rows[r]);
}

void QuerySums::store(const GradientCall& call, const Rows& chosen, HeadSums* heads) const {
  const Call& forward = call.forward;
  const Sequence& sequence = *chosen.sequence;
  const Strides& strides = forward.query;
  for (std::int64_t r = 0; r < chosen.size(); ++r) {
    const std::int64_t head = chosen.head(r), i = chosen.query(r), depth = forward.shape.head_dim;
    if (gradient) {
      float* const out = call.outputs.query + sequence.batch * strides.batch + head * strides.head +
                         (sequence.query_begin + i) * strides.position;
      store_gradient(gradient + r * call.query_width(), forward.query_scale, depth, strides.feature, out);
      if (forward.options.empty_rows == EmptyRows::nan && !rows[r].sees && i < sequence.query_length)
        for (std::int64_t d = 0; d < depth; ++d) out[d * strides.feature] = std::numeric_limits<float>::quiet_NaN();
    }
    if (heads) heads[head].add_row(call, head, forward.row_index({&sequence, head, i}), rows[r]);
  }
}

namespace {

// Tasks that few kv heads are cut into, and the memory that the sums of their rows may take.
constexpr std::int64_t kTasks = 8;
constexpr std::int64_t kMostSumBytes = std::int64_t{40} << 20;

/// One task: some keys of a kv head, from `keys.begin` on, a multiple of the tile.
class KeySweep final : public RowObserver {
 public:
  KeySweep(const GradientCall& call, GradientScratch& scratch, const Rows& rows, const QuerySums& sums)
      : call_(call), scratch_(scratch), rows_(rows), sums_(sums), gradients_(call, scratch, *this, true) {}

  void run(KeyRange keys);
  void at_bias(const GradientRow& row) override;
  void finish_row(const QueryRow& row, float reached, bool sees) override;

 private:
  /// Whether a key, query or output gradient of rows and tile is odd.
  [[nodiscard]] bool any_odd() const;
  [[nodiscard]] std::int64_t first_row() const { return gradients_.rows().begin; }
  void add_products(const Strip& strip);
  void add_odd_rows(const Strip& strip);
  void store(KeyRange tile) const;

  const GradientCall& call_;
  GradientScratch& scratch_;
  const Rows& rows_;
  const QuerySums& sums_;
  ScoreGradients gradients_;
  KeyRange tile_;
};

void KeySweep::run(KeyRange keys) {
  const std::int64_t size = scratch_.tiles.keys;
  for (std::int64_t j = keys.begin; j < keys.end; j += size) {
    tile_ = {j, std::min(j + size, keys.end)};
    std::fill_n(scratch_.key_gradient, size * call_.query_width(), 0.0f);
    std::fill_n(scratch_.value_gradient, size * call_.value_width(), 0.0f);
    gradients_.meet(rows_, tile_, [&](const Strip& strip) {
      add_products(strip);
      if (any_odd()) add_odd_rows(strip);
    });
    store(tile_);
  }
}

bool KeySweep::any_odd() const {
  const auto any = [](const std::uint8_t* flags, std::int64_t count) {
    return std::any_of(flags, flags + count, [](std::uint8_t flag) { return flag != 0; });
  };
  const std::int64_t rows = scratch_.tile.count;
  return any(scratch_.odd_key, tile_.size()) || any(scratch_.odd_query, rows) ||
         any(scratch_.odd_output_gradient, rows);
}

/// dv += p^T do, dk += ds^T q, dq += ds k.
void KeySweep::add_products(const Strip& strip) {
  const KernelTable& kernels = call_.kernels();
  const std::int64_t width = kernels.panel_width, stride = scratch_.score_stride;
  const std::int64_t query_width = call_.query_width(), value_width = call_.value_width();
  const std::int64_t rows = scratch_.tile.count;
  const auto add_to_keys = [&](const float* pairs, const float* packed, std::int64_t columns, KeyRange keys,
                               float* sums) {
    kernels.multiply_transposed(pairs + keys.begin, stride, packed + strip.begin * width, rows * width, strip.size(),
                                columns / width, sums + keys.begin * columns, columns,
                                round_up(keys.size(), kernels.row_step), true);
  };
  scratch_.tile.for_each_run(strip.panels, [&](KeyRange keys) {
    if (call_.outputs.value)
      add_to_keys(scratch_.scores, scratch_.packed_output_gradient, value_width, keys, scratch_.value_gradient);
    if (call_.outputs.key)
      add_to_keys(scratch_.products, scratch_.packed_query, query_width, keys, scratch_.key_gradient);
    if (sums_.gradient)
      kernels.multiply(scratch_.products + keys.begin, stride, scratch_.packed_keys + keys.begin * width,
                       tile_.size() * width, keys.size(), query_width / width,
                       sums_.gradient + (first_row() + strip.begin) * query_width, query_width,
                       round_up(strip.size(), kernels.row_step), true);
  });
}

void add_multiple(const float* row, float factor, std::int64_t count, float* sums) {
  for (std::int64_t d = 0; d < count; ++d) sums[d] += factor * row[d];
}

/// The products left out rows that hold a NaN or an infinity: 0 times them is NaN. They are added where a pair has a
/// weight.
void KeySweep::add_odd_rows(const Strip& strip) {
  const std::int64_t depth = call_.forward.shape.head_dim, columns = call_.forward.shape.value_dim;
  scratch_.tile.for_each_run(strip.panels, [&](KeyRange keys) {
    for (std::int64_t j = keys.begin; j < keys.end; ++j) {
      if (scratch_.odd_key[j])
        call_.forward.for_each_key_run(
            *rows_.sequence, rows_.group, {tile_.begin + j, tile_.begin + j + 1},
            [&](const RowRun& run, std::int64_t) { call_.kernels().widen(run, depth, scratch_.wide_row, depth); });
      for (std::int64_t r = strip.begin; r < strip.end; ++r) {
        const std::int64_t at = (r - strip.begin) * scratch_.score_stride + j;
        const float weight = scratch_.scores[at], gradient = scratch_.products[at];
        const float gain = call_.gain(scratch_.tile.row[r].head);
        if ((weight == 0.0f && gradient == 0.0f) || gain == 0.0f) continue;
        if (scratch_.odd_key[j] && sums_.gradient)
          add_multiple(scratch_.wide_row, gradient, depth, sums_.gradient + (first_row() + r) * call_.query_width());
        if (scratch_.odd_query[r])
          add_multiple(scratch_.tile.query + r * depth, gradient, depth,
                       scratch_.key_gradient + j * call_.query_width());
        if (scratch_.odd_output_gradient[r])
          add_multiple(scratch_.output_gradient + r * columns, weight * gain, columns,
                       scratch_.value_gradient + j * call_.value_width());
      }
    }
  });
}

void KeySweep::at_bias(const GradientRow& row) {
  if (!call_.outputs.alibi_slopes) return;
  double sum = 0;
  for (std::int64_t j = 0; j < row.keys.size(); ++j)
    sum += static_cast<double>(row.gradients[j]) *
           static_cast<double>(call_.forward.alibi_distance(*rows_.sequence, row.row.i, row.keys.begin + j));
  sums_.rows[first_row() + row.row.r].distances += sum;
}

void KeySweep::finish_row(const QueryRow& row, float reached, bool sees) {
  sums_.rows[first_row() + row.r].add({reached, 0, sees});
}

void KeySweep::store(KeyRange tile) const {
  const Call& call = call_.forward;
  const Layout layout = call.options.kv_layout.value_or(call.options.layout);
  const auto store_rows = [&](const float* sums, std::int64_t width, std::int64_t columns, float* out) {
    if (!out) return;
    const Strides strides = strides_of(layout, call.shape.num_kv_heads, call.shape.key_length, columns);
    out += rows_.sequence->batch * strides.batch + rows_.group * strides.head +
           (rows_.sequence->key_begin + tile.begin) * strides.position;
    for (std::int64_t j = 0; j < tile.size(); ++j)
      store_gradient(sums + j * width, 1.0f, columns, strides.feature, out + j * strides.position);
  };
  store_rows(scratch_.key_gradient, call_.query_width(), call.shape.head_dim, call_.outputs.key);
  store_rows(scratch_.value_gradient, call_.value_width(), call.shape.value_dim, call_.outputs.value);
}

}  // namespace

bool InputGradients::are_wanted(const BackwardOutputs& outputs) {
  return outputs.query || outputs.key || outputs.value || wants_head_sums(outputs);
}

Error InputGradients::allocate() {
  const Call& call = call_.forward;
  std::int64_t rows = 0, keys = 0;
  for (std::int64_t n = 0; n < call.num_sequences; ++n) {
    rows = std::max(rows, call.group_size * call.sequences[n].num_queries);
    keys = std::max(keys, call.sequences[n].num_keys);
  }
  sum_bytes_ = bytes_of<QuerySums>(call_, rows);
  if (sum_bytes_ < 0) return refuse(Rule::scratch_size);
  const std::int64_t count = std::max<std::int64_t>(kv_heads(), 1);
  const std::int64_t fitting = kMostSumBytes / count / std::max<std::int64_t>(sum_bytes_, 1);
  splits_ = std::clamp<std::int64_t>(std::min({kTasks / count, fitting, divide_up(keys, scratches_.tiles().keys)}), 1,
                                     kTasks);
  std::int64_t sums;
  if (!multiply_sizes(splits_ > 1 ? count * splits_ : pool_.size(), sum_bytes_, &sums))
    return refuse(Rule::scratch_size);
  if (Error e = sums_.allocate(sums)) return e;
  const std::int64_t heads = call.num_sequences * call.shape.num_heads;
  if (wants_head_sums(call_.outputs)) {
    if (Error e = head_sums_.allocate(heads)) return e;
    std::fill_n(head_sums_.data(), heads, HeadSums());
  }
  return {};
}

QuerySums InputGradients::sums_at(char* memory, std::int64_t n, std::int64_t rows) const {
  return placed_in<QuerySums>(memory + n * sum_bytes_, call_, rows);
}

void InputGradients::run_task(std::int64_t task, int worker) {
  const std::int64_t kv_head = task / splits_, split = task % splits_;
  const Rows rows = rows_of(kv_head);
  GradientScratch scratch = scratches_.of(call_, worker);
  QuerySums sums = sums_at(sums_.data(), splits_ > 1 ? task : worker, rows.size());
  sums.clear(call_, rows.size());
  const std::int64_t share =
      divide_up(divide_up(rows.sequence->num_keys, scratch.tiles.keys), splits_) * scratch.tiles.keys;
  KeySweep(call_, scratch, rows, sums).run({split * share, std::min((split + 1) * share, rows.sequence->num_keys)});
  if (splits_ == 1) finish(kv_head, sums);
}

void InputGradients::merge(std::int64_t kv_head) {
  const std::int64_t rows = rows_of(kv_head).size();
  QuerySums total = sums_at(sums_.data(), kv_head * splits_, rows);
  for (std::int64_t split = 1; split < splits_; ++split)
    total.add(sums_at(sums_.data(), kv_head * splits_ + split, rows), call_, rows);
  finish(kv_head, total);
}

void InputGradients::finish(std::int64_t kv_head, const QuerySums& sums) {
  HeadSums* const heads = head_sums_ ? head_sums_.data() + kv_head / groups() * call_.forward.shape.num_heads : nullptr;
  sums.store(call_, rows_of(kv_head), heads);
}

void InputGradients::run() {
  pool_.parallel_for(kv_heads() * splits_, [this](std::int64_t task, int worker) { run_task(task, worker); });
  if (splits_ > 1) pool_.parallel_for(kv_heads(), [this](std::int64_t kv_head, int) { merge(kv_head); });
  if (head_sums_) store_head_sums(call_, head_sums_.data());
}

}  // namespace headwise
