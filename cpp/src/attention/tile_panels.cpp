#include "attention/tile_panels.h"

#include <algorithm>

#include "base/memory.h"

namespace headwise {

namespace {

/// What the visible formula can say about rows [begin, end) and all keys of the tile, in boxes of `width` keys.
BoxBits ask_formula(TileFormulas& formulas, std::int64_t begin, std::int64_t end, KeyRange tile, std::int64_t width) {
  return formulas.ranges->ask({formulas.rows, begin, end, tile.begin, tile.end, width});
}

}  // namespace

/// The panels of the tile with keys that the row may see.
std::uint64_t TilePanels::panels_of(const Call& call, const QueryRow& row) const {
  const KeyRange seen = within(tile_, row.keys.range);
  if (seen.empty()) return 0;
  const std::uint64_t panels = low_bits(divide_up(seen.end, width_)) & ~low_bits(seen.begin / width_);
  return row.keys.has_holes ? panels & call.shown_panels(row, tile_.begin) : panels;
}

/// The keys from the first to the last of these panels.
KeyRange TilePanels::around(std::uint64_t panels) const {
  if (panels == 0) return {};
  return {std::countr_zero(panels) * width_, (64 - std::countl_zero(panels)) * width_};
}

std::uint64_t TilePanels::find(const Call& call, const QueryRow* rows, std::int64_t count, KeyRange tile,
                               TileFormulas& formulas) {
  constexpr BoxBits kAll{~std::uint64_t{0}, ~std::uint64_t{0}};
  count_ = count, width_ = call.kernels.panel_width, tile_ = tile;
  asks_ = formulas.ranges != nullptr;
  std::uint64_t all = 0;
  for (std::int64_t r = 0; r < count; ++r) {
    all |= panels_[r] = panels_of(call, rows[r]);
    mixed_[r] = 0;
  }
  if (all == 0 || !asks_) return all;
  const BoxBits whole = ask_formula(formulas, 0, count, tile, tile.size());
  if (whole.every) return all;
  all = 0;
  for (std::int64_t begin = 0; begin < count; begin += kEdgeRows) {
    const std::int64_t end = std::min(begin + kEdgeRows, count);
    const BoxBits boxes = !whole.some           ? BoxBits{}
                          : seen_by(begin, end) ? ask_formula(formulas, begin, end, tile, width_)
                                                : kAll;
    for (std::int64_t r = begin; r < end; ++r) {
      all |= panels_[r] &= boxes.some;
      mixed_[r] = panels_[r] & ~boxes.every;
    }
  }
  return all;
}

KeyRange TilePanels::asked_of(std::int64_t r) const {
  if (!asks_ || panels_[r] == 0) return {};
  const std::uint64_t panels = panels_[r];
  const std::uint64_t between = low_bits(64 - std::countl_zero(panels)) & ~low_bits(std::countr_zero(panels));
  return within(tile_, shifted(around(mixed_[r] | (between & ~panels)), tile_.begin));
}

}  // namespace headwise
