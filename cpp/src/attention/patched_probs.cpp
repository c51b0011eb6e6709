#include "attention/patched_probs.h"

#include <algorithm>
#include <numeric>

#include "attention/chosen.h"

namespace headwise {

namespace {

/// Lists where each of `count` indices is among the chosen ones.
bool list_places(const std::int32_t* chosen, std::int64_t num_chosen, std::int64_t count,
                 Buffer<std::int32_t>& places) {
  if (!places.allocate(count)) return false;
  if (!chosen) {
    std::iota(places.data(), places.data() + count, 0);
    return true;
  }
  std::fill_n(places.data(), count, -1);
  for (std::int64_t n = 0; n < num_chosen; ++n) places[chosen[n]] = static_cast<std::int32_t>(n);
  return true;
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

Status PatchedProbs::allocate() {
  if (!patch_.given()) return {};
  const Selection& selection = patch_.selection;
  const std::int64_t heads = call_.shape.num_heads, queries = call_.shape.query_length;
  if (!list_places(selection.heads, selection.num_heads, heads, heads_) ||
      !list_places(selection.queries, selection.num_queries, queries, queries_))
    return Status::out_of_memory((heads + queries) * static_cast<std::int64_t>(sizeof(std::int32_t)));
  return {};
}

bool PatchedProbs::has(const Sequence& sequence, const QueryRow& row) const {
  return patch_.given() && row.i < sequence.query_length && heads_[row.head] >= 0 &&
         queries_[sequence.query_begin + row.i] >= 0;
}

void PatchedProbs::overwrite(const Sequence& sequence, const QueryRow& row, std::int64_t width, float* weights,
                             std::uint8_t* visible) const {
  if (patch_.mean) return spread(width, weights, visible);
  const Chosen chosen(call_, patch_.selection);
  const std::int64_t place =
      (sequence.batch * chosen.heads() + heads_[row.head]) * chosen.queries() + queries_[sequence.query_begin + row.i];
  const float* const data = patch_.data + place * call_.key_length + sequence.key_begin;
  std::copy_n(data, sequence.num_keys, weights);
  std::fill(weights + sequence.num_keys, weights + width, 0.0f);
  for (std::int64_t j = 0; j < sequence.num_keys; ++j)
    if (data[j] != 0.0f) visible[j] = 1;
}

}  // namespace headwise
