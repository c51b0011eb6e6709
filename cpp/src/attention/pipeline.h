#pragma once

#include <algorithm>
#include <cstdint>

#include "attention/call.h"
#include "attention/scores.h"
#include "attention/tile_panels.h"
#include "base/memory.h"

namespace headwise {

/// Where a row meets a tile of keys. Columns are keys counted from the beginning of the tile.
struct RowReach {
  KeyRange reach;    ///< columns that the row may see
  KeyRange columns;  ///< whole vectors around them
  KeyRange keys;     ///< the keys of these columns that the tile has, as keys of the sequence
};

/// The pipeline of scores: some query rows of a kv head, and a tile of its keys that they meet. Attention, inspection
/// and gradients share it, so a score has the same bits in all three. Rows are taken and loaded, keys are packed,
/// strips of rows are multiplied with them, and each row is brought to its last stage. What is done with the scores is
/// up to the caller.
struct ScoreTile {
  const Call* call = nullptr;

  const Sequence* sequence = nullptr;
  std::int64_t group = 0;        ///< kv head
  std::int64_t count = 0;        ///< rows
  QueryRow* row = nullptr;       ///< [most_rows]
  float* query = nullptr;        ///< [most_rows, head_dim], times Call::query_scale; whole steps of rows
  float* shifts = nullptr;       ///< [most_rows]: what the mean of the keys adds to every product of a row
  float* kept_query = nullptr;   ///< the same of Call::kept_query, if there is one
  float* kept_shifts = nullptr;  ///< the same for kept_query

  KeyRange keys;             ///< of the sequence
  KeyRange wanted;           ///< those that are wanted, counted from the beginning of the tile
  bool in_place = false;     ///< whether keys are read where they lie; otherwise they are packed
  float* columns = nullptr;  ///< packed: panels whose columns are keys; in place: room for rows that must be widened

  TilePanels panels;
  TileFormulas formulas;

  void place(Placement& place, const Call& of, std::int64_t most_rows, std::int64_t most_keys, const FormulaRoom& room);

  /// Takes these rows, with what they see.
  void take(const Rows& rows);
  /// The keys from the first to the last one that some row may see.
  [[nodiscard]] KeyRange seen() const;
  /// Loads the queries. Of `heads` neighbouring rows each has another head, and the next row is the next query of the
  /// first one.
  void load(std::int64_t heads) const;

  /// Goes to a tile of keys; of these, `some` are wanted.
  void go_to(KeyRange tile, KeyRange some) { keys = tile, wanted = within(tile, some); }
  /// The same. Returns the panels that some row may see.
  std::uint64_t meet(KeyRange tile, KeyRange some);

  /// Calls visit(keys) for each run of neighbouring panels, without the keys that are not wanted. They are counted from
  /// the beginning of the tile.
  template <class Visit>
  void for_each_run(std::uint64_t of, Visit visit) const {
    for_each_panel_run(of, call->kernels.panel_width, [&](KeyRange run) { visit(common(run, wanted)); });
  }
  /// Keys of the tile as keys of the sequence.
  [[nodiscard]] KeyRange of_sequence(KeyRange run) const { return shifted(run, keys.begin); }

  /// Packs the keys of some panels.
  void pack_keys(std::uint64_t of) const;
  /// Products of the queries of a strip and the keys: [strip, stride]. Key j of the tile is column j.
  void multiply(const Strip& strip, float* products, std::ptrdiff_t stride) const;

  /// Turns products of row r and keys `some` of the sequence into raw scores: adds what the mean of the keys adds, and
  /// multiplies by Call::score_scale.
  void to_raw_scores(std::int64_t r, KeyRange some, float* products) const;
  /// Where row r meets the tile. The first column is a multiple of `step`.
  [[nodiscard]] RowReach reach_of(std::int64_t r, std::int64_t step) const;
  /// Brings products of row r to the last stage of scores, from -inf around its reach on. Scores and `visible` are
  /// those of the whole tile. See RowScores.
  Visibility finish(std::int64_t r, const RowReach& at, float* scores, std::uint8_t* visible, bool marks,
                    KeptStages kept = {});
};

// These run once for every row and tile, so the compiler may see them where they are called.

inline void ScoreTile::to_raw_scores(std::int64_t r, KeyRange some, float* products) const {
  const std::int64_t seam = std::clamp(call->kept_keys(*sequence), some.begin, some.end);
  if (seam > some.begin) shift_products(kept_shifts[r], seam - some.begin, products);
  shift_products(shifts[r], some.end - seam, products + (seam - some.begin));
  if (call->score_scale != 1.0f) call->kernels.scale(products, some.size(), call->score_scale);
}

inline RowReach ScoreTile::reach_of(std::int64_t r, std::int64_t step) const {
  const KeyRange reach = common(panels.reach_of(r), within(keys, row[r].keys.range));
  if (reach.empty()) return {};
  const KeyRange around{reach.begin / step * step, round_up(reach.end, call->kernels.lanes)};
  return {reach, around, common(of_sequence(around), keys)};
}

inline Visibility ScoreTile::finish(std::int64_t r, const RowReach& at, float* scores, std::uint8_t* visible,
                                    bool marks, KeptStages kept) {
  const std::int64_t first = at.columns.begin;
  const KeyRange asked = common(of_sequence(panels.asked_of(r)), at.keys);
  to_raw_scores(r, of_sequence(at.columns), scores + first);
  return bring_to_last_stage(
      *call, {row[r], at.keys, of_sequence(at.reach), asked, scores + first, at.columns.size(), visible + first, marks},
      ScoreStage::formula, formulas, kept);
}

/// out = rows * columns for a strip and its panels: [strip, stride]. Column j of panel p is column p * width + j.
void multiply_strip(const KernelTable& kernels, const Strip& strip, const float* rows, std::int64_t depth,
                    const float* columns, float* out, std::ptrdiff_t stride);

/// Zeros those of the values of `keys` that lie outside `columns`. Both are counted from `values`.
inline void clear_around(KeyRange columns, KeyRange keys, float* values) {
  for (std::int64_t j = keys.begin; j < std::min(columns.begin, keys.end); ++j) values[j] = 0.0f;
  for (std::int64_t j = std::max(columns.end, keys.begin); j < keys.end; ++j) values[j] = 0.0f;
}

}  // namespace headwise
