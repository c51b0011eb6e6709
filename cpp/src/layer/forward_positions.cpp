#include <algorithm>
#include <utility>

#include "base/rules.h"
#include "headwise/kv_cache.h"
#include "layer/forward.h"

namespace headwise {

namespace {

void resolve_key_positions(Forward& f) {
  for (std::int64_t n = 0; n < std::ssize(f.sequences); ++n) {
    const Sequence& sequence = f.sequences[n];
    const std::int64_t first = f.appends() ? f.inputs.cache->appended(n) : 0;
    const std::int64_t count = f.options.cu_seq_lens_key ? sequence.key_length : f.key_length;
    std::int64_t* positions = f.key_positions.data() + sequence.batch * f.key_length + sequence.key_begin;
    for (std::int64_t j = 0; j < count; ++j) positions[j] = first + j;
  }
}

/// Positions of the caller replace those of the tokens.
void take_given_positions(Forward& f) {
  std::copy_n(f.inputs.positions.data, std::ssize(f.query_positions), f.query_positions.data());
  if (f.projects_keys() && f.given_key_positions())
    std::copy_n(f.given_key_positions(), std::ssize(f.key_positions), f.key_positions.data());
}

/// Outside the table there is no row: only padding stands there.
Error find_table_rows(Forward& f) {
  const std::int64_t width = f.layer.shape.input_dim;
  if (Error e = f.query_position_rows.at.allocate(std::ssize(f.query_positions))) return e;
  for (std::int64_t t = 0; t < std::ssize(f.query_positions); ++t) {
    const std::int64_t p = f.query_positions[t];
    f.query_position_rows.at[t] =
        p >= 0 && p < f.layer.options.position_rows ? f.layer.position_table.data() + p * width : nullptr;
  }
  return {};
}

/// From a row of angles for each plane to one for each token, which takes the pairs of a section from that one's plane.
Error splice_sections(const Forward& f, PositionRows* rows) {
  const RotaryOptions& rotary = f.layer.options.rotary;
  const std::int64_t tokens = rows->at.size() / f.inputs.positions.planes, width = f.layer.position_rows_width();
  const std::int64_t half = width / 2;
  const std::int64_t ends[] = {rotary.temporal_section, rotary.temporal_section + rotary.height_section, half};
  PositionRows spliced;
  if (Error e = allocate_all(spliced.at, tokens, spliced.own, tokens * width)) return e;
  for (std::int64_t t = 0; t < tokens; ++t) {
    float* const row = spliced.own.data() + t * width;
    spliced.at[t] = row;
    std::int64_t first = 0;
    for (std::int64_t plane = 0; plane < f.inputs.positions.planes; first = ends[plane++]) {
      const float* const from = rows->at[plane * tokens + t];
      std::copy(from + first, from + ends[plane], row + first);
      std::copy(from + half + first, from + half + ends[plane], row + half + first);
    }
  }
  *rows = std::move(spliced);
  return {};
}

Error find_angles(Forward& f, KeptRows& kept) {
  if (Error e = kept.find(f.pool, f.query_positions.data(), std::ssize(f.query_positions), &f.query_position_rows))
    return e;
  if (Error e = kept.find(f.pool, f.key_positions.data(), std::ssize(f.key_positions), &f.key_position_rows)) return e;
  if (f.inputs.positions.planes == 1) return {};
  if (Error e = splice_sections(f, &f.query_position_rows)) return e;
  return splice_sections(f, &f.key_position_rows);
}

/// The rotary embedding of this call: dynamic ntk and longrope take the highest position + 1 as their length.
RotaryOptions rotary_now(const Forward& f) {
  RotaryOptions rotary = f.layer.options.rotary;
  for (const std::span<std::int64_t> positions : {f.query_positions, f.key_positions})
    for (const std::int64_t position : positions)
      rotary.sequence_length = std::max(rotary.sequence_length, static_cast<double>(position + 1));
  return rotary;
}

}  // namespace

/// Query i stands at i + offset_b, key j at pi_bj.
void resolve_places(Forward& f) {
  resolve_sequences(f.shape, f.attention_inputs, f.options, f.sequences.data());
  const bool offset_follows_cache = f.appends() && !f.options.query_offset && f.options.causal != Causal::upper_left;
  for (std::int64_t n = 0; n < std::ssize(f.sequences); ++n) {
    Sequence& sequence = f.sequences[n];
    if (offset_follows_cache) sequence.offset += f.growth.of(n);
    std::int64_t* positions = f.query_positions.data() + sequence.batch * f.inputs.query_length + sequence.query_begin;
    for (std::int64_t i = 0; i < sequence.num_queries; ++i) positions[i] = i + sequence.offset;
  }
  if (f.projects_keys()) resolve_key_positions(f);
  if (f.inputs.positions.data) take_given_positions(f);
}

/// Finds the row of every token: what is added to X, or the angles.
Error find_position_rows(Forward& f) {
  switch (f.layer.options.position) {
    case LayerPosition::none:
      return {};
    case LayerPosition::table:
      return find_table_rows(f);
    case LayerPosition::sinusoidal:
      return f.layer.position_rows.find(f.pool, f.query_positions.data(), std::ssize(f.query_positions),
                                        &f.query_position_rows);
    case LayerPosition::rotary:
      break;
  }
  if (!f.turns()) return {};
  if (!f.layer.angles_grow()) return find_angles(f, f.layer.position_rows);
  if (Error e = f.own_angles.create(rotary_now(f), f.layer.shape.head_dim)) return e;
  if (Error e = f.own_rows.create(f.own_angles, 2 * f.own_angles.half())) return e;
  return find_angles(f, f.own_rows);
}

}  // namespace headwise
