#include "attention/scores.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/half.h"

namespace headwise {

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// One row of a broadcast [B, H, Sq, Skv] array, from some key row on. step is 0 if the array repeats along keys.
template <class T>
struct BroadcastRow {
  const T* data;
  std::ptrdiff_t step;
  const T& operator[](std::int64_t j) const { return data[j * step]; }
};

template <class T>
BroadcastRow<T> broadcast_row(const void* data, const BroadcastExtents& extents, const Sequence& sequence,
                              const QueryRow& row, std::int64_t j) {
  const std::int64_t* extent = extents.extent;
  const std::int64_t index[4] = {sequence.batch, row.head, sequence.query_begin + row.i, sequence.key_begin + j};
  std::ptrdiff_t at = 0;
  for (int axis = 0; axis < 4; ++axis) at = at * extent[axis] + (extent[axis] == 1 ? 0 : index[axis]);
  return {static_cast<const T*>(data) + at, extent[3] == 1 ? 0 : 1};
}

void subtract_alibi(const Call& call, const Sequence& sequence, const QueryRow& row, KeyRange tile, float* scores) {
  const float slope = call.options.alibi_slopes[row.head];
  const std::int64_t position = row.i + sequence.offset;
  for (std::int64_t j = tile.begin; j < tile.end; ++j)
    scores[j - tile.begin] -= slope * static_cast<float>(std::abs(position - sequence.positions.of(j)));
}

float as_float(float value) { return value; }
float as_float(std::uint16_t value) { return half_to_float(value); }

template <class T>
void add_bias(const Call& call, const Sequence& sequence, const QueryRow& row, KeyRange tile, float* scores) {
  const auto bias = broadcast_row<T>(call.inputs.bias.data, call.inputs.bias_extents, sequence, row, tile.begin);
  for (std::int64_t j = 0; j < tile.size(); ++j) {
    const float b = as_float(bias[j]);
    scores[j] =
        b == -kInfinity ? -kInfinity : scores[j] + b;  // -inf hides before it is added: a NaN score becomes -inf too
  }
}

/// Hides the keys whose bias is -inf.
template <class T>
void hide_by_bias(const Call& call, const Sequence& sequence, const QueryRow& row, KeyRange tile,
                  std::uint8_t* visible) {
  const auto bias = broadcast_row<T>(call.inputs.bias.data, call.inputs.bias_extents, sequence, row, tile.begin);
  for (std::int64_t j = 0; j < tile.size(); ++j) visible[j] &= as_float(bias[j]) != -kInfinity;
}

void hide_by_mask(const Call& call, const Sequence& sequence, const QueryRow& row, KeyRange tile,
                  std::uint8_t* visible) {
  const auto mask = broadcast_row<std::uint8_t>(call.inputs.mask, call.inputs.mask_extents, sequence, row, tile.begin);
  for (std::int64_t j = 0; j < tile.size(); ++j) visible[j] &= mask[j] != 0;
}

/// visible[j] = 1 if positions and lengths allow key tile.begin + j, else 0.
void show_range(const QueryRow& row, KeyRange tile, std::uint8_t* visible) {
  const std::int64_t begin = std::clamp(row.keys.range.begin, tile.begin, tile.end);
  const std::int64_t end = std::clamp(row.keys.range.end, begin, tile.end);
  std::fill(visible, visible + (begin - tile.begin), std::uint8_t{0});
  std::fill(visible + (begin - tile.begin), visible + (end - tile.begin), std::uint8_t{1});
  std::fill(visible + (end - tile.begin), visible + tile.size(), std::uint8_t{0});
  if (row.keys.self >= tile.begin && row.keys.self < tile.end) visible[row.keys.self - tile.begin] = 0;
}

void find_visible(const Call& call, const Sequence& sequence, const QueryRow& row, KeyRange tile,
                  std::uint8_t* visible) {
  show_range(row, tile, visible);
  if (call.inputs.mask) hide_by_mask(call, sequence, row, tile, visible);
  if (!call.inputs.bias.data) return;
  if (call.inputs.bias.dtype == Dtype::float16)
    hide_by_bias<std::uint16_t>(call, sequence, row, tile, visible);
  else
    hide_by_bias<float>(call, sequence, row, tile, visible);
}

}  // namespace

bool hides_inside(const Call& call, const QueryRow& row, KeyRange tile) {
  if (call.inputs.mask || call.inputs.bias.data) return true;
  return row.keys.self >= tile.begin && row.keys.self < tile.end;
}

bool needs_hiding(const Call& call, const QueryRow& row, KeyRange tile) {
  return row.keys.range.begin > tile.begin || row.keys.range.end < tile.end || hides_inside(call, row, tile);
}

void apply_stages(const Call& call, const Sequence& sequence, const QueryRow& row, KeyRange tile, ScoreStage stage,
                  float* scores, std::int64_t capacity) {
  if (stage == ScoreStage::raw) return;
  if (call.options.softcap > 0.0f) call.kernels.softcap(scores, capacity, call.options.softcap);
  if (stage == ScoreStage::softcapped) return;
  if (call.options.alibi_slopes) subtract_alibi(call, sequence, row, tile, scores);
  if (!call.inputs.bias.data) return;
  if (call.inputs.bias.dtype == Dtype::float16)
    add_bias<std::uint16_t>(call, sequence, row, tile, scores);
  else
    add_bias<float>(call, sequence, row, tile, scores);
}

bool hide_scores(const Call& call, const Sequence& sequence, const QueryRow& row, KeyRange tile, float* scores,
                 std::uint8_t* visible) {
  find_visible(call, sequence, row, tile, visible);
  std::uint8_t any = 0;
  for (std::int64_t j = 0; j < tile.size(); ++j) {
    any |= visible[j];
    scores[j] = visible[j] ? scores[j] : -kInfinity;
  }
  return any != 0;
}

bool sees_any_key(const Call& call, const Sequence& sequence, const QueryRow& row) {
  constexpr std::int64_t kChunk = 64;
  std::uint8_t visible[kChunk];
  for (std::int64_t j = row.keys.range.begin; j < row.keys.range.end; j += kChunk) {
    const KeyRange tile{j, std::min(j + kChunk, row.keys.range.end)};
    find_visible(call, sequence, row, tile, visible);
    if (std::any_of(visible, visible + tile.size(), [](std::uint8_t v) { return v != 0; })) return true;
  }
  return false;
}

}  // namespace headwise
