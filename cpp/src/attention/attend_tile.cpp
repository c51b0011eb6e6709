#include "attention/attend_tile.h"

#include <algorithm>
#include <cstring>

#include "base/memory.h"
#include "base/numbers.h"

namespace headwise {

namespace {

/// One sweep over the keys for the rows of a tile. In an isolated sweep no row meets a value that it may not see.
class Sweep {
 public:
  Sweep(const Call& call, bool isolated, TileScratch& scratch)
      : call_(call), isolated_(isolated), scratch_(scratch), tile_(scratch.tile) {}

  /// Returns whether a key was hidden from some row.
  bool run(KeyRange keys);

 private:
  template <class Visit>
  void for_each_strip(std::uint64_t panels, Visit visit) const;
  template <class Visit>
  void for_each_value_run(std::uint64_t panels, Visit visit) const;

  void pack_values(std::uint64_t panels);
  bool weigh(const Strip& strip);
  bool weigh_row(const Strip& strip, std::int64_t r);
  void add_values(const Strip& strip);
  void add_values_in_place(const Strip& strip);
  void add_values_isolated(const Strip& strip);
  RowRun clean_values(const RowRun& run, const std::uint8_t* visible) const;

  const Call& call_;
  const bool isolated_;
  TileScratch& scratch_;
  ScoreTile& tile_;
};

bool Sweep::run(KeyRange keys) {
  std::fill_n(scratch_.softmax, tile_.count, OnlineSoftmax());
  std::fill_n(scratch_.out, round_up(tile_.count, call_.kernels.row_step) * scratch_.value_width, 0.0f);
  const std::int64_t size = scratch_.tiles.keys;
  bool hidden = false;
  for (std::int64_t j = keys.begin / size * size; j < keys.end; j += size) {
    const std::uint64_t panels = tile_.meet({j, std::min(j + size, keys.end)}, keys);
    if (panels == 0) continue;
    if (!tile_.in_place) tile_.pack_keys(panels);
    if (!tile_.in_place && !isolated_) pack_values(panels);
    for_each_strip(panels, [&](const Strip& strip) {
      tile_.multiply(strip, scratch_.scores, size);
      hidden |= weigh(strip);
      if (isolated_)
        add_values_isolated(strip);
      else
        add_values(strip);
    });
  }
  return hidden;
}

template <class Visit>
void Sweep::for_each_strip(std::uint64_t panels, Visit visit) const {
  if (tile_.in_place) return visit(Strip{0, tile_.count, panels});
  tile_.panels.for_each_strip(scratch_.tiles.strip, visit);
}

/// Calls visit(run, first) for the runs of values of some panels. `first` is counted from the beginning of the tile.
template <class Visit>
void Sweep::for_each_value_run(std::uint64_t panels, Visit visit) const {
  tile_.for_each_run(panels, [&](KeyRange keys) {
    call_.for_each_value_run(*tile_.sequence, tile_.group, tile_.of_sequence(keys),
                             [&](const RowRun& run, std::int64_t at) { visit(run, keys.begin + at); });
  });
}

void Sweep::pack_values(std::uint64_t panels) {
  for_each_value_run(panels, [&](const RowRun& run, std::int64_t first) {
    call_.kernels.pack(run, call_.shape.value_dim, first, tile_.keys.size(), scratch_.values);
  });
}

/// Turns the products of the strip into weights, and rescales the outputs accumulated so far. Returns whether a key
/// was hidden.
bool Sweep::weigh(const Strip& strip) {
  bool hidden = false;
  for (std::int64_t r = strip.begin; r < strip.end; ++r) hidden |= weigh_row(strip, r);
  return hidden;
}

/// The same for one row. Its weights are 0 around the keys that it reaches. Which keys are visible is computed only if
/// some key within reach may be hidden, and always for an isolated sweep.
bool Sweep::weigh_row(const Strip& strip, std::int64_t r) {
  const std::int64_t lds = scratch_.tiles.keys, width = scratch_.value_width;
  const QueryRow& row = tile_.row[r];
  float* const scores = scratch_.scores + (r - strip.begin) * lds;
  std::uint8_t* const visible = scratch_.visible + (r - strip.begin) * lds;
  if (isolated_) std::memset(visible, 0, lds);

  // The softmax adds vectors in pairs. From an even one on, the sums do not depend on how the other keys are hidden.
  const RowReach at = tile_.reach_of(r, std::int64_t{2} * call_.kernels.lanes);
  const bool rescored = tile_.formulas.score != nullptr;
  bool hidden = false;
  if (!at.reach.empty()) {
    const Visibility seen = tile_.finish(r, at, scores, visible, isolated_);
    hidden = seen.hides;
    OnlineSoftmax& softmax = scratch_.softmax[r];
    float* const first = scores + at.columns.begin;
    const float factor = call_.kernels.softmax_step(first, at.columns.size(), &softmax.maximum, &softmax.sum);
    softmax.seen |= seen.sees && !(rescored && softmax.maximum == -kInfinity);
    drop(call_, row, at.keys.begin, at.columns.size(), first);
    if (factor != 1.0f) call_.kernels.scale(scratch_.out + r * width, width, factor);
  }
  tile_.for_each_run(strip.panels, [&](KeyRange keys) {
    hidden |= keys.begin < at.reach.begin || keys.end > at.reach.end;
    clear_around(at.columns, keys, scores);
  });
  return hidden || rescored;
}

/// out += weights * values. A hidden value has weight 0. attend_tile() repeats the sweep if one of them is not finite.
void Sweep::add_values(const Strip& strip) {
  if (tile_.in_place) return add_values_in_place(strip);
  const int width = call_.kernels.panel_width;
  const std::int64_t ldo = scratch_.value_width, lds = scratch_.tiles.keys;
  tile_.for_each_run(strip.panels, [&](KeyRange keys) {
    call_.kernels.multiply(scratch_.scores + keys.begin, lds, scratch_.values + keys.begin * width,
                           tile_.keys.size() * width, keys.size(), ldo / width, scratch_.out + strip.begin * ldo, ldo,
                           round_up(strip.size(), call_.kernels.row_step), true);
  });
}

void Sweep::add_values_in_place(const Strip& strip) {
  const std::int64_t columns = call_.shape.value_dim;
  for_each_value_run(strip.panels, [&](const RowRun& run, std::int64_t first) {
    call_.kernels.weighted_sum(scratch_.scores + first, scratch_.tiles.keys, tile_.count,
                               with_neighbouring_columns(call_.kernels, run, columns, scratch_.values), columns,
                               scratch_.out, scratch_.value_width);
  });
}

/// The same row by row, each with its own copy of the values.
void Sweep::add_values_isolated(const Strip& strip) {
  const std::int64_t width = scratch_.value_width, lds = scratch_.tiles.keys;
  const std::int64_t columns = tile_.in_place ? call_.shape.value_dim : width;  // panels are padded, rows are not
  for (std::int64_t r = strip.begin; r < strip.end; ++r)
    for_each_value_run(strip.panels, [&](const RowRun& run, std::int64_t first) {
      const std::int64_t at = (r - strip.begin) * lds + first;
      call_.kernels.weighted_sum(scratch_.scores + at, lds, 1, clean_values(run, scratch_.visible + at), columns,
                                 scratch_.out + r * width, width);
    });
}

/// Values as a row may see them.
RowRun Sweep::clean_values(const RowRun& run, const std::uint8_t* visible) const {
  const std::int64_t columns = call_.shape.value_dim, width = scratch_.value_width;
  float* const clean = scratch_.clean_values;
  if (tile_.in_place && run.dtype == Dtype::int8) {  // there scales multiply weights, not values
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

}  // namespace

void TileScratch::place(Placement& place, const Call& call, const TileSizes& sizes) {
  const KernelTable& kernels = call.kernels;
  tiles = sizes;
  value_width = round_up(call.shape.value_dim, kernels.panel_width);
  tile.place(place, call, tiles.rows, tiles.keys,
             {tiles.rows, std::min(call.group_size, tiles.rows), tiles.keys, tiles.keys / kernels.panel_width});
  tile.in_place = tiles.in_place;
  const std::int64_t strip_rows = round_up(tiles.strip, kernels.row_step);
  scores = place.take<float>(strip_rows, tiles.keys);
  out = place.take<float>(round_up(tiles.rows, kernels.row_step), value_width);
  values = place.take<float>(tiles.keys, value_width);
  clean_values = place.take<float>(tiles.keys, value_width);
  visible = place.take<std::uint8_t>(strip_rows, tiles.keys);
  softmax = place.take<OnlineSoftmax>(tiles.rows);
}

void attend_tile(const Call& call, const Rows& rows, KeyRange keys, TileScratch& scratch) {
  ScoreTile& tile = scratch.tile;
  tile.take(rows);
  tile.load(rows.heads);
  const KeyRange range = common(tile.seen(), keys);
  // The weight of a hidden key is 0, and 0 times a NaN or Inf is NaN. Then the same sums are formed again, isolated.
  if (Sweep(call, false, scratch).run(range) && !all_finite(scratch.out, rows.size() * scratch.value_width))
    Sweep(call, true, scratch).run(range);
}

}  // namespace headwise
