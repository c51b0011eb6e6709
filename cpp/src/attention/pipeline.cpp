#include "attention/pipeline.h"

namespace headwise {

namespace {

/// Loads the rows of `queries`, times their scale, and what the mean of the keys adds to their products.
void load_queries(const ScoreTile& tile, std::int64_t heads, ConstArray queries, float* loaded, float* shifts) {
  const Call& call = *tile.call;
  const std::int64_t depth = call.shape.head_dim, count = tile.count;
  for (std::int64_t r = 0; r < std::min(heads, count); ++r) {
    const RowRun run = call.queries_from(tile.row[r], queries, divide_up(count - r, heads));
    call.kernels.widen(run, depth, loaded + r * depth, heads * depth);
  }
  call.kernels.scale(loaded, count * depth, call.query_scale);
  const float* const mean = call.source.key_mean(tile.sequence->batch, tile.group);
  for (std::int64_t r = 0; r < count; ++r) shifts[r] = shift_of(loaded + r * depth, mean, depth);
  std::fill(loaded + count * depth, loaded + round_up(count, call.kernels.row_step) * depth, 0.0f);
}

/// Products with keys that are read where they lie.
void dot_strip(const ScoreTile& tile, const Strip& strip, float* products, std::ptrdiff_t stride) {
  const Call& call = *tile.call;
  const std::int64_t depth = call.shape.head_dim;
  tile.for_each_run(strip.panels, [&](KeyRange keys) {
    call.for_each_key_run(*tile.sequence, tile.group, tile.of_sequence(keys), [&](const RowRun& run, std::int64_t at) {
      call.kernels.dot_rows(tile.query + strip.begin * depth, depth, strip.size(),
                            with_neighbouring_columns(call.kernels, run, depth, tile.columns), depth,
                            products + keys.begin + at, stride);
    });
  });
}

/// Overwrites the products with the keys that a ring keeps for ever, if they have queries of their own.
void multiply_kept(const ScoreTile& tile, const Strip& strip, float* products, std::ptrdiff_t stride) {
  const Call& call = *tile.call;
  const std::int64_t depth = call.shape.head_dim;
  const KeyRange kept = common({0, call.kept_keys(*tile.sequence)}, tile.keys);
  if (kept.empty()) return;
  call.for_each_key_run(*tile.sequence, tile.group, kept, [&](const RowRun& run, std::int64_t at) {
    call.kernels.dot_rows(tile.kept_query + strip.begin * depth, depth, strip.size(), run, depth,
                          products + (kept.begin - tile.keys.begin) + at, stride);
  });
}

}  // namespace

void ScoreTile::place(Placement& place, const Call& of, std::int64_t most_rows, std::int64_t most_keys,
                      const FormulaRoom& room) {
  call = &of;
  const std::int64_t rows = round_up(most_rows, of.kernels.row_step), depth = of.shape.head_dim;
  row = place.take<QueryRow>(rows);
  query = place.take<float>(rows, depth);
  shifts = place.take<float>(rows);
  if (of.inputs.kept_query) {
    kept_query = place.take<float>(rows, depth);
    kept_shifts = place.take<float>(rows);
  }
  columns = place.take<float>(most_keys, depth);
  panels.place(place, rows);
  formulas.place(place, of.formulas, of.kernels, room);
}

void ScoreTile::take(const Rows& rows) {
  sequence = rows.sequence;
  group = rows.group;
  count = rows.size();
  for (std::int64_t r = 0; r < count; ++r) row[r] = call->query_row(*sequence, rows.head(r), rows.query(r), r);
  formulas.set_rows(rows);
}

KeyRange ScoreTile::seen() const {
  KeyRange seen;
  for (std::int64_t r = 0; r < count; ++r) {
    const KeyRange range = row[r].keys.range;
    if (range.empty()) continue;
    seen = seen.empty() ? range : KeyRange{std::min(seen.begin, range.begin), std::max(seen.end, range.end)};
  }
  return seen;
}

void ScoreTile::load(std::int64_t heads) const {
  load_queries(*this, heads, call->inputs.query, query, shifts);
  if (call->kept_keys(*sequence) > 0) load_queries(*this, heads, call->kept_query(), kept_query, kept_shifts);
}

std::uint64_t ScoreTile::meet(KeyRange tile, KeyRange some) {
  go_to(tile, some);
  const std::uint64_t found = panels.find(*call, row, count, tile, formulas);
  if (found != 0) formulas.set_keys(tile);
  return found;
}

void ScoreTile::pack_keys(std::uint64_t of) const {
  for_each_run(of, [&](KeyRange run) {
    call->for_each_key_run(*sequence, group, of_sequence(run), [&](const RowRun& rows, std::int64_t at) {
      call->kernels.pack_transposed(rows, call->shape.head_dim, run.begin + at, columns);
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

void ScoreTile::multiply(const Strip& strip, float* products, std::ptrdiff_t stride) const {
  if (in_place)
    dot_strip(*this, strip, products, stride);
  else
    multiply_strip(call->kernels, strip, query, call->shape.head_dim, columns, products, stride);
  multiply_kept(*this, strip, products, stride);
}

}  // namespace headwise
