#include "attention/call_formulas.h"

#include <algorithm>
#include <cmath>
#include <new>

namespace headwise {

namespace {

// Rows whose values are computed at a time.
constexpr std::int64_t kRowsAtOnce = 256;

std::int64_t floor_divide(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0); }

/// a - b of whole numbers that were floats. Below 2^62 they are exact as integers. Otherwise their difference is exact
/// as a double, or more than any coefficient times any position.
std::int64_t difference(double a, double b) {
  constexpr double kFar = 0x1p62;
  if (std::max(std::abs(a), std::abs(b)) < kFar) return static_cast<std::int64_t>(a) - static_cast<std::int64_t>(b);
  return static_cast<std::int64_t>(std::clamp(a - b, -kFar, kFar));
}

/// Removes the keys that coefficient * x + integer <= limit hides, or < limit.
void narrow_by(const FormulaBound& bound, float integer, float limit, const KeyPositions& positions, KeyRange* keys) {
  const bool finite = std::isfinite(integer) && std::isfinite(limit);
  if (!finite) {  // the same for all keys, since positions are finite
    const bool holds = bound.strict ? integer < limit : integer <= limit;
    if (!holds) *keys = {};
    return;
  }
  const double end = bound.strict ? std::ceil(limit) : std::floor(limit);
  const std::int64_t room = difference(end, std::floor(integer)) - (bound.strict ? 1 : 0);
  const std::int64_t coefficient = bound.coefficient;
  if (coefficient > 0) {
    const std::int64_t last = floor_divide(room, coefficient);
    keys->end = std::min(keys->end, bound.on_rows ? last + 1 : positions.rows_before(last + 1));
  } else {
    const std::int64_t first = -floor_divide(room, -coefficient);
    keys->begin = std::max(keys->begin, bound.on_rows ? first : positions.rows_before(first));
  }
}

}  // namespace

Error KeyBounds::find(ThreadPool& pool, const AttentionShape& shape, const Sequence* sequences,
                      std::int64_t num_sequences, const FormulaProgram& program, const KernelTable& kernels) {
  if (shape.num_heads == 0) return {};
  heads_ = program.bounds_depend_on_head() ? shape.num_heads : 1;
  query_length_ = shape.query_length;
  const FormulaRoom room{kRowsAtOnce, 1, 0, 0};
  const std::int64_t scratch_bytes = bytes_of<FormulaTile>(program, kernels, room);
  const std::int64_t rows = shape.batch_size * heads_ * query_length_;
  Buffer<char> scratch;
  if (Error e = rows_.allocate(rows)) return e;
  if (Error e = scratch.allocate(pool.size() * scratch_bytes)) return e;
  const Formula& formula = program.formula();
  pool.parallel_for(num_sequences * heads_, [&](std::int64_t task, int worker) {
    const Sequence& sequence = sequences[task / heads_];
    const std::int64_t head = task % heads_;
    auto values = placed_in<FormulaTile>(scratch.data() + worker * scratch_bytes, program, kernels, room);
    for (std::int64_t i = 0; i < sequence.num_queries; i += kRowsAtOnce) {
      const std::int64_t count = std::min(kRowsAtOnce, sequence.num_queries - i);
      values.set_rows({&sequence, head / (shape.num_heads / shape.num_kv_heads), head, 1, i, i + count});
      const auto value = [&](std::int32_t n, std::int64_t r) { return n < 0 ? 0.0f : values.row_value(n, r); };
      for (std::int64_t r = 0; r < count; ++r) {
        KeyRange keys{0, sequence.key_length};
        for (std::int64_t n = 0; n < formula.num_bounds; ++n) {
          const FormulaBound& bound = formula.bounds[n];
          narrow_by(bound, value(bound.integer, r), value(bound.limit, r), sequence.positions, &keys);
        }
        if (keys.empty()) keys = {};
        rows_[index(sequence, head, i + r)] = {static_cast<std::int32_t>(keys.begin),
                                               static_cast<std::int32_t>(keys.end)};
      }
    }
  });
  return {};
}

void KeyBounds::narrow(const Sequence& sequence, std::int64_t head, std::int64_t i, KeyRange* keys) const {
  const Row& row = rows_[index(sequence, head, i)];
  *keys = {std::max<std::int64_t>(keys->begin, row.begin), std::min<std::int64_t>(keys->end, row.end)};
}

Error CallFormulas::prepare(ThreadPool& pool, const AttentionShape& shape, const AttentionOptions& options,
                            const Sequence* sequences, std::int64_t num_sequences, const KernelTable& kernels) {
  if (!options.score && !options.visible) return {};
  if (Error e = programs_.allocate(1)) return e;
  Programs& programs = *new (programs_.data()) Programs;
  if (options.score) {
    programs.score.compile(*options.score);
    score_ = &programs.score;
  }
  if (!options.visible) return {};
  if (options.visible->result >= 0) {
    programs.rest_formula = *options.visible;
    programs.rest_formula.num_bounds = 0;
    programs.rest.compile(programs.rest_formula);
    rest_ = &programs.rest;
    if (Error e = tables_.read(*rest_)) return e;
  }
  if (options.visible->num_bounds == 0) return {};
  programs.bounds_formula = *options.visible;
  programs.bounds_formula.result = -1;
  programs.bounds.compile(programs.bounds_formula);
  return bounds_.find(pool, shape, sequences, num_sequences, programs.bounds, kernels);
}

void TileFormulas::place(Placement& place, const CallFormulas& formulas, const KernelTable& kernels,
                         const FormulaRoom& room) {
  if (formulas.score()) score = place.make<FormulaTile>(*formulas.score(), kernels, room);
  if (!formulas.rest()) return;
  visible = place.make<FormulaTile>(*formulas.rest(), kernels, room);
  ranges = place.make<FormulaRanges>(*formulas.rest(), formulas.tables(), kernels, room.boxes);
}

void TileFormulas::set_rows(const Rows& these) {
  rows = these;
  if (score) score->set_rows(rows);
  if (visible) visible->set_rows(rows);
}

void TileFormulas::set_keys(KeyRange keys) const {
  if (score) score->set_keys(keys.begin, keys.end);
  if (visible) visible->set_keys(keys.begin, keys.end);
}

}  // namespace headwise
