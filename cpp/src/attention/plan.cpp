#include "attention/plan.h"

#include <algorithm>

#include "attention/attend_tile.h"

namespace headwise {

namespace {

// Up to this many rows are one tile whose keys are split.
constexpr std::int64_t kRowsToSplit = 64;
constexpr std::int64_t kMaxRows = 256;
// Packing a key and a value costs as much as this many rows compute with them.
constexpr std::int64_t kPackingRows = 3;
// The scores of a strip (32 x 256) nearly fit the first-level cache between the two products.
constexpr std::int64_t kStripRows = 32;
// Up to this many rows, packing costs more time than the panels save.
constexpr std::int64_t kMaxDirectRows = 16;
constexpr std::int64_t kMaxKeys = 256;
// Packed keys and values of a tile take at most 512 KiB. The limit matters for very wide heads.
constexpr std::int64_t kMaxTileFloats = 1 << 17;
// Prefetching of rows that are read where they lie starts anew at every tile, so tiles are long. Their scores still fit
// the first-level cache.
constexpr std::int64_t kDirectKeys = 512;
// With few rows, keys are split into pieces of this length, so that several workers share them.
constexpr std::int64_t kSplitKeys = 512;

struct TileRequest {
  std::int64_t kv_heads;  ///< of one sequence, so that scratch does not grow with the batch
  std::int64_t rows;      ///< query rows that share the keys: group size * query length
  std::int64_t keys;
  std::int64_t head_dim;
  std::int64_t value_dim;
  int panel_width;
  int row_step;
  int threads;
};

/// Equal shares of at most `limit`, rounded up to `step`. 197 rows become 2 tiles of 100 rows, not of 128 and 69.
std::int64_t even_share(std::int64_t total, std::int64_t limit, std::int64_t step) {
  const std::int64_t tiles = std::max<std::int64_t>(divide_up(total, limit), 1);
  return std::max(round_up(divide_up(total, tiles), step), step);
}

/// The rows of a tile with which the threads are done first. Every tile packs the keys, and threads compute rounds of
/// tiles. In the end they wait half a tile for each other, since tiles do not take equally long.
std::int64_t best_rows(const TileRequest& request) {
  const std::int64_t fewest = divide_up(request.rows, kMaxRows), most = divide_up(request.rows, kStripRows);
  std::int64_t best = 0, best_time = 0;
  for (std::int64_t tiles = fewest; tiles <= most; ++tiles) {
    const std::int64_t rows = even_share(request.rows, divide_up(request.rows, tiles), request.row_step);
    const std::int64_t rounds = divide_up(request.kv_heads * tiles, request.threads);
    const std::int64_t time = 2 * rounds * (rows + kPackingRows) + (request.threads > 1 ? rows : 0);
    if (best == 0 || time < best_time) best = rows, best_time = time;
  }
  return best;
}

TileSizes choose_tiles(const TileRequest& request) {
  TileSizes tiles;
  tiles.in_place = reads_in_place(request.rows);
  const std::int64_t width = request.head_dim + request.value_dim;
  const std::int64_t fitting = kMaxTileFloats / width / request.panel_width * request.panel_width;
  const std::int64_t limit =
      std::clamp<std::int64_t>(fitting, request.panel_width, tiles.in_place ? kDirectKeys : kMaxKeys);
  tiles.keys = even_share(request.keys, limit, request.panel_width);
  tiles.split = request.rows <= kRowsToSplit && request.keys >= 2 * kSplitKeys ? round_up(kSplitKeys, tiles.keys) : 0;
  const bool one_tile = tiles.in_place || tiles.split > 0;
  tiles.rows = one_tile ? std::max<std::int64_t>(request.rows, 1) : best_rows(request);
  tiles.strip = std::min(tiles.rows, kStripRows);
  return tiles;
}

}  // namespace

bool reads_in_place(std::int64_t rows) { return rows <= kMaxDirectRows; }

Error make_plan(const Call& call, int threads, Plan* plan) {
  const AttentionShape& shape = call.shape;
  if (Error e = plan->sequence_plans.allocate(call.num_sequences)) return e;
  for (std::int64_t n = 0; n < call.num_sequences; ++n) {
    const Sequence& sequence = call.sequences[n];
    SequencePlan& p = plan->sequence_plans[n];
    p.rows = call.group_size * sequence.num_queries;
    p.tiles = choose_tiles({shape.num_kv_heads, p.rows, sequence.key_length, shape.head_dim, shape.value_dim,
                            call.kernels.panel_width, call.kernels.row_step, threads});
    p.row_tiles = (p.rows + p.tiles.rows - 1) / p.tiles.rows;
    p.splits = p.is_split() ? (sequence.key_length + p.tiles.split - 1) / p.tiles.split : 1;
    plan->multiply_adds += 1.0 * shape.num_kv_heads * p.rows * sequence.key_length * (shape.head_dim + shape.value_dim);
    p.first_task = plan->tasks;
    p.first_split_result = plan->split_results;
    plan->tasks += shape.num_kv_heads * p.row_tiles * p.splits;
    if (p.is_split()) {
      plan->split_results += shape.num_kv_heads * p.splits;
      plan->split_rows = std::max(plan->split_rows, p.rows);
    }
    const std::int64_t bytes = bytes_of<TileScratch>(call, p.tiles);
    if (bytes < 0) return refuse(Rule::scratch_size);
    plan->scratch_bytes = std::max(plan->scratch_bytes, bytes);
  }
  return {};
}

}  // namespace headwise
