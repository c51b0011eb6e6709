#include "attention/pipeline.h"

#include <algorithm>

#include "attention/scores.h"

namespace headwise {

namespace {

/// Loads the rows of `queries`, times the scale, and what the mean of the keys adds to their scores.
void load_rows(const Call& call, const LoadedRows& rows, std::int64_t heads, ConstArray queries, float* loaded,
               float* shifts) {
  const std::int64_t depth = call.shape.head_dim;
  for (std::int64_t r = 0; r < std::min(heads, rows.count); ++r) {
    const RowRun run = call.queries_from(rows.row[r], queries, divide_up(rows.count - r, heads));
    call.kernels.widen(run, depth, loaded + r * depth, heads * depth);
  }
  call.kernels.scale(loaded, rows.count * depth, call.scale);
  const float* const mean = call.source.key_mean(rows.sequence->batch, rows.group);
  for (std::int64_t r = 0; r < rows.count; ++r) shifts[r] = shift_of(loaded + r * depth, mean, depth);
  const std::int64_t padded = round_up(rows.count, call.kernels.row_step);
  std::fill(loaded + rows.count * depth, loaded + padded * depth, 0.0f);
}

/// Scores of keys that are read where they lie.
void dot_strip(const Call& call, const LoadedRows& rows, const KeyTile& tile, const Strip& strip, float* scores,
               std::ptrdiff_t stride) {
  const std::int64_t depth = call.shape.head_dim;
  tile.for_each_run(strip.panels, call.kernels.panel_width, [&](KeyRange keys) {
    call.for_each_key_run(*rows.sequence, rows.group, tile.of_sequence(keys), [&](const RowRun& run, std::int64_t at) {
      call.kernels.dot_rows(rows.query + strip.begin * depth, depth, strip.size(),
                            with_neighbouring_columns(call.kernels, run, depth, tile.columns), depth,
                            scores + keys.begin + at, stride);
    });
  });
}

/// Overwrites the scores of the keys that a ring keeps for ever, if they have queries of their own.
void score_kept(const Call& call, const LoadedRows& rows, const KeyTile& tile, const Strip& strip, float* scores,
                std::ptrdiff_t stride) {
  const std::int64_t depth = call.shape.head_dim;
  const KeyRange kept = common({0, call.kept_keys(*rows.sequence)}, tile.keys);
  if (kept.empty()) return;
  call.for_each_key_run(*rows.sequence, rows.group, kept, [&](const RowRun& run, std::int64_t at) {
    call.kernels.dot_rows(rows.kept_query + strip.begin * depth, depth, strip.size(), run, depth,
                          scores + (kept.begin - tile.keys.begin) + at, stride);
  });
}

}  // namespace

void LoadedRows::place(Placement& place, const Call& call, std::int64_t most) {
  const std::int64_t padded = round_up(most, call.kernels.row_step);
  row = place.take<QueryRow>(padded);
  query = place.take<float>(padded, call.shape.head_dim);
  shifts = place.take<float>(padded);
  if (!call.inputs.kept_query) return;
  kept_query = place.take<float>(padded, call.shape.head_dim);
  kept_shifts = place.take<float>(padded);
}

void LoadedRows::take(const Call& call, const Rows& these) {
  sequence = these.sequence;
  group = these.group;
  count = these.size();
  for (std::int64_t r = 0; r < count; ++r) row[r] = call.query_row(*these.sequence, these.head(r), these.query(r), r);
}

KeyRange LoadedRows::seen() const {
  KeyRange seen;
  for (std::int64_t r = 0; r < count; ++r) {
    const KeyRange range = row[r].keys.range;
    if (range.empty()) continue;
    seen = seen.empty() ? range : KeyRange{std::min(seen.begin, range.begin), std::max(seen.end, range.end)};
  }
  return seen;
}

void LoadedRows::load(const Call& call, std::int64_t heads) {
  load_rows(call, *this, heads, call.inputs.query, query, shifts);
  if (call.kept_keys(*sequence) > 0) load_rows(call, *this, heads, call.kept_query(), kept_query, kept_shifts);
}

void pack_keys(const Call& call, const LoadedRows& rows, const KeyTile& tile, std::uint64_t panels) {
  tile.for_each_run(panels, call.kernels.panel_width, [&](KeyRange keys) {
    call.for_each_key_run(*rows.sequence, rows.group, tile.of_sequence(keys), [&](const RowRun& run, std::int64_t at) {
      call.kernels.pack_transposed(run, call.shape.head_dim, keys.begin + at, tile.columns);
    });
  });
}

void multiply_strip(const KernelTable& kernels, const Strip& strip, const float* rows, std::int64_t depth,
                    const float* columns, float* out, std::ptrdiff_t stride) {
  const int width = kernels.panel_width;
  for_each_panel_run(strip.panels, width, [&](KeyRange keys) {
    kernels.multiply(rows + strip.begin * depth, depth, columns + keys.begin * depth, depth * width, depth,
                     keys.size() / width, out + keys.begin, stride, round_up(strip.size(), kernels.row_step), false);
  });
}

void score_strip(const Call& call, const LoadedRows& rows, const KeyTile& tile, const Strip& strip, float* scores,
                 std::ptrdiff_t stride) {
  if (tile.in_place)
    dot_strip(call, rows, tile, strip, scores, stride);
  else
    multiply_strip(call.kernels, strip, rows.query, call.shape.head_dim, tile.columns, scores, stride);
  score_kept(call, rows, tile, strip, scores, stride);
}

void shift_row(const Call& call, const LoadedRows& rows, std::int64_t r, KeyRange keys, float* scores) {
  const std::int64_t seam = std::clamp(call.kept_keys(*rows.sequence), keys.begin, keys.end);
  if (seam > keys.begin) shift_scores(rows.kept_shifts[r], seam - keys.begin, scores);
  shift_scores(rows.shifts[r], keys.end - seam, scores + (seam - keys.begin));
}

}  // namespace headwise
