#include <algorithm>
#include <utility>

#include "base/rules.h"
#include "headwise/kv_cache.h"
#include "layer/forward.h"

namespace headwise {

/// Finds where every query and key stands after the keys have been appended: query i at i + offset_b, key j at pi_bj.
void Forward::resolve_positions() {
  resolve_sequences(shape_, attention_inputs_, options_, sequences_.data());
  const bool offset_follows_cache = appends() && !options_.query_offset && options_.causal != Causal::upper_left;
  for (std::int64_t n = 0; n < std::ssize(sequences_); ++n) {
    Sequence& sequence = sequences_[n];
    if (offset_follows_cache) sequence.offset += growth_.of(n);
    std::int64_t* positions = query_positions_.data() + sequence.batch * inputs_.query_length + sequence.query_begin;
    for (std::int64_t i = 0; i < sequence.num_queries; ++i) positions[i] = i + sequence.offset;
  }
  if (projects_keys()) resolve_key_positions();
  if (inputs_.positions.data) take_given_positions();
}

void Forward::resolve_key_positions() {
  for (std::int64_t n = 0; n < std::ssize(sequences_); ++n) {
    const Sequence& sequence = sequences_[n];
    const std::int64_t first = appends() ? inputs_.cache->appended(n) : 0;
    const std::int64_t count = options_.cu_seq_lens_key ? sequence.key_length : key_length_;
    std::int64_t* positions = key_positions_.data() + sequence.batch * key_length_ + sequence.key_begin;
    for (std::int64_t j = 0; j < count; ++j) positions[j] = first + j;
  }
}

/// Positions of the caller replace those of the tokens.
void Forward::take_given_positions() {
  std::copy_n(inputs_.positions.data, std::ssize(query_positions_), query_positions_.data());
  if (projects_keys() && given_key_positions())
    std::copy_n(given_key_positions(), std::ssize(key_positions_), key_positions_.data());
}

/// Finds the row of every token: what is added to X, or the angles.
Error Forward::find_position_rows() {
  switch (layer_.options.position) {
    case LayerPosition::none:
      return {};
    case LayerPosition::table:
      return find_table_rows();
    case LayerPosition::sinusoidal:
      return layer_.position_rows.find(pool_, query_positions_.data(), std::ssize(query_positions_), &query_rows_);
    case LayerPosition::rotary:
      break;
  }
  if (!turns()) return {};
  if (!layer_.angles_grow()) return find_angles(layer_.position_rows);
  if (Error e = own_angles_.create(rotary_now(), layer_.shape.head_dim)) return e;
  if (Error e = own_rows_.create(own_angles_, 2 * own_angles_.half())) return e;
  return find_angles(own_rows_);
}

/// Outside the table there is no row: only padding stands there.
Error Forward::find_table_rows() {
  const std::int64_t width = layer_.shape.input_dim;
  if (Error e = query_rows_.at.allocate(std::ssize(query_positions_))) return e;
  for (std::int64_t t = 0; t < std::ssize(query_positions_); ++t) {
    const std::int64_t p = query_positions_[t];
    query_rows_.at[t] = p >= 0 && p < layer_.options.position_rows ? layer_.position_table.data() + p * width : nullptr;
  }
  return {};
}

Error Forward::find_angles(KeptRows& kept) {
  if (Error e = kept.find(pool_, query_positions_.data(), std::ssize(query_positions_), &query_rows_)) return e;
  if (Error e = kept.find(pool_, key_positions_.data(), std::ssize(key_positions_), &key_rows_)) return e;
  if (inputs_.positions.planes == 1) return {};
  if (Error e = splice_sections(&query_rows_)) return e;
  return splice_sections(&key_rows_);
}

/// From a row of angles for each plane to one for each token, which takes the pairs of a section from that one's plane.
Error Forward::splice_sections(PositionRows* rows) const {
  const RotaryOptions& rotary = layer_.options.rotary;
  const std::int64_t tokens = rows->at.size() / inputs_.positions.planes, width = layer_.position_rows_width();
  const std::int64_t half = width / 2;
  const std::int64_t ends[] = {rotary.temporal_section, rotary.temporal_section + rotary.height_section, half};
  PositionRows spliced;
  if (Error e = allocate_all(spliced.at, tokens, spliced.own, tokens * width)) return e;
  for (std::int64_t t = 0; t < tokens; ++t) {
    float* const row = spliced.own.data() + t * width;
    spliced.at[t] = row;
    std::int64_t first = 0;
    for (std::int64_t plane = 0; plane < inputs_.positions.planes; first = ends[plane++]) {
      const float* const from = rows->at[plane * tokens + t];
      std::copy(from + first, from + ends[plane], row + first);
      std::copy(from + half + first, from + half + ends[plane], row + half + first);
    }
  }
  *rows = std::move(spliced);
  return {};
}

/// The rotary embedding of this call: dynamic ntk and longrope take the highest position + 1 as their length.
RotaryOptions Forward::rotary_now() const {
  RotaryOptions rotary = layer_.options.rotary;
  for (const std::span<std::int64_t> positions : {query_positions_, key_positions_})
    for (const std::int64_t position : positions)
      rotary.sequence_length = std::max(rotary.sequence_length, static_cast<double>(position + 1));
  return rotary;
}

}  // namespace headwise
