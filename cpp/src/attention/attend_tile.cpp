#include "attention/attend_tile.h"

#include <algorithm>
#include <cstring>

#include "attention/scores.h"
#include "attention/tile_panels.h"
#include "base/memory.h"
#include "base/numbers.h"

namespace headwise {

namespace {

std::int64_t place_scratch(TileScratch& scratch, char* memory, const TileSizes& tiles, const AttentionShape& shape,
                           const KernelTable& kernels, const CallFormulas& formulas) {
  Placement place(memory);
  scratch.tiles = tiles;
  scratch.rows = round_up(tiles.rows, kernels.row_step);
  scratch.value_width = round_up(shape.value_dim, kernels.panel_width);
  scratch.query = place.take<float>(scratch.rows, shape.head_dim);
  scratch.kept_query = place.take<float>(scratch.rows, shape.head_dim);
  const std::int64_t strip_rows = round_up(tiles.strip, kernels.row_step);
  scratch.scores = place.take<float>(strip_rows, tiles.keys);
  scratch.out = place.take<float>(scratch.rows, scratch.value_width);
  scratch.keys = place.take<float>(tiles.keys, shape.head_dim);
  scratch.values = place.take<float>(tiles.keys, scratch.value_width);
  scratch.clean_values = place.take<float>(tiles.keys, scratch.value_width);
  scratch.shifts = place.take<float>(scratch.rows);
  scratch.kept_shifts = place.take<float>(scratch.rows);
  scratch.visible = place.take<std::uint8_t>(strip_rows, tiles.keys);
  auto* const panels = place.take<std::uint64_t>(scratch.rows);
  scratch.panels.place(panels, place.take<std::uint64_t>(scratch.rows));
  scratch.query_rows = place.take<QueryRow>(scratch.rows);
  scratch.softmax = place.take<OnlineSoftmax>(scratch.rows);
  const std::int64_t heads = std::min(shape.num_heads / shape.num_kv_heads, tiles.rows);
  const FormulaRoom room{tiles.rows, heads, tiles.keys};
  const std::int64_t boxes = tiles.keys / kernels.panel_width;
  char* const formula_memory = place.take<char>(TileFormulas::bytes(formulas, kernels, room, boxes));
  if (memory) scratch.formulas.place(formula_memory, formulas, kernels, room, boxes);
  return place.total();
}

/// One sweep over the keys for the rows of a tile. In an isolated sweep no row meets a value that it may not see.
class Sweep {
 public:
  Sweep(const Call& call, const RowTile& rows, bool isolated, TileScratch& scratch)
      : call_(call), rows_(rows), isolated_(isolated), scratch_(scratch) {}

  /// Returns whether a key was hidden from some row.
  bool run(KeyRange keys);

 private:
  template <class Visit>
  void for_each_key_run(std::uint64_t panels, Visit visit) const;
  template <class Visit>
  void for_each_strip(std::uint64_t panels, Visit visit) const;

  void pack_keys(std::uint64_t panels);
  void pack_values(std::uint64_t panels);
  void score(const Strip& strip);
  void score_in_panels(const Strip& strip);
  void score_directly(const Strip& strip);
  void score_kept(const Strip& strip);
  void shift(std::int64_t r, KeyRange keys, float* scores) const;
  bool weigh(const Strip& strip);
  bool weigh_row(const Strip& strip, std::int64_t r);
  void add_values(const Strip& strip);
  void add_values_directly(const Strip& strip);
  void add_values_isolated(const Strip& strip);
  RowRun clean_values(const RowRun& run, const std::uint8_t* visible) const;

  const Call& call_;
  const RowTile& rows_;
  const bool isolated_;
  TileScratch& scratch_;
  KeyRange tile_;   ///< at a multiple of tiles.keys
  KeyRange reach_;  ///< the keys of the tile that the sweep is about; counted from the beginning of the tile
};

bool Sweep::run(KeyRange keys) {
  for (std::int64_t r = 0; r < rows_.size(); ++r) scratch_.softmax[r] = OnlineSoftmax();
  std::fill_n(scratch_.out, scratch_.rows * scratch_.value_width, 0.0f);
  const std::int64_t size = scratch_.tiles.keys;
  bool hidden = false;
  for (std::int64_t j = keys.begin / size * size; j < keys.end; j += size) {
    tile_ = {j, std::min(j + size, keys.end)};
    reach_ = within(tile_, keys);
    const std::uint64_t panels =
        scratch_.panels.find(call_, *rows_.sequence, scratch_.query_rows, rows_.size(), tile_, scratch_.formulas);
    if (panels == 0) continue;
    if (call_.formulas.score()) scratch_.formulas.score.set_keys(tile_.begin, tile_.end);
    if (call_.formulas.rest()) scratch_.formulas.visible.set_keys(tile_.begin, tile_.end);
    if (!scratch_.tiles.direct) pack_keys(panels);
    if (!scratch_.tiles.direct && !isolated_) pack_values(panels);
    for_each_strip(panels, [&](const Strip& strip) {
      score(strip);
      hidden |= weigh(strip);
      if (isolated_)
        add_values_isolated(strip);
      else
        add_values(strip);
    });
  }
  return hidden;
}

/// for_each_panel_run without keys that no row sees and keys beyond the tile.
template <class Visit>
void Sweep::for_each_key_run(std::uint64_t panels, Visit visit) const {
  for_each_panel_run(panels, call_.kernels.panel_width, [&](KeyRange keys) { visit(common(keys, reach_)); });
}

template <class Visit>
void Sweep::for_each_strip(std::uint64_t panels, Visit visit) const {
  if (scratch_.tiles.direct) return visit(Strip{0, rows_.size(), panels});
  scratch_.panels.for_each_strip(scratch_.tiles.strip, visit);
}

void Sweep::pack_keys(std::uint64_t panels) {
  for_each_key_run(panels, [&](KeyRange keys) {
    const KeyRange rows{tile_.begin + keys.begin, tile_.begin + keys.end};
    call_.for_each_key_run(*rows_.sequence, rows_.group, rows, [&](const RowRun& run, std::int64_t first) {
      call_.kernels.pack_transposed(run, call_.shape.head_dim, keys.begin + first, scratch_.keys);
    });
  });
}

void Sweep::pack_values(std::uint64_t panels) {
  for_each_key_run(panels, [&](KeyRange keys) {
    const KeyRange rows{tile_.begin + keys.begin, tile_.begin + keys.end};
    call_.for_each_value_run(*rows_.sequence, rows_.group, rows, [&](const RowRun& run, std::int64_t first) {
      call_.kernels.pack(run, call_.shape.value_dim, keys.begin + first, tile_.size(), scratch_.values);
    });
  });
}

void Sweep::score(const Strip& strip) {
  if (scratch_.tiles.direct)
    score_directly(strip);
  else
    score_in_panels(strip);
  score_kept(strip);
}

void Sweep::score_in_panels(const Strip& strip) {
  const std::int64_t depth = call_.shape.head_dim;
  const int width = call_.kernels.panel_width;
  for_each_panel_run(strip.panels, width, [&](KeyRange keys) {
    call_.kernels.multiply(scratch_.query + strip.begin * depth, depth, scratch_.keys + keys.begin * depth,
                           depth * width, depth, keys.size() / width, scratch_.scores + keys.begin, scratch_.tiles.keys,
                           round_up(strip.size(), call_.kernels.row_step), false);
  });
}

void Sweep::score_directly(const Strip& strip) {
  const std::int64_t depth = call_.shape.head_dim;
  for_each_key_run(strip.panels, [&](KeyRange keys) {
    const KeyRange rows{tile_.begin + keys.begin, tile_.begin + keys.end};
    call_.for_each_key_run(*rows_.sequence, rows_.group, rows, [&](const RowRun& run, std::int64_t first) {
      call_.kernels.dot_rows(scratch_.query, depth, rows_.size(),
                             with_neighbouring_columns(call_.kernels, run, depth, scratch_.keys), depth,
                             scratch_.scores + keys.begin + first, scratch_.tiles.keys);
    });
  });
}

/// Overwrites the scores of the keys that a ring keeps for ever, if they have queries of their own.
void Sweep::score_kept(const Strip& strip) {
  const KeyRange kept = common({0, call_.kept_keys(*rows_.sequence)}, tile_);
  call_.score_kept(*rows_.sequence, rows_.group, kept, scratch_.kept_query + strip.begin * call_.shape.head_dim,
                   strip.size(), scratch_.scores + (kept.begin - tile_.begin), scratch_.tiles.keys);
}

/// Adds what the mean of the keys adds to the scores of keys `keys` of the tile.
void Sweep::shift(std::int64_t r, KeyRange keys, float* scores) const {
  const std::int64_t seam = std::clamp(call_.kept_keys(*rows_.sequence) - tile_.begin, keys.begin, keys.end);
  if (seam > keys.begin) shift_scores(scratch_.kept_shifts[r], seam - keys.begin, scores + keys.begin);
  shift_scores(scratch_.shifts[r], keys.end - seam, scores + seam);
}

/// Turns the raw scores of the strip into weights, and rescales the outputs accumulated so far. Returns whether a key
/// was hidden.
bool Sweep::weigh(const Strip& strip) {
  bool hidden = false;
  for (std::int64_t r = strip.begin; r < strip.end; ++r) hidden |= weigh_row(strip, r);
  return hidden;
}

/// The same for one row. Its weights are 0 around the keys that it reaches. Which keys are visible is computed only if
/// some key within reach may be hidden, and always for an isolated sweep.
bool Sweep::weigh_row(const Strip& strip, std::int64_t r) {
  const std::int64_t lds = scratch_.tiles.keys, lanes = call_.kernels.lanes;
  const QueryRow& row = scratch_.query_rows[r];
  OnlineSoftmax& softmax = scratch_.softmax[r];
  float* scores = scratch_.scores + (r - strip.begin) * lds;
  std::uint8_t* visible = scratch_.visible + (r - strip.begin) * lds;
  if (isolated_) std::memset(visible, 0, lds);

  const KeyRange reach = common(scratch_.panels.reach_of(r), within(tile_, row.keys.range));
  // The softmax adds vectors in pairs. From an even one on, the sums do not depend on how the other keys are hidden.
  const std::int64_t first = reach.begin / (2 * lanes) * (2 * lanes), last = round_up(reach.end, lanes);
  const bool rescored = static_cast<bool>(call_.formulas.score());
  bool hidden = false;
  if (!reach.empty()) {
    shift(r, {first, last}, scores);
    const KeyRange keys{tile_.begin + first, std::min(tile_.begin + last, tile_.end)};
    const KeyRange asked = common(shifted(scratch_.panels.asked_of(r), tile_.begin), keys);
    hidden = apply_stages(call_, *rows_.sequence, row, keys, ScoreStage::formula, scratch_.formulas, scores + first,
                          last - first);
    hidden |= isolated_ || !asked.empty() || may_hide(row, keys);
    const bool sees = !hidden || hide_scores(call_, *rows_.sequence, row, keys, asked, scratch_.formulas,
                                             scores + first, visible + first);
    if (isolated_ && rescored) clear_hidden_by_score(scores + first, keys.size(), visible + first);
    std::fill(scores + first, scores + reach.begin, -kInfinity);
    std::fill(scores + reach.end, scores + last, -kInfinity);
    const float factor = call_.kernels.softmax_step(scores + first, last - first, &softmax.maximum, &softmax.sum);
    softmax.seen |= sees && !(rescored && softmax.maximum == -kInfinity);
    drop(call_, *rows_.sequence, row, tile_.begin + first, last - first, scores + first);
    if (factor != 1.0f) call_.kernels.scale(scratch_.out + r * scratch_.value_width, scratch_.value_width, factor);
  }
  for_each_key_run(strip.panels, [&](KeyRange keys) {
    hidden |= keys.begin < reach.begin || keys.end > reach.end;
    for (std::int64_t j = keys.begin; j < std::min(first, keys.end); ++j) scores[j] = 0.0f;
    for (std::int64_t j = std::max(last, keys.begin); j < keys.end; ++j) scores[j] = 0.0f;
  });
  return hidden || rescored;
}

/// out += weights * values. A hidden value has weight 0. attend_tile() repeats the sweep if one of them is not finite.
void Sweep::add_values(const Strip& strip) {
  if (scratch_.tiles.direct) return add_values_directly(strip);
  const int width = call_.kernels.panel_width;
  const std::int64_t ldo = scratch_.value_width, lds = scratch_.tiles.keys;
  for_each_key_run(strip.panels, [&](KeyRange keys) {
    call_.kernels.multiply(scratch_.scores + keys.begin, lds, scratch_.values + keys.begin * width,
                           tile_.size() * width, keys.size(), ldo / width, scratch_.out + strip.begin * ldo, ldo,
                           round_up(strip.size(), call_.kernels.row_step), true);
  });
}

void Sweep::add_values_directly(const Strip& strip) {
  const std::int64_t columns = call_.shape.value_dim;
  for_each_key_run(strip.panels, [&](KeyRange keys) {
    const KeyRange rows{tile_.begin + keys.begin, tile_.begin + keys.end};
    call_.for_each_value_run(*rows_.sequence, rows_.group, rows, [&](const RowRun& run, std::int64_t first) {
      call_.kernels.weighted_sum(scratch_.scores + keys.begin + first, scratch_.tiles.keys, rows_.size(),
                                 with_neighbouring_columns(call_.kernels, run, columns, scratch_.values), columns,
                                 scratch_.out, scratch_.value_width);
    });
  });
}

/// The same sums in the same order, for tiles where a hidden value is NaN or Inf. Every row has its own copy of the
/// values, with zeros in place of those that it may not see.
void Sweep::add_values_isolated(const Strip& strip) {
  const std::int64_t width = scratch_.value_width, lds = scratch_.tiles.keys;
  const std::int64_t columns =
      scratch_.tiles.direct ? call_.shape.value_dim : width;  // panels are padded, rows are not
  for (std::int64_t r = strip.begin; r < strip.end; ++r)
    for_each_key_run(strip.panels, [&](KeyRange keys) {
      const KeyRange rows{tile_.begin + keys.begin, tile_.begin + keys.end};
      call_.for_each_value_run(*rows_.sequence, rows_.group, rows, [&](const RowRun& run, std::int64_t first) {
        const std::int64_t at = (r - strip.begin) * lds + keys.begin + first;
        call_.kernels.weighted_sum(scratch_.scores + at, lds, 1, clean_values(run, scratch_.visible + at), columns,
                                   scratch_.out + r * width, width);
      });
    });
}

/// Values as a row may see them.
RowRun Sweep::clean_values(const RowRun& run, const std::uint8_t* visible) const {
  const std::int64_t columns = call_.shape.value_dim, width = scratch_.value_width;
  float* const clean = scratch_.clean_values;
  if (scratch_.tiles.direct && run.dtype == Dtype::int8) {  // there scales multiply weights, not values
    const std::int64_t scales = scales_of(columns);
    for (std::int64_t j = 0; j < run.count; ++j)
      for (std::int64_t n = 0; n < scales; ++n)
        clean[j * scales + n] = visible[j] ? run.scales[j * run.scale_stride + n] : 0.0f;
    RowRun scaled = run;
    scaled.scales = clean, scaled.scale_stride = static_cast<std::ptrdiff_t>(scales);
    return scaled;
  }
  call_.kernels.widen(run, columns, clean, width);
  for (std::int64_t j = 0; j < run.count; ++j)
    std::fill(clean + j * width + (visible[j] ? columns : 0), clean + (j + 1) * width, 0.0f);
  return {clean, Dtype::float32, static_cast<std::ptrdiff_t>(width), 1, nullptr, 0, run.count};
}

/// The keys within `keys` that some row may see.
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

}  // namespace

std::int64_t TileScratch::bytes(const TileSizes& tiles, const AttentionShape& shape, const KernelTable& kernels,
                                const CallFormulas& call_formulas) {
  TileScratch scratch;
  return place_scratch(scratch, nullptr, tiles, shape, kernels, call_formulas);
}

void TileScratch::place(char* memory, const TileSizes& sizes, const AttentionShape& shape, const KernelTable& kernels,
                        const CallFormulas& call_formulas) {
  place_scratch(*this, memory, sizes, shape, kernels, call_formulas);
}

namespace {

/// Loads the rows of `queries`, times the scale, and what the mean of the keys adds to their scores.
void load_rows(const Call& call, const RowTile& rows, ConstArray queries, const QueryRow* query_rows, float* loaded,
               float* shifts) {
  const std::int64_t depth = call.shape.head_dim, group = call.group_size;
  for (std::int64_t r = 0; r < std::min(group, rows.size()); ++r) {  // every `group`-th row is of the same head
    const QueryRow& first = query_rows[r];
    const RowRun run = call.rows_of(queries, *rows.sequence, first.head, first.i, divide_up(rows.size() - r, group));
    call.kernels.widen(run, depth, loaded + r * depth, group * depth);
  }
  call.kernels.scale(loaded, rows.size() * depth, call.scale);
  const float* const mean = call.key_mean(*rows.sequence, rows.group);
  for (std::int64_t r = 0; r < rows.size(); ++r) shifts[r] = shift_of(loaded + r * depth, mean, depth);
  const std::int64_t padded = round_up(rows.size(), call.kernels.row_step);
  std::fill(loaded + rows.size() * depth, loaded + padded * depth, 0.0f);
}

}  // namespace

void load_queries(const Call& call, const RowTile& rows, TileScratch& scratch) {
  const std::int64_t depth = call.shape.head_dim, group = call.group_size;
  const Sequence& sequence = *rows.sequence;
  for (std::int64_t r = 0; r < rows.size(); ++r) {
    QueryRow& row = scratch.query_rows[r];
    row.head = rows.group * group + (rows.begin + r) % group;
    row.i = (rows.begin + r) / group;
    row.keys = call.visible_keys(sequence, row.head, row.i);
    row.r = r;
  }
  scratch.formulas.set_rows(call.formulas, formula_sequence(sequence, &sequence - call.sequences, depth),
                            {rows.begin, rows.size(), group, rows.group * group, rows.group});
  load_rows(call, rows, call.inputs.query, scratch.query_rows, scratch.query, scratch.shifts);
  if (call.kept_keys(sequence) > 0)
    load_rows(call, rows, call.kept_query(), scratch.query_rows, scratch.kept_query, scratch.kept_shifts);
}

void attend_tile(const Call& call, const RowTile& rows, KeyRange keys, TileScratch& scratch) {
  const KeyRange range = range_of(rows, scratch, keys);
  // The weight of a hidden key is 0, and 0 times a NaN or Inf is NaN. Then the same sums are formed again, isolated.
  if (Sweep(call, rows, false, scratch).run(range) && !all_finite(scratch.out, rows.size() * scratch.value_width))
    Sweep(call, rows, true, scratch).run(range);
}

}  // namespace headwise
