#include "attention/rows.h"

#include <algorithm>
#include <numeric>

namespace headwise {

const Sequence* sequence_of(const Call& call, std::int64_t batch, std::int64_t query) {
  if (!call.options.cu_seq_lens_query) return call.sequences + batch;
  const Sequence* end = call.sequences + call.num_sequences;
  const Sequence* after = std::upper_bound(call.sequences, end, query, [](std::int64_t q, const Sequence& sequence) {
    return q < sequence.query_begin + sequence.num_queries;
  });
  return after == end ? nullptr : after;
}

Error WantedRows::gather(const AttentionShape& shape, const AttentionOutputs& outputs) {
  const Chosen probs = chosen_queries(shape, outputs.probs_selection);
  const Chosen top_k = chosen_queries(shape, outputs.top_k_selection);
  all_ = outputs.output.data || outputs.lse || outputs.entropy || (outputs.probs && probs.is_everything()) ||
         (outputs.top_k_values && top_k.is_everything());
  if (all_) return {};
  query_length_ = shape.query_length;
  const std::int64_t rows = shape.num_heads * shape.query_length;
  if (Error e = wanted_.allocate(rows)) return e;
  std::fill_n(wanted_.data(), rows, std::uint8_t{0});
  if (outputs.probs) add(probs);
  if (outputs.top_k_values) add(top_k);
  return {};
}

void WantedRows::add(const Chosen& chosen) {
  for (std::int64_t h = 0; h < chosen.heads(); ++h)
    for (std::int64_t r = 0; r < chosen.rows(); ++r) wanted_[chosen.head(h) * query_length_ + chosen.row(r)] = 1;
}

namespace {

/// Lists where each of `count` indices is among the chosen ones.
Error list_places(const std::int32_t* chosen, std::int64_t num_chosen, std::int64_t count,
                  Buffer<std::int32_t>& places) {
  if (Error e = places.allocate(count)) return e;
  if (chosen)
    std::fill_n(places.data(), count, -1);
  else
    std::iota(places.data(), places.data() + count, 0);
  for (std::int64_t n = 0; chosen && n < num_chosen; ++n) places[chosen[n]] = static_cast<std::int32_t>(n);
  return {};
}

/// Puts the mean weight of the visible keys in place of each of their weights.
void spread(std::int64_t width, float* weights, const std::uint8_t* visible) {
  double sum = 0;
  std::int64_t count = 0;
  for (std::int64_t j = 0; j < width; ++j) {
    if (!visible[j]) continue;
    sum += weights[j];
    ++count;
  }
  const float mean = static_cast<float>(sum / static_cast<double>(count));
  for (std::int64_t j = 0; j < width; ++j)
    if (visible[j]) weights[j] = mean;
}

}  // namespace

bool wants_inspection(const Call& call) {
  const AttentionOutputs& outputs = call.outputs;
  return outputs.probs || outputs.scores || outputs.entropy || outputs.top_k_values ||
         (outputs.output.data && call.inputs.probs.given());
}

Error PatchedProbs::allocate() {
  if (!patch_.given()) return {};
  const Selection& selection = patch_.selection;
  if (Error e = list_places(selection.heads, selection.num_heads, call_.shape.num_heads, heads_)) return e;
  return list_places(selection.queries, selection.num_queries, call_.shape.query_length, queries_);
}

bool PatchedProbs::has(const QueryRow& row) const {
  return patch_.given() && row.i < row.sequence->query_length && heads_[row.head] >= 0 && queries_[row.query()] >= 0;
}

void PatchedProbs::overwrite(const QueryRow& row, std::int64_t width, float* weights, std::uint8_t* visible) const {
  if (patch_.mean) return spread(width, weights, visible);
  const Sequence& sequence = *row.sequence;
  const Chosen chosen = chosen_queries(call_.shape, patch_.selection);
  const std::int64_t place =
      (sequence.batch * chosen.heads() + heads_[row.head]) * chosen.rows() + queries_[row.query()];
  const float* const data = patch_.data + place * call_.key_length + sequence.key_begin;
  std::copy_n(data, sequence.num_keys, weights);
  std::fill(weights + sequence.num_keys, weights + width, 0.0f);
  for (std::int64_t j = 0; j < sequence.num_keys; ++j)
    if (data[j] != 0.0f) visible[j] = 1;
}

Error find_empty_rows(const Call& call) {
  constexpr FormulaRoom kRowRoom{1, 1, 64};
  Buffer<char> memory;
  const std::int64_t bytes = bytes_of<TileFormulas>(call.formulas, call.kernels, kRowRoom);
  if (Error e = memory.allocate(bytes)) return e;
  auto formulas = placed_in<TileFormulas>(memory.data(), call.formulas, call.kernels, kRowRoom);
  PatchedProbs patched(call);
  if (Error e = patched.allocate()) return e;
  EmptyRowReport found;
  for (std::int64_t n = 0; n < call.num_sequences; ++n) {
    const Sequence& sequence = call.sequences[n];
    for (std::int64_t h = 0; h < call.shape.num_heads; ++h) {
      for (std::int64_t i = 0; i < sequence.query_length && found.count < EmptyRowReport::kMostRows; ++i) {
        const QueryRow row = call.query_row(sequence, h, i);
        formulas.set_rows({&sequence, h / call.group_size, h, 1, i, i + 1});
        if (patched.gives(row) || sees_any_key(call, row, formulas)) continue;
        found.rows[found.count++] = {static_cast<std::int32_t>(n), static_cast<std::int32_t>(h),
                                     static_cast<std::int32_t>(i)};
      }
    }
  }
  if (found.count == 0) return {};
  if (call.options.empty_row_report) *call.options.empty_row_report = found;
  const RowIndex& first = found.rows[0];
  return refuse(Rule::empty_row, first.batch, first.head, first.query);
}

}  // namespace headwise
