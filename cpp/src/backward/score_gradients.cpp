#include "backward/score_gradients.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "attention/pipeline.h"
#include "attention/plan.h"
#include "attention/scores.h"
#include "base/numbers.h"

namespace headwise {

namespace {

// Rows that a task reads at a time.
constexpr std::int64_t kDeltaRows = 64;

RowRun run_of(const Call& forward, ConstArray array, std::int64_t head, std::int64_t begin, std::int64_t count) {
  const std::int64_t heads = forward.shape.num_heads;
  return row_run(array, forward.output, head / heads, head % heads, begin, count);
}

}  // namespace

Error compute_deltas(ThreadPool& pool, const Call& forward, const BackwardInputs& inputs, Buffer<float>* deltas) {
  const std::int64_t length = forward.shape.query_length, columns = forward.shape.value_dim;
  const std::int64_t heads = forward.shape.batch_size * forward.shape.num_heads, chunks = divide_up(length, kDeltaRows);
  std::int64_t each, bytes;  // each: floats of a worker's rows of output and gradient
  if (!multiply_sizes(2 * kDeltaRows, columns, &each) || !multiply_sizes(each, pool.size() * kFloatBytes, &bytes))
    return refuse(Rule::scratch_size);
  Buffer<float> rows;
  if (Error e = deltas->allocate(heads * length)) return e;
  if (Error e = rows.allocate(bytes / kFloatBytes)) return e;
  pool.parallel_for(heads * chunks, [&](std::int64_t task, int worker) {
    const std::int64_t head = task / chunks, begin = task % chunks * kDeltaRows,
                       count = std::min(kDeltaRows, length - begin);
    float* const output = rows.data() + worker * each;
    float* const gradient = output + each / 2;
    forward.kernels.widen(run_of(forward, inputs.output, head, begin, count), columns, output, columns);
    forward.kernels.widen(run_of(forward, inputs.output_gradient, head, begin, count), columns, gradient, columns);
    for (std::int64_t r = 0; r < count; ++r) {
      double sum = 0;
      for (std::int64_t d = r * columns; d < (r + 1) * columns; ++d)
        sum += static_cast<double>(gradient[d]) * output[d];
      const std::int64_t row = head * length + begin + r;
      (*deltas)[row] = static_cast<float>(inputs.lse_gradient ? sum - inputs.lse_gradient[row] : sum);
    }
  });
  return {};
}

namespace {

// Up to here rounding changes a weight by 1.5e-5 of itself at most.
constexpr float kLargestExactLse = 256.0f;

}  // namespace

Error PreciseLse::find(ThreadPool& pool, const AttentionShape& shape, const BackwardInputs& inputs,
                       const AttentionOptions& options) {
  const std::int64_t count = shape.batch_size * shape.num_heads * shape.query_length;
  const bool is_far = std::any_of(inputs.lse, inputs.lse + count, [](float value) {
    return std::isfinite(value) && std::abs(value) > kLargestExactLse;
  });
  if (!is_far) return {};
  if (Error e = allocate_all(lse, count, rest, count)) return e;
  AttentionOutputs outputs;
  outputs.lse = lse.data();
  outputs.lse_rest = rest.data();
  if (Error e = attention(pool, shape, inputs.forward, options, outputs)) return e;
  for (std::int64_t n = 0; n < count; ++n) {
    if (std::isfinite(inputs.lse[n]) && std::abs(inputs.lse[n]) > kLargestExactLse) continue;
    lse[n] = inputs.lse[n];
    rest[n] = 0.0f;
  }
  return {};
}

namespace {

/// gradients *= factors. A pair of weight 0 stays 0, whatever its factor is.
void multiply_where_weighted(const GradientRow& row, const float* factors) {
  for (std::int64_t j = 0; j < row.keys.size(); ++j)
    row.gradients[j] = row.weights[j] == 0.0f ? 0.0f : row.gradients[j] * factors[j];
}

/// A head of gain 0 gives queries and keys no gradient but that of its lse. Without that, its pairs count as hidden.
void keep_only_lse(KeyRange columns, float lse_gradient, float* weights, float* gradients) {
  if (lse_gradient == 0.0f) std::fill(weights + columns.begin, weights + columns.end, 0.0f);
  for (std::int64_t j = columns.begin; j < columns.end; ++j)
    gradients[j] = weights[j] == 0.0f ? 0.0f : weights[j] * lse_gradient;
}

/// Multiplies row `r` of packed rows by a factor; by 0 also what is not finite.
void scale_packed_row(float* panels, std::int64_t depth, std::int64_t width, int panel_width, std::int64_t r,
                      float factor) {
  for (std::int64_t c = 0; c < width; c += panel_width) {
    float* const row = panels + c * depth + r * panel_width;
    for (int i = 0; i < panel_width; ++i) row[i] = factor == 0.0f ? 0.0f : row[i] * factor;
  }
}

}  // namespace

/// Chooses rows and keys. Returns whether some row may see a key.
bool ScoreGradients::choose(const Rows& rows, KeyRange keys) {
  rows_ = rows;
  scratch_.tile.take(rows);
  // Scores with the bits that the forward computed with: its lse would not fit other roundings.
  scratch_.tile.in_place = reads_in_place(call_.forward.group_size * rows.sequence->num_queries);
  if (scratch_.tile.meet(keys, keys) == 0) return false;
  if (!scratch_.derivative) return true;
  scratch_.derivative->set_rows(rows);
  scratch_.derivative->set_keys(keys.begin, keys.end);
  return true;
}

/// Reads keys and values of the tile.
void ScoreGradients::load_keys() {
  const Call& call = call_.forward;
  const KeyRange keys = scratch_.tile.keys;
  if (!scratch_.tile.in_place) scratch_.tile.pack_keys(low_bits(divide_up(keys.size(), call.kernels.panel_width)));
  call.for_each_value_run(*rows_.sequence, rows_.group, keys, [&](const RowRun& run, std::int64_t first) {
    call.kernels.pack_transposed(run, call.shape.value_dim, first, scratch_.value_columns);
  });
  if (packs_) pack_keys();
}

void ScoreGradients::pack_keys() {
  const Call& call = call_.forward;
  const std::int64_t depth = call.shape.head_dim, size = scratch_.tile.keys.size();
  call.for_each_key_run(*rows_.sequence, rows_.group, scratch_.tile.keys, [&](const RowRun& run, std::int64_t first) {
    call.kernels.pack(run, depth, first, size, scratch_.packed_keys);
    for (std::int64_t j = 0; j < run.count; ++j) {
      RowRun one = run;
      one.data = static_cast<const char*>(run.data) + j * run.row_stride * size_of(run.dtype);
      one.count = 1;
      call.kernels.widen(one, depth, scratch_.wide_row, depth);
      const bool odd = !all_finite(scratch_.wide_row, depth);
      scratch_.odd_key[first + j] = odd;
      if (odd)
        scale_packed_row(scratch_.packed_keys, size, call_.query_width(), call.kernels.panel_width, first + j, 0.0f);
    }
  });
}

/// Reads queries and output gradients of the rows.
void ScoreGradients::load_rows() {
  const Call& call = call_.forward;
  const ScoreTile& tile = scratch_.tile;
  const std::int64_t columns = call.shape.value_dim, heads = rows_.heads;
  tile.load(heads);
  for (std::int64_t r = 0; r < std::min(heads, tile.count); ++r) {  // every `heads`-th row is of the same head
    const RowRun run = call.outputs_from(tile.row[r], call_.inputs.output_gradient, divide_up(tile.count - r, heads));
    call.kernels.widen(run, columns, scratch_.output_gradient + r * columns, heads * columns);
  }
  const std::int64_t padding = round_up(tile.count, call.kernels.row_step) - tile.count;
  std::fill_n(scratch_.output_gradient + tile.count * columns, padding * columns, 0.0f);
  for (std::int64_t r = 0; r < tile.count; ++r) {
    const std::int64_t at = call.row_index(tile.row[r]);
    scratch_.lse[r] = call_.lse[at];
    scratch_.lse_rest[r] = call_.lse_rest ? call_.lse_rest[at] : 0.0f;
    scratch_.delta[r] = call_.deltas[at];
    scratch_.lse_gradient[r] = call_.lse_gradient(at);
    if (!std::isfinite(scratch_.lse_gradient[r])) std::fill_n(scratch_.output_gradient + r * columns, columns, kNan);
  }
  if (packs_) pack_rows();
}

void ScoreGradients::pack_rows() {
  const Call& call = call_.forward;
  const std::int64_t count = scratch_.tile.count;
  const auto pack = [&](const float* rows, std::int64_t columns, std::int64_t width, std::uint8_t* odd, float* panels) {
    RowRun run;
    run.data = rows;
    run.row_stride = columns;
    run.count = count;
    call.kernels.pack(run, columns, 0, count, panels);
    for (std::int64_t r = 0; r < count; ++r) {
      odd[r] = !all_finite(rows + r * columns, columns);
      if (odd[r]) scale_packed_row(panels, count, width, call.kernels.panel_width, r, 0.0f);
    }
  };
  pack(scratch_.tile.query, call.shape.head_dim, call_.query_width(), scratch_.odd_query, scratch_.packed_query);
  pack(scratch_.output_gradient, call.shape.value_dim, call_.value_width(), scratch_.odd_output_gradient,
       scratch_.packed_output_gradient);
  if (!call.options.head_gain) return;
  for (std::int64_t r = 0; r < count; ++r)
    scale_packed_row(scratch_.packed_output_gradient, count, call_.value_width(), call.kernels.panel_width, r,
                     call_.gain(scratch_.tile.row[r].head));
}

void ScoreGradients::compute(const Strip& strip) {
  const Call& call = call_.forward;
  scratch_.tile.multiply(strip, scratch_.scores, scratch_.score_stride);
  multiply_strip(call.kernels, strip, scratch_.output_gradient, call.shape.value_dim, scratch_.value_columns,
                 scratch_.products, scratch_.score_stride);
  for (std::int64_t r = strip.begin; r < strip.end; ++r) weigh_row(strip, r);
}

/// Turns one row's products into weights and gradients. They are 0 around the keys that the row reaches.
void ScoreGradients::weigh_row(const Strip& strip, std::int64_t r) {
  const KernelTable& kernels = call_.kernels();
  const std::int64_t row_at = (r - strip.begin) * scratch_.score_stride;
  const QueryRow& row = scratch_.tile.row[r];
  float *const scores = scratch_.scores + row_at, *const products = scratch_.products + row_at;
  const RowReach at = scratch_.tile.reach_of(r, kernels.lanes);
  if (!at.reach.empty()) {
    const std::int64_t count = at.columns.size();
    float *const first = scores + at.columns.begin, *const first_product = products + at.columns.begin;
    const bool sees = bring_to_last_stage(r, at, scores);
    const float gain = call_.gain(row.head), rest = scratch_.lse_rest[r];
    float lse = scratch_.lse[r];
    if (rest != 0.0f) {  // score - lse is exact for every weight that counts, and then the rest is not lost
      for (float& score : std::span(first, count))
        score = score == -kInfinity ? score : score - lse;  // hidden stays hidden, also if lse is NaN
      lse = rest;
    }
    drop(call_.forward, row, at.keys.begin, count, first_product);
    const float reached = kernels.gradient_step(first, first_product, count, lse, scratch_.delta[r], gain);
    if (gain == 0.0f) keep_only_lse(at.columns, scratch_.lse_gradient[r], scores, products);
    differentiate({row, at.keys, first, first_product});
    drop(call_.forward, row, at.keys.begin, count, first);
    observer_.finish_row(row, reached, sees);
  }
  scratch_.tile.for_each_run(strip.panels, [&](KeyRange keys) {
    clear_around(at.columns, keys, scores);
    clear_around(at.columns, keys, products);
  });
}

/// Products of a row become final scores, -inf where hidden. Keeps the scores of the stages that differentiate() needs.
/// Returns whether the row sees a key.
bool ScoreGradients::bring_to_last_stage(std::int64_t r, const RowReach& at, float* scores) {
  const bool rescored = scratch_.derivative != nullptr;
  const KeptStages kept{call_.forward.options.softcap > 0.0f ? scratch_.capped : nullptr,
                        rescored ? scratch_.biased : nullptr};
  // A row that the forward has lost has no weights: a score of -inf is not always a hidden one there.
  const bool lost = std::isnan(scratch_.lse[r]);
  std::uint8_t* const visible = scratch_.visible;
  if (lost) std::fill_n(visible + at.columns.begin, at.keys.size(), std::uint8_t{0});
  const Visibility seen = scratch_.tile.finish(r, at, scores, visible, lost, kept);
  for (std::int64_t j = at.columns.begin; lost && j < at.columns.begin + at.keys.size(); ++j)
    if (visible[j]) scores[j] = kNan;
  const auto is_shown = [](float score) { return score != -kInfinity; };
  return seen.sees && (!rescored || std::any_of(scores + at.columns.begin, scores + at.columns.end, is_shown));
}

/// Brings a row's gradients from the last stage of scores to the products.
void ScoreGradients::differentiate(const GradientRow& row) {
  const Call& call = call_.forward;
  if (scratch_.derivative) {
    scratch_.derivative->evaluate(row.row.r, row.keys.begin, row.keys.end, scratch_.biased);
    observer_.at_formula(row, *scratch_.derivative);
    scratch_.derivative->copy_values(call_.derivative.formula().result, row.keys.size(), scratch_.factors);
    multiply_where_weighted(row, scratch_.factors);
  }
  observer_.at_bias(row);
  if (call.options.softcap > 0.0f) {
    const float cap = call.options.softcap;
    for (std::int64_t j = 0; j < row.keys.size(); ++j) {
      const float slope = scratch_.capped[j] / cap;
      scratch_.factors[j] = 1.0f - slope * slope;
    }
    multiply_where_weighted(row, scratch_.factors);
  }
  if (call.score_scale != 1.0f) call.kernels.scale(row.gradients, row.keys.size(), call.score_scale);
}

}  // namespace headwise
