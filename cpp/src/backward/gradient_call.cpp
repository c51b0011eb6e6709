#include "backward/gradient_call.h"

#include <algorithm>

namespace headwise {

std::int64_t GradientCall::query_width() const { return round_up(forward.shape.head_dim, kernels().panel_width); }

std::int64_t GradientCall::value_width() const { return round_up(forward.shape.value_dim, kernels().panel_width); }

void store_gradient(const float* values, float factor, std::int64_t count, std::ptrdiff_t step, float* out) {
  for (std::int64_t d = 0; d < count; ++d) out[d * step] = values[d] * factor + 0.0f;
}

namespace {

constexpr std::int64_t kTileRows = 64;
constexpr std::int64_t kTileKeys = 256;
// Packed keys and values of a tile take at most 512 KiB. The limit matters for very wide heads.
constexpr std::int64_t kMaxTileFloats = 1 << 17;
// Columns of scores are read down the rows. With a power of two between the rows they would compete for few places of
// the first-level cache.
constexpr std::int64_t kStridePadding = 16;

GradientTiles choose_gradient_tiles(const Call& call) {
  const std::int64_t panel = call.kernels.panel_width;
  const std::int64_t fitting = kMaxTileFloats / (call.shape.head_dim + call.shape.value_dim) / panel * panel;
  const std::int64_t limit = std::clamp<std::int64_t>(fitting, panel, kTileKeys);
  const std::int64_t tiles = std::max<std::int64_t>(divide_up(call.key_length, limit), 1);
  return {kTileRows, std::max(round_up(divide_up(call.key_length, tiles), panel), panel)};
}

}  // namespace

void GradientScratch::place(Placement& place, const GradientCall& call, const GradientTiles& sizes) {
  const AttentionShape& shape = call.forward.shape;
  const KernelTable& kernels = call.kernels();
  tiles = sizes;
  const std::int64_t count = round_up(tiles.rows, kernels.row_step), keys = tiles.keys;
  score_stride = keys + kStridePadding;
  output_gradient = place.take<float>(count, shape.value_dim);
  packed_query = place.take<float>(count, call.query_width());
  packed_output_gradient = place.take<float>(count, call.value_width());
  value_columns = place.take<float>(keys, shape.value_dim);
  packed_keys = place.take<float>(keys, call.query_width());
  scores = place.take<float>(count, score_stride);
  products = place.take<float>(count, score_stride);
  key_gradient = place.take<float>(keys, call.query_width());
  value_gradient = place.take<float>(keys, call.value_width());
  capped = place.take<float>(keys);
  biased = place.take<float>(keys);
  factors = place.take<float>(keys);
  read_rows = place.take<float>(keys);
  read_columns = place.take<float>(keys);
  wide_row = place.take<float>(std::max(shape.head_dim, shape.value_dim));
  lse = place.take<float>(count);
  lse_rest = place.take<float>(count);
  delta = place.take<float>(count);
  lse_gradient = place.take<float>(count);
  odd_query = place.take<std::uint8_t>(count);
  odd_output_gradient = place.take<std::uint8_t>(count);
  odd_key = place.take<std::uint8_t>(keys);
  visible = place.take<std::uint8_t>(keys);
  const FormulaRoom room{tiles.rows, std::min(call.forward.group_size, tiles.rows), keys, keys / kernels.panel_width};
  tile.place(place, call.forward, tiles.rows, keys, room);
  if (call.derivative) derivative = place.make<FormulaTile>(call.derivative, kernels, room);
}

Error GradientScratches::allocate(const GradientCall& call, int workers) {
  tiles_ = choose_gradient_tiles(call.forward);
  bytes_ = bytes_of<GradientScratch>(call, tiles_);
  std::int64_t total;
  if (bytes_ < 0 || !multiply_sizes(workers, bytes_, &total)) return refuse(Rule::scratch_size);
  return memory_.allocate(total);
}

}  // namespace headwise
