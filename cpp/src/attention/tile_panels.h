#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>

#include "attention/call.h"
#include "attention/scores.h"
#include "kernel/kernel_table.h"
#include "source/sequence.h"

namespace headwise {

/// The low `count` bits, 0 to 64.
[[nodiscard]] inline std::uint64_t low_bits(std::int64_t count) {
  return count < 64 ? (std::uint64_t{1} << count) - 1 : ~std::uint64_t{0};
}

/// Rows [begin, end) of a row tile that are computed together, and the panels of a key tile that they meet. Bit p of
/// `panels` stands for panel p. Row `begin` is row 0 of the scores.
struct Strip {
  std::int64_t begin, end;
  std::uint64_t panels;
  [[nodiscard]] std::int64_t size() const { return end - begin; }
};

/// Calls visit(keys) for each run of neighbouring panels. The keys are counted from the beginning of the tile. The last
/// panel may reach beyond the tile.
template <class Visit>
void for_each_panel_run(std::uint64_t panels, std::int64_t width, Visit visit) {
  while (panels != 0) {
    const int begin = std::countr_zero(panels), end = begin + std::countr_one(panels >> begin);
    visit(KeyRange{begin * width, end * width});
    panels &= ~low_bits(end);
  }
}

/// Which panels of a key tile each row of a row tile may see.
class TilePanels {
 public:
  void place(Placement& place, std::int64_t rows) {
    panels_ = place.take<std::uint64_t>(rows);
    mixed_ = place.take<std::uint64_t>(rows);
  }

  /// Finds them for `count` rows and a tile of at most 64 panels. Returns the panels that some row may see.
  std::uint64_t find(const Call& call, const QueryRow* rows, std::int64_t count, KeyRange tile, TileFormulas& formulas);

  /// The keys of the tile, counted from its beginning, from the first to the last panel that row r may see.
  [[nodiscard]] KeyRange reach_of(std::int64_t r) const { return around(panels_[r]); }

  /// The keys of the tile, counted from its beginning, about which row r must ask the visible formula: those of mixed
  /// panels, and those of panels that it left out between others, whose scores were not computed.
  [[nodiscard]] KeyRange asked_of(std::int64_t r) const;

  /// Calls visit(strip) for the rows that see keys of the tile, at most `most_rows` at a time. Along a diagonal a strip
  /// has few rows, so that it leaves out the panels that none of its rows may see. Where neighbouring rows see the same
  /// panels it has more.
  template <class Visit>
  void for_each_strip(std::int64_t most_rows, Visit visit) const {
    Strip strip{0, 0, 0};
    for (std::int64_t r = 0; r < count_; r += kEdgeRows) {
      const std::int64_t end = std::min(r + kEdgeRows, count_);
      const std::uint64_t seen = seen_by(r, end);
      if (seen != strip.panels || end - strip.begin > most_rows) {
        if (strip.panels != 0) visit(strip);
        strip = {r, r, seen};
      }
      strip.end = end;
    }
    if (strip.panels != 0) visit(strip);
  }

 private:
  /// This many neighbouring rows leave out the panels that none of them may see.
  static constexpr std::int64_t kEdgeRows = 16;

  [[nodiscard]] std::uint64_t panels_of(const Call& call, const QueryRow& row) const;
  [[nodiscard]] KeyRange around(std::uint64_t panels) const;
  [[nodiscard]] std::uint64_t seen_by(std::int64_t begin, std::int64_t end) const {
    return std::reduce(panels_ + begin, panels_ + end, std::uint64_t{0}, std::bit_or<>());
  }

  std::uint64_t* panels_ = nullptr;  ///< of each row
  std::uint64_t* mixed_ = nullptr;   ///< of these, the panels where the visible formula may hide a key
  std::int64_t count_ = 0, width_ = 1;
  KeyRange tile_;
  bool asks_ = false;  ///< whether there is a visible formula to ask
};

/// The run itself if its columns are neighbours, as the kernels for few rows need. Otherwise a widened copy in
/// `scratch`.
inline RowRun with_neighbouring_columns(const KernelTable& kernels, const RowRun& run, std::int64_t columns,
                                        float* scratch) {
  if (run.column_stride == 1) return run;
  kernels.widen(run, columns, scratch, columns);
  return {scratch, Dtype::float32, static_cast<std::ptrdiff_t>(columns), 1, nullptr, 0, run.count};
}

}  // namespace headwise
