#include "attend_tile.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

namespace headwise {

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Hands out 64-byte aligned pieces of a block; with no block it only counts.
class Placement {
 public:
  explicit Placement(char* memory) : memory_(memory) {}
  template <class T>
  T* take(std::int64_t count) {
    std::int64_t bytes;
    overflow_ |= __builtin_mul_overflow(count, static_cast<std::int64_t>(sizeof(T)), &bytes) ||
                 __builtin_add_overflow(offset_, round_up(std::min(bytes, kLargest), 64), &offset_);
    return memory_ ? reinterpret_cast<T*>(memory_ + offset_ - round_up(bytes, 64)) : nullptr;
  }
  [[nodiscard]] std::int64_t total() const { return overflow_ ? -1 : offset_; }

 private:
  static constexpr std::int64_t kLargest = std::int64_t{1} << 60;
  char* memory_;
  std::int64_t offset_ = 0;
  bool overflow_ = false;
};

std::int64_t place_scratch(TileScratch& scratch, char* memory, const TileSizes& tiles, const AttentionShape& shape,
                           const KernelTable& kernels) {
  Placement place(memory);
  scratch.tiles = tiles;
  scratch.rows = round_up(tiles.rows, kernels.row_block);
  scratch.value_width = round_up(shape.value_dim, kernels.panel_width);
  scratch.query = place.take<float>(scratch.rows * shape.head_dim);
  scratch.scores = place.take<float>(scratch.rows * tiles.keys);
  scratch.out = place.take<float>(scratch.rows * scratch.value_width);
  scratch.keys = place.take<float>(tiles.keys * shape.head_dim);
  scratch.values = place.take<float>(tiles.keys * scratch.value_width);
  scratch.clean_values = place.take<float>(tiles.keys * scratch.value_width);
  scratch.clean_out = place.take<float>(kernels.row_block * scratch.value_width);
  scratch.visible = place.take<std::uint8_t>(scratch.rows * tiles.keys);
  scratch.query_rows = place.take<QueryRow>(scratch.rows);
  scratch.softmax = place.take<OnlineSoftmax>(scratch.rows);
  return place.total();
}

/// Calls visit(rows, stride, first, count) for the rows of a run as float32: where they lie if they are, else widened a
/// few at a time, so that they stay in the first-level cache.
template <class Visit>
void for_each_float_rows(const KernelTable& kernels, const RowRun& run, std::int64_t columns, float* scratch,
                         Visit visit) {
  constexpr std::int64_t kRows = 32;
  if (run.dtype == Dtype::float32 && run.column_stride == 1)
    return visit(static_cast<const float*>(run.data), run.row_stride, std::int64_t{0}, run.count);
  for (std::int64_t first = 0; first < run.count; first += kRows) {
    RowRun part = run;
    part.data = static_cast<const char*>(run.data) + first * run.row_stride * size_of(run.dtype);
    part.scales = run.scales ? run.scales + first * run.scale_stride : nullptr;
    part.count = std::min(kRows, run.count - first);
    kernels.widen(part, columns, scratch, columns);
    visit(scratch, static_cast<std::ptrdiff_t>(columns), first, part.count);
  }
}

/// Keys [begin, end) of a tile, counted from its beginning, that `range` reaches into.
KeyRange within(KeyRange tile, KeyRange range) {
  const KeyRange keys{std::max(range.begin, tile.begin) - tile.begin, std::min(range.end, tile.end) - tile.begin};
  return keys.empty() ? KeyRange{} : keys;
}

/// Rows [begin, end) of a tile that are multiplied with the same panels of keys: [keys.begin, keys.end), whole panels.
struct Strip {
  std::int64_t begin, end;
  KeyRange keys;
};

/// Calls visit(strip) for rows in steps of kStripRows, those with equal keys taken together: a fully visible tile is
/// one strip, along a diagonal each strip leaves out the panels that none of its rows may see.
template <class Visit>
void for_each_strip(const RowTile& rows, KeyRange tile, const TileScratch& scratch, int panel_width, Visit visit) {
  constexpr std::int64_t kStripRows = 16;
  Strip strip{0, 0, {}};
  for (std::int64_t r = 0; r < rows.size(); r += kStripRows) {
    const std::int64_t end = std::min(r + kStripRows, rows.size());
    KeyRange keys{tile.size(), 0};
    for (std::int64_t i = r; i < end; ++i) {
      const KeyRange seen = within(tile, scratch.query_rows[i].keys.range);
      if (seen.empty()) continue;
      keys = {std::min(keys.begin, seen.begin), std::max(keys.end, seen.end)};
    }
    keys =
        keys.empty() ? KeyRange{} : KeyRange{keys.begin / panel_width * panel_width, round_up(keys.end, panel_width)};
    if (keys.begin != strip.keys.begin || keys.end != strip.keys.end) {
      if (!strip.keys.empty()) visit(strip);
      strip = {r, r, keys};
    }
    strip.end = end;
  }
  if (!strip.keys.empty()) visit(strip);
}

void score_tile(const Call& call, const RowTile& rows, KeyRange keys, TileScratch& scratch) {
  const std::int64_t depth = call.shape.head_dim, lds = scratch.tiles.keys;
  if (scratch.tiles.direct) {
    call.for_each_key_run(*rows.sequence, rows.group, keys, [&](const RowRun& run, std::int64_t at) {
      for_each_float_rows(call.kernels, run, depth, scratch.keys,
                          [&](const float* key, std::ptrdiff_t ldk, std::int64_t first, std::int64_t count) {
                            call.kernels.dot_rows(scratch.query, depth, rows.size(), key, ldk, count, depth,
                                                  scratch.scores + at + first, lds);
                          });
    });
    return;
  }
  call.for_each_key_run(*rows.sequence, rows.group, keys, [&](const RowRun& run, std::int64_t first) {
    call.kernels.pack_transposed(run, depth, first, scratch.keys);
  });
  const int width = call.kernels.panel_width;
  for_each_strip(rows, keys, scratch, width, [&](const Strip& strip) {
    call.kernels.multiply(scratch.query + strip.begin * depth, depth, scratch.keys + strip.keys.begin * depth,
                          depth * width, depth, strip.keys.size() / width,
                          scratch.scores + strip.begin * lds + strip.keys.begin, lds,
                          round_up(strip.end - strip.begin, call.kernels.row_block), false);
  });
}

/// One row of weigh_tile: scores to weights within the keys that the row reaches, zeros around them.
bool weigh_row(const Call& call, const RowTile& rows, std::int64_t r, KeyRange tile, TileScratch& scratch) {
  const std::int64_t lds = scratch.tiles.keys, lanes = call.kernels.lanes;
  const QueryRow& row = scratch.query_rows[r];
  OnlineSoftmax& softmax = scratch.softmax[r];
  float* scores = scratch.scores + r * lds;
  std::uint8_t* visible = scratch.visible + r * lds;
  std::memset(visible, 0, lds);

  const KeyRange reach = within(tile, row.keys.range);
  const std::int64_t first = reach.begin / lanes * lanes, last = round_up(reach.end, lanes);
  const KeyRange keys{tile.begin + first, std::min(tile.begin + last, tile.end)};
  const bool hiding = keys.size() < tile.size() || needs_hiding(call, row, keys);
  if (!reach.empty()) {
    raise_scores(call, *rows.sequence, row, keys, ScoreStage::biased, scores + first, last - first);
    if (hiding)
      softmax.seen |= hide_scores(call, *rows.sequence, row, keys, scores + first, visible + first);
    else
      softmax.seen = true, std::memset(visible, 1, keys.size());
    std::fill(scores + first + keys.size(), scores + last, -kInfinity);
    const float factor = call.kernels.softmax_step(scores + first, last - first, &softmax.maximum, &softmax.sum);
    if (factor != 1.0f) call.kernels.scale(scratch.out + r * scratch.value_width, scratch.value_width, factor);
  }
  std::fill(scores, scores + first, 0.0f);
  std::fill(scores + last, scores + lds, 0.0f);
  return hiding;
}

/// Turns the raw scores of the tile into weights and rescales what was accumulated; true if something was hidden.
bool weigh_tile(const Call& call, const RowTile& rows, KeyRange keys, TileScratch& scratch) {
  bool hidden = false;
  for (std::int64_t r = 0; r < rows.size(); ++r) hidden |= weigh_row(call, rows, r, keys, scratch);
  return hidden;
}

/// out += weights * values, for rows that all may look at every value (a hidden one has weight 0 and is finite).
void add_values(const Call& call, const RowTile& rows, KeyRange keys, TileScratch& scratch) {
  const std::int64_t columns = call.shape.value_dim, ldo = scratch.value_width, lds = scratch.tiles.keys;
  if (scratch.tiles.direct) {
    call.for_each_value_run(*rows.sequence, rows.group, keys, [&](const RowRun& run, std::int64_t at) {
      for_each_float_rows(call.kernels, run, columns, scratch.values,
                          [&](const float* value, std::ptrdiff_t ldv, std::int64_t first, std::int64_t count) {
                            call.kernels.weighted_sum(scratch.scores + at + first, lds, rows.size(), value, ldv, count,
                                                      columns, scratch.out, ldo);
                          });
    });
    return;
  }
  call.for_each_value_run(*rows.sequence, rows.group, keys, [&](const RowRun& run, std::int64_t first) {
    call.kernels.pack(run, columns, first, keys.size(), scratch.values);
  });
  const int width = call.kernels.panel_width;
  for_each_strip(rows, keys, scratch, width, [&](const Strip& strip) {
    const std::int64_t depth = std::min(strip.keys.end, keys.size()) - strip.keys.begin;
    call.kernels.multiply(scratch.scores + strip.begin * lds + strip.keys.begin, lds,
                          scratch.values + strip.keys.begin * width, keys.size() * width, depth, ldo / width,
                          scratch.out + strip.begin * ldo, ldo,
                          round_up(strip.end - strip.begin, call.kernels.row_block), true);
  });
}

/// The same sums in the same order, for tiles where a value that one row may not see could be NaN or Inf: every row
/// gets its own copy of the values, with zeros where it may not look.
void add_values_isolated(const Call& call, const RowTile& rows, KeyRange keys, TileScratch& scratch) {
  const std::int64_t columns = call.shape.value_dim, width = scratch.value_width, lds = scratch.tiles.keys;
  const int block = call.kernels.row_block;
  call.for_each_value_run(*rows.sequence, rows.group, keys, [&](const RowRun& run, std::int64_t first) {
    call.kernels.widen(run, columns, scratch.values + first * columns, columns);
  });
  for (std::int64_t r = 0; r < rows.size(); ++r) {
    const std::uint8_t* visible = scratch.visible + r * lds;
    float* weights = scratch.scores + r * lds;
    float* out = scratch.out + r * width;
    if (scratch.tiles.direct) {
      for (std::int64_t j = 0; j < keys.size(); ++j) {
        const float* value = scratch.values + j * columns;
        for (std::int64_t d = 0; d < columns; ++d) scratch.clean_values[j * columns + d] = visible[j] ? value[d] : 0.0f;
      }
      call.kernels.weighted_sum(weights, lds, 1, scratch.clean_values, columns, keys.size(), columns, out, width);
      continue;
    }
    RowRun one{scratch.values, Dtype::float32, static_cast<std::ptrdiff_t>(columns), 1, nullptr, 0, 1};
    for (std::int64_t j = 0; j < keys.size(); ++j) {
      one.data = scratch.values + j * columns;
      call.kernels.pack(one, columns, j, keys.size(), scratch.clean_values);
      if (visible[j]) continue;
      for (std::int64_t panel = 0; panel < width; panel += call.kernels.panel_width)
        std::fill_n(scratch.clean_values + panel * keys.size() + j * call.kernels.panel_width, call.kernels.panel_width,
                    0.0f);
    }
    for (int i = 0; i < block; ++i) std::copy_n(out, width, scratch.clean_out + i * width);
    call.kernels.multiply(weights, 0, scratch.clean_values, keys.size() * call.kernels.panel_width, keys.size(),
                          width / call.kernels.panel_width, scratch.clean_out, width, block, true);
    std::copy_n(scratch.clean_out, width, out);
  }
}

bool all_finite(const float* values, std::int64_t count) {
  constexpr std::uint32_t kExponent = 0x7f800000u;
  std::uint32_t found = 0;
  for (std::int64_t i = 0; i < count; ++i) found |= (std::bit_cast<std::uint32_t>(values[i]) & kExponent) == kExponent;
  return found == 0;
}

KeyRange range_of(const RowTile& rows, const TileScratch& scratch, KeyRange keys) {
  std::int64_t begin = keys.end, end = keys.begin;
  for (std::int64_t r = 0; r < rows.size(); ++r) {
    const KeyRange& range = scratch.query_rows[r].keys.range;
    if (range.empty()) continue;
    begin = std::min(begin, range.begin);
    end = std::max(end, range.end);
  }
  return {std::max(begin, keys.begin), std::min(end, keys.end)};
}

/// One sweep over the keys; true if something was hidden from some row.
bool sweep(const Call& call, const RowTile& rows, KeyRange keys, bool isolated, TileScratch& scratch) {
  for (std::int64_t r = 0; r < rows.size(); ++r) scratch.softmax[r] = OnlineSoftmax();
  std::fill_n(scratch.out, scratch.rows * scratch.value_width, 0.0f);
  bool hidden = false;
  for (std::int64_t j = keys.begin; j < keys.end; j += scratch.tiles.keys) {
    const KeyRange tile{j, std::min(j + scratch.tiles.keys, keys.end)};
    score_tile(call, rows, tile, scratch);
    hidden |= weigh_tile(call, rows, tile, scratch);
    if (isolated)
      add_values_isolated(call, rows, tile, scratch);
    else
      add_values(call, rows, tile, scratch);
  }
  return hidden;
}

}  // namespace

std::int64_t TileScratch::bytes(const TileSizes& tiles, const AttentionShape& shape, const KernelTable& kernels) {
  TileScratch scratch;
  return place_scratch(scratch, nullptr, tiles, shape, kernels);
}

void TileScratch::place(char* memory, const TileSizes& sizes, const AttentionShape& shape, const KernelTable& kernels) {
  place_scratch(*this, memory, sizes, shape, kernels);
}

void load_queries(const Call& call, const RowTile& rows, TileScratch& scratch) {
  const std::int64_t depth = call.shape.head_dim, group = call.group_size;
  const Sequence& sequence = *rows.sequence;
  for (std::int64_t r = 0; r < rows.size(); ++r) {
    QueryRow& row = scratch.query_rows[r];
    row.head = rows.group * group + (rows.begin + r) % group;
    row.i = (rows.begin + r) / group;
    row.keys = call.visible_keys(sequence, row.i);
    call.load_query(sequence, row.head, row.i, scratch.query + r * depth);
  }
  const std::int64_t padded = round_up(rows.size(), call.kernels.row_block);
  std::fill(scratch.query + rows.size() * depth, scratch.query + padded * depth, 0.0f);
  for (std::int64_t r = rows.size(); r < padded; ++r)
    std::fill_n(scratch.scores + r * scratch.tiles.keys, scratch.tiles.keys, 0.0f);
}

void attend_tile(const Call& call, const RowTile& rows, KeyRange keys, TileScratch& scratch) {
  const KeyRange range = range_of(rows, scratch, keys);
  // A hidden key's weight is 0, and 0 times a NaN or Inf value is NaN: then the same sums are formed again, isolated.
  if (sweep(call, rows, range, false, scratch) && !all_finite(scratch.out, rows.size() * scratch.value_width))
    sweep(call, rows, range, true, scratch);
}

}  // namespace headwise
