#include <algorithm>

#include "base/element.h"
#include "headwise/kv_cache.h"
#include "layer/for_each_token.h"
#include "layer/forward.h"
#include "position/rotary.h"

namespace headwise {

/// Finds where every query and key stands after the keys have been appended: query i at i + offset_b, key j at pi_bj.
void Forward::resolve_positions() {
  resolve_sequences(shape_, attention_inputs_, options_, sequences_.data());
  const bool offset_follows_cache = appends() && !options_.query_offset && options_.causal != Causal::upper_left;
  for (std::int64_t n = 0; n < sequences_.size(); ++n) {
    Sequence& sequence = sequences_[n];
    if (offset_follows_cache) sequence.offset += growth_.of(n);
    double* positions = query_positions_.data() + sequence.batch * inputs_.query_length + sequence.query_begin;
    for (std::int64_t i = 0; i < sequence.num_queries; ++i) positions[i] = static_cast<double>(i + sequence.offset);
  }
  if (!projects_keys()) return;
  for (std::int64_t n = 0; n < sequences_.size(); ++n) {
    const Sequence& sequence = sequences_[n];
    const std::int64_t first = appends() ? inputs_.cache->appended(n) : 0;
    const std::int64_t count = options_.cu_seq_lens_key ? sequence.key_length : key_length_;
    double* positions = key_positions_.data() + sequence.batch * key_length_ + sequence.key_begin;
    for (std::int64_t j = 0; j < count; ++j) positions[j] = static_cast<double>(first + j);
  }
}

/// The rotary embedding of this call: dynamic ntk takes the highest position + 1 as its length.
RotaryOptions Forward::rotary_now() const {
  RotaryOptions rotary = layer_.options.rotary;
  if (grows_with_length(rotary)) {
    for (std::int64_t i = 0; i < query_positions_.size(); ++i)
      rotary.sequence_length = std::max(rotary.sequence_length, query_positions_[i] + 1.0);
    for (std::int64_t j = 0; j < key_positions_.size(); ++j)
      rotary.sequence_length = std::max(rotary.sequence_length, key_positions_[j] + 1.0);
  }
  return rotary;
}

/// Writes what is added to a token of X at `position`. Outside the table it is 0: only padding stands there.
void Forward::write_position(double position, float* row) const {
  const LayerOptions& options = layer_.options;
  const std::int64_t width = layer_.shape.input_dim;
  if (options.position == LayerPosition::sinusoidal)
    return sinusoidal_row(position, width, options.sinusoidal_split, options.sinusoidal_base, row);
  const auto p = static_cast<std::int64_t>(position);
  if (p >= 0 && p < options.position_rows)
    std::copy_n(layer_.position_table.data() + p * width, width, row);
  else
    std::fill_n(row, width, 0.0f);
}

/// placed_x = X + positions, as BSE.
template <class Element>
void Forward::add_positions_to(const Element* x) {
  const std::int64_t width = layer_.shape.input_dim, length = inputs_.query_length;
  const Strides strides = strides_of(inputs_.layout, 1, length, width);
  for_each_token(pool_, inputs_.batch_size, length, [&](std::int64_t b, std::int64_t s) {
    const Element* x_bs = x + b * strides.batch + s * strides.position;
    float* placed = placed_x_.data() + (b * length + s) * width;
    write_position(query_positions_[b * length + s], placed);
    for (std::int64_t f = 0; f < width; ++f) placed[f] += load_element(x_bs + f * strides.feature);
  });
}

void Forward::add_positions() {
  if (inputs_.x.dtype == Dtype::float32)
    add_positions_to(static_cast<const float*>(inputs_.x.data));
  else
    add_positions_to(static_cast<const std::uint16_t*>(inputs_.x.data));
}

Status Forward::turn_heads(Buffer<float>& x, std::int64_t num_heads, const RotaryOptions& rotary,
                           const Buffer<double>& positions) {
  const std::int64_t length = positions.size() / std::max<std::int64_t>(inputs_.batch_size, 1);
  return turn_at(pool_, heads_layout_, inputs_.batch_size, num_heads, length, layer_.shape.head_dim, rotary,
                 {x.data(), Dtype::float32}, positions.data(), {x.data(), Dtype::float32});
}

Status Forward::turn_queries_and_keys() {
  const RotaryOptions rotary = rotary_now();
  if (Status status = turn_heads(query_, layer_.shape.num_heads, rotary, query_positions_); !status.ok()) return status;
  return turn_heads(key_, layer_.shape.num_kv_heads, rotary, key_positions_);
}

}  // namespace headwise
