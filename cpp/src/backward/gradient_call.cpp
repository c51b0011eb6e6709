#include "backward/gradient_call.h"

#include <algorithm>

namespace headwise {

std::int64_t GradientCall::query_width() const { return round_up(forward.shape.head_dim, kernels().panel_width); }

std::int64_t GradientCall::value_width() const { return round_up(forward.shape.value_dim, kernels().panel_width); }

RowBlock GradientCall::all_rows(const Sequence& sequence, std::int64_t group) const {
  const std::int64_t heads = forward.group_size;
  return {&sequence, group, group * heads, heads, 0, heads * sequence.num_queries};
}

std::int64_t GradientCall::row_index(const Sequence& sequence, std::int64_t head, std::int64_t i) const {
  return (sequence.batch * forward.shape.num_heads + head) * forward.shape.query_length + sequence.query_begin + i;
}

RowRun GradientCall::value_rows(ConstArray array, const Sequence& sequence, std::int64_t head, std::int64_t i,
                                std::int64_t count) const {
  return row_run(array, forward.output, sequence.batch, head, sequence.query_begin + i, count);
}

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

std::int64_t place_scratch(GradientScratch& scratch, char* memory, const GradientCall& call,
                           const GradientTiles& tiles) {
  Placement place(memory);
  const AttentionShape& shape = call.forward.shape;
  const KernelTable& kernels = call.kernels();
  const std::int64_t rows = round_up(tiles.rows, kernels.row_step), keys = tiles.keys;
  scratch.tiles = tiles;
  scratch.score_stride = keys + kStridePadding;
  scratch.query = place.take<float>(rows, shape.head_dim);
  scratch.output_gradient = place.take<float>(rows, shape.value_dim);
  scratch.packed_query = place.take<float>(rows, call.query_width());
  scratch.packed_output_gradient = place.take<float>(rows, call.value_width());
  scratch.key_columns = place.take<float>(keys, shape.head_dim);
  scratch.value_columns = place.take<float>(keys, shape.value_dim);
  scratch.packed_keys = place.take<float>(keys, call.query_width());
  scratch.scores = place.take<float>(rows, scratch.score_stride);
  scratch.products = place.take<float>(rows, scratch.score_stride);
  scratch.key_gradient = place.take<float>(keys, call.query_width());
  scratch.value_gradient = place.take<float>(keys, call.value_width());
  scratch.capped = place.take<float>(keys);
  scratch.biased = place.take<float>(keys);
  scratch.factors = place.take<float>(keys);
  scratch.read_rows = place.take<float>(keys);
  scratch.read_columns = place.take<float>(keys);
  scratch.wide_row = place.take<float>(std::max(shape.head_dim, shape.value_dim));
  scratch.lse = place.take<float>(rows);
  scratch.lse_rest = place.take<float>(rows);
  scratch.delta = place.take<float>(rows);
  scratch.lse_gradient = place.take<float>(rows);
  scratch.query_rows = place.take<QueryRow>(rows);
  scratch.odd_query = place.take<std::uint8_t>(rows);
  scratch.odd_output_gradient = place.take<std::uint8_t>(rows);
  scratch.odd_key = place.take<std::uint8_t>(keys);
  scratch.visible = place.take<std::uint8_t>(keys);
  auto* const panels = place.take<std::uint64_t>(rows);
  scratch.panels.place(panels, place.take<std::uint64_t>(rows));
  const FormulaRoom room{tiles.rows, std::min(call.forward.group_size, tiles.rows), keys};
  const std::int64_t boxes = keys / kernels.panel_width;
  char* const formulas = place.take<char>(TileFormulas::bytes(call.forward.formulas, kernels, room, boxes));
  if (memory) scratch.formulas.place(formulas, call.forward.formulas, kernels, room, boxes);
  if (call.derivative) {
    char* const derivative = place.take<char>(FormulaTile::bytes(call.derivative, kernels, room));
    if (memory) scratch.derivative.place(derivative, call.derivative, kernels, room);
  }
  return place.total();
}

}  // namespace

std::int64_t GradientScratch::bytes(const GradientCall& call, const GradientTiles& tiles) {
  GradientScratch scratch;
  return place_scratch(scratch, nullptr, call, tiles);
}

void GradientScratch::place(char* memory, const GradientCall& call, const GradientTiles& sizes) {
  place_scratch(*this, memory, call, sizes);
}

Error GradientScratches::allocate(const GradientCall& call, int workers) {
  tiles_ = choose_gradient_tiles(call.forward);
  bytes_ = GradientScratch::bytes(call, tiles_);
  std::int64_t total;
  if (bytes_ < 0 || !multiply_sizes(workers, bytes_, &total)) return refuse(Rule::scratch_size);
  return memory_.allocate(total);
}

GradientScratch GradientScratches::of(const GradientCall& call, int worker) {
  GradientScratch scratch;
  scratch.place(memory_.data() + worker * bytes_, call, tiles_);
  return scratch;
}

}  // namespace headwise
