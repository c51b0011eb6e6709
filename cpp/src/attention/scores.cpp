#include "attention/scores.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/memory.h"
#include "base/numbers.h"
#include "base/philox.h"

namespace headwise {

namespace {

constexpr float kHidden = -std::numeric_limits<float>::infinity();

// Float32 holds whole numbers below this exactly.
constexpr std::int64_t kExactIntegers = std::int64_t{1} << 24;

/// One row of a broadcast [B, H, Sq, Skv] array, from some key row on. It is one element if the array repeats along
/// keys.
template <class T>
struct BroadcastRow {
  const T* data;
  bool repeats;
};

template <class T>
BroadcastRow<T> row_of(const void* data, const BroadcastExtents& extents, const QueryRow& row, std::int64_t j) {
  const T* first = static_cast<const T*>(data) +
                   broadcast_row(extents, row.sequence->batch, row.head, row.query()) * extents.extent[3];
  const bool repeats = extents.extent[3] == 1;
  return {repeats ? first : first + row.sequence->key_begin + j, repeats};
}

/// Subtracts slope * |distance| from the scores of keys `keys` of the tile, whose positions are neighbours.
void subtract_distances(const Call& call, float slope, std::int64_t distance, std::int64_t count, float* scores) {
  if (std::max(std::abs(distance), std::abs(distance - count)) < kExactIntegers)
    return call.kernels.subtract_distances(scores, count, slope, static_cast<float>(distance));
  for (std::int64_t j = 0; j < count; ++j) scores[j] -= slope * static_cast<float>(std::abs(distance - j));
}

/// The same between positions that the call gives.
void subtract_given_distances(const Call& call, const QueryRow& row, KeyRange tile, float* scores) {
  const Sequence& sequence = *row.sequence;
  const float slope = call.options.alibi_slopes[row.head];
  const std::int64_t position =
      call.options.alibi_query_positions[sequence.batch * call.shape.query_length + row.query()];
  const std::int32_t* keys =
      call.options.alibi_key_positions + sequence.batch * call.key_length + sequence.key_begin + tile.begin;
  for (std::int64_t j = 0; j < tile.size(); ++j) scores[j] -= slope * static_cast<float>(std::abs(position - keys[j]));
}

void subtract_alibi(const Call& call, const QueryRow& row, KeyRange tile, float* scores) {
  const float slope = call.options.alibi_slopes[row.head];
  if (call.options.alibi_query_positions) return subtract_given_distances(call, row, tile, scores);
  const Sequence& sequence = *row.sequence;
  const std::int64_t position = row.i + sequence.offset;
  const KeyPositions& positions = sequence.positions;
  // Positions jump where a cache has dropped keys.
  const std::int64_t jump = std::clamp(positions.kept, tile.begin, tile.end);
  for (const KeyRange keys : {KeyRange{tile.begin, jump}, KeyRange{jump, tile.end}}) {
    if (keys.empty()) continue;
    const std::int64_t from = keys.begin < sequence.places ? positions.place_of(position) : position;
    subtract_distances(call, slope, from - positions.of(keys.begin), keys.size(), scores + (keys.begin - tile.begin));
  }
}

float as_float(float value) { return value; }
float as_float(std::uint16_t value) { return half_to_float(value); }

template <class T>
bool add_bias_of(const Call& call, const QueryRow& row, KeyRange tile, float* scores) {
  const ConstArray& array = call.inputs.bias;
  const auto bias = row_of<T>(array.data, call.inputs.bias_extents, row, tile.begin);
  if (!bias.repeats) return call.kernels.add_bias({bias.data, array.dtype}, tile.size(), scores);
  for (std::int64_t j = 0; j < tile.size(); ++j) scores[j] += as_float(*bias.data);
  if (hides(*bias.data)) std::fill_n(scores, tile.size(), kHidden);
  return hides(*bias.data);
}

bool add_bias(const Call& call, const QueryRow& row, KeyRange tile, float* scores) {
  return call.inputs.bias.dtype == Dtype::float16 ? add_bias_of<std::uint16_t>(call, row, tile, scores)
                                                  : add_bias_of<float>(call, row, tile, scores);
}

/// Clears the bytes of keys that a row of a mask or of a bias hides.
template <class T>
void hide_by(BroadcastRow<T> row, std::int64_t count, std::uint8_t* visible) {
  if (row.repeats) {
    if (hides(*row.data)) std::fill_n(visible, count, std::uint8_t{0});
    return;
  }
  for (std::int64_t j = 0; j < count; ++j) visible[j] &= static_cast<std::uint8_t>(!hides(row.data[j]));
}

/// Whether the mask, exclude_self or a ring may hide a key of `keys` from `row`, within its range.
bool may_hide(const QueryRow& row, KeyRange keys) {
  return row.keys.has_holes || !common(keys, row.keys.gap).empty() ||
         (row.keys.self >= keys.begin && row.keys.self < keys.end);
}

/// visible[j] = 1 if positions and lengths allow key tile.begin + j, else 0.
void show_range(const QueryRow& row, KeyRange tile, std::uint8_t* visible) {
  const std::int64_t begin = std::clamp(row.keys.range.begin, tile.begin, tile.end);
  const std::int64_t end = std::clamp(row.keys.range.end, begin, tile.end);
  std::fill(visible, visible + (begin - tile.begin), std::uint8_t{0});
  std::fill(visible + (begin - tile.begin), visible + (end - tile.begin), std::uint8_t{1});
  std::fill(visible + (end - tile.begin), visible + tile.size(), std::uint8_t{0});
  const KeyRange gap = within(tile, row.keys.gap);
  std::fill(visible + gap.begin, visible + gap.end, std::uint8_t{0});
  if (row.keys.self >= tile.begin && row.keys.self < tile.end) visible[row.keys.self - tile.begin] = 0;
}

/// Sets `visible` to 0 or 1 for each key. The visible formula hides some of the keys `asked`, and no others.
void find_visible(const Call& call, const QueryRow& row, KeyRange tile, KeyRange asked, TileFormulas& formulas,
                  std::uint8_t* visible) {
  const AttentionInputs& inputs = call.inputs;
  show_range(row, tile, visible);
  if (formulas.visible && !asked.empty())
    formulas.visible->hide(row.r, asked.begin, asked.end, visible + (asked.begin - tile.begin));
  if (inputs.mask)
    hide_by(row_of<std::uint8_t>(inputs.mask, inputs.mask_extents, row, tile.begin), tile.size(), visible);
  if (!inputs.bias.data) return;
  if (inputs.bias.dtype == Dtype::float16)
    hide_by(row_of<std::uint16_t>(inputs.bias.data, inputs.bias_extents, row, tile.begin), tile.size(), visible);
  else
    hide_by(row_of<float>(inputs.bias.data, inputs.bias_extents, row, tile.begin), tile.size(), visible);
}

}  // namespace

float shift_of(const float* query, const float* mean, std::int64_t depth) {
  double sum = 0.0;
  for (std::int64_t d = 0; mean && d < depth; ++d)
    if (mean[d] != 0.0f) sum += double{query[d]} * double{mean[d]};  // otherwise an infinity in the query would be NaN
  return static_cast<float>(sum);
}

void shift_products(float shift, std::int64_t count, float* products) {
  if (shift == 0.0f) return;
  for (std::int64_t j = 0; j < count; ++j) products[j] += shift;
}

bool apply_stages(const Call& call, const QueryRow& row, KeyRange keys, ScoreStage stage, TileFormulas& formulas,
                  float* scores, KeptStages kept) {
  if (stage == ScoreStage::raw) return false;
  const auto capacity = [&] {
    return round_up(keys.size(), call.kernels.lanes);
  };  // a division: only where it is needed
  if (call.options.softcap > 0.0f) call.kernels.softcap(scores, capacity(), call.options.softcap);
  if (kept.softcapped) std::copy_n(scores, capacity(), kept.softcapped);
  if (stage == ScoreStage::softcapped) return false;
  if (call.options.alibi_slopes) subtract_alibi(call, row, keys, scores);
  const bool hidden = call.inputs.bias.data && add_bias(call, row, keys, scores);
  if (kept.biased) std::copy_n(scores, capacity(), kept.biased);
  if (stage == ScoreStage::formula && formulas.score) formulas.score->rescore(row.r, keys.begin, keys.end, scores);
  return hidden;
}

Visibility bring_to_last_stage(const Call& call, const RowScores& of, ScoreStage stage, TileFormulas& formulas,
                               KeptStages kept) {
  const auto& [row, keys, reach, asked, scores, room, visible, marks] = of;
  const KeyRange inside = shifted(reach, -keys.begin);
  bool hides = apply_stages(call, row, keys, stage, formulas, scores, kept);
  hides |= !asked.empty() || may_hide(row, keys);
  bool sees = true;
  if (hides) {
    find_visible(call, row, keys, asked, formulas, visible);
    sees = call.kernels.hide(scores, visible, keys.size());
  } else if (marks) {
    std::fill(visible + inside.begin, visible + inside.end, std::uint8_t{1});
  }
  if (marks && formulas.score)  // it may give -inf
    for (std::int64_t j = 0; j < keys.size(); ++j) visible[j] &= static_cast<std::uint8_t>(scores[j] != kHidden);
  std::fill(scores, scores + inside.begin, kHidden);
  std::fill(scores + inside.end, scores + room, kHidden);
  return {hides, sees};
}

bool sees_any_key(const Call& call, const QueryRow& row, TileFormulas& formulas) {
  constexpr std::int64_t kChunk = 64;
  std::uint8_t visible[kChunk];
  for (std::int64_t j = row.keys.range.begin; j < row.keys.range.end; j += kChunk) {
    const KeyRange tile{j, std::min(j + kChunk, row.keys.range.end)};
    find_visible(call, row, tile, tile, formulas, visible);
    if (std::any_of(visible, visible + tile.size(), [](std::uint8_t v) { return v != 0; })) return true;
  }
  return false;
}

void drop(const Call& call, const QueryRow& row, std::int64_t first, std::int64_t count, float* values) {
  const auto [rate, seed] = call.options.dropout;
  if (rate == 0.0) return;
  constexpr std::int64_t kWords = 4;
  const auto word = [](auto number) { return static_cast<std::uint32_t>(number); };
  const std::uint32_t least = word(std::min(rate * 0x1p32, 0x1p32 - 1));
  const float factor = rate < 1.0 ? static_cast<float>(1.0 / (1.0 - rate)) : 0.0f;
  for (std::int64_t j = first; j < first + count;) {
    const auto words = philox({word(j / kWords), word(row.i), word(row.head), word(row.sequence->number)},
                              {word(seed), word(seed >> 32)});
    for (const std::int64_t end = std::min((j / kWords + 1) * kWords, first + count); j < end; ++j)
      values[j - first] *= words[j % kWords] < least ? 0.0f : factor;
  }
}

}  // namespace headwise
