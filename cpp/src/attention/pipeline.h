#pragma once

#include <cstdint>

#include "attention/call.h"
#include "attention/tile_panels.h"
#include "base/memory.h"

namespace headwise {

/// The way of a score. Attention, inspection and gradients share it, so a score has the same bits in all three: rows
/// are loaded, the keys of a tile are packed, a strip of rows is multiplied with them. Then each row is shifted, and
/// `bring_to_last_stage` (scores.h) ends the way. What is done with the scores is up to the caller.

/// Query rows of one kv head that meet its keys together.
struct LoadedRows {
  const Sequence* sequence = nullptr;
  std::int64_t group = 0;  ///< kv head
  std::int64_t count = 0;
  QueryRow* row = nullptr;       ///< [most]
  float* query = nullptr;        ///< [most, head_dim], times the scale; `most` is padded to kernels.row_step
  float* shifts = nullptr;       ///< [most]: what the mean of the keys adds to every score of a row
  float* kept_query = nullptr;   ///< the same of Call::kept_query, if there is one
  float* kept_shifts = nullptr;  ///< the same for kept_query

  void place(Placement& place, const Call& call, std::int64_t most);
  /// Fills `row` with these and what they see.
  void take(const Call& call, const Rows& these);
  /// The keys from the first to the last one that some row may see.
  [[nodiscard]] KeyRange seen() const;
  /// Loads their queries. Of `heads` neighbouring rows each has another head, and the next row is the next query of the
  /// first one.
  void load(const Call& call, std::int64_t heads);
};

/// A tile of keys, and how products read it.
struct KeyTile {
  KeyRange keys;   ///< of the sequence
  KeyRange reach;  ///< the keys that are wanted, counted from the beginning of the tile
  bool in_place;   ///< read where they lie; otherwise packed
  float* columns;  ///< packed: panels whose columns are keys; in place: room for rows that must be widened

  /// Calls visit(keys) for each run of neighbouring panels, without the keys that are not wanted.
  template <class Visit>
  void for_each_run(std::uint64_t panels, std::int64_t panel_width, Visit visit) const {
    for_each_panel_run(panels, panel_width, [&](KeyRange run) { visit(common(run, reach)); });
  }
  /// Keys of the tile as keys of the sequence.
  [[nodiscard]] KeyRange of_sequence(KeyRange run) const { return shifted(run, keys.begin); }
};

/// Packs the keys of `panels`.
void pack_keys(const Call& call, const LoadedRows& rows, const KeyTile& tile, std::uint64_t panels);

/// out = rows * columns for a strip and its panels: [strip, stride]. Panel p has columns [p * width, (p + 1) * width).
void multiply_strip(const KernelTable& kernels, const Strip& strip, const float* rows, std::int64_t depth,
                    const float* columns, float* out, std::ptrdiff_t stride);

/// Raw scores of a strip: [strip, stride]. Key j of the tile is column j.
void score_strip(const Call& call, const LoadedRows& rows, const KeyTile& tile, const Strip& strip, float* scores,
                 std::ptrdiff_t stride);

/// Adds what the mean of the keys adds to the scores of row r and keys `keys` of the sequence.
void shift_row(const Call& call, const LoadedRows& rows, std::int64_t r, KeyRange keys, float* scores);

/// Zeros those of the values of `keys` that lie outside `columns`. Both are counted from `values`.
inline void clear_around(KeyRange columns, KeyRange keys, float* values) {
  for (std::int64_t j = keys.begin; j < std::min(columns.begin, keys.end); ++j) values[j] = 0.0f;
  for (std::int64_t j = std::max(columns.end, keys.begin); j < keys.end; ++j) values[j] = 0.0f;
}

}  // namespace headwise
