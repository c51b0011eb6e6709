#include "attention/inspect.h"

#include <algorithm>
#include <cmath>

#include "attention/plan.h"
#include "attention/scores.h"
#include "attention/tile_panels.h"
#include "base/memory.h"
#include "base/numbers.h"

namespace headwise {

namespace {

// Rows that share one packing of the keys. Their scores take at most 4 MiB.
constexpr std::int64_t kMaxInspectedRows = 64;
constexpr std::int64_t kMaxScoreFloats = 1 << 20;
// Keys that are packed at a time. They take at most 512 KiB.
constexpr std::int64_t kMaxInspectedKeys = 192;
constexpr std::int64_t kMaxKeyFloats = 1 << 17;
// Formulas are evaluated row by row, for so many keys at a time.
constexpr FormulaRoom kRoom{1, 1, 256};

}  // namespace

InspectionSizes inspection_sizes(const Call& call) {
  const std::int64_t width = round_up(std::max<std::int64_t>(call.key_length, 1), call.kernels.panel_width);
  const std::int64_t rows = std::clamp<std::int64_t>(kMaxScoreFloats / width, 1, kMaxInspectedRows);
  const std::int64_t fitting =
      kMaxKeyFloats / call.shape.head_dim / call.kernels.panel_width * call.kernels.panel_width;
  const std::int64_t keys =
      std::clamp<std::int64_t>(fitting, call.kernels.panel_width, std::min(kMaxInspectedKeys, width));
  return {round_up(rows, call.kernels.row_step), width, keys};
}

namespace {

/// Floats of `query`; -1 on overflow.
std::int64_t query_floats(const Call& call) {
  std::int64_t floats = 0;
  return multiply_sizes(inspection_sizes(call).rows, round_up(call.shape.head_dim, 16), &floats) ? floats : -1;
}

/// Floats of `out` and `values`; -1 on overflow.
std::int64_t value_floats(const Call& call) {
  std::int64_t floats = 0;
  if (call.inputs.probs.given() && !multiply_sizes(kValueRows + 1, call.shape.value_dim, &floats)) return -1;
  return round_up(floats, 16);
}

/// Bytes without those of the formulas; -1 on overflow.
std::int64_t plain_bytes(const Call& call) {
  const InspectionSizes sizes = inspection_sizes(call);
  std::int64_t keys;
  const std::int64_t query = query_floats(call);
  if (query < 0) return -1;
  if (!multiply_sizes(sizes.keys, call.shape.head_dim, &keys)) return -1;
  const std::int64_t values = value_floats(call);
  if (values < 0) return -1;
  const std::int64_t queries = call.inputs.kept_query ? 2 * query : query;
  const std::int64_t floats = queries + round_up(keys, 16) + (2 * sizes.rows + 3) * sizes.width + values;
  return round_up(floats * static_cast<std::int64_t>(sizeof(float)) + (sizes.rows + 1) * sizes.width, 64);
}

}  // namespace

InspectionScratch::InspectionScratch(const Call& call, char* memory) : sizes(inspection_sizes(call)) {
  auto* floats = reinterpret_cast<float*>(memory);
  query = floats, floats += query_floats(call);
  kept_query = floats, floats += call.inputs.kept_query ? query_floats(call) : 0;
  keys = floats, floats += round_up(sizes.keys * call.shape.head_dim, 16);
  scores = floats, floats += sizes.rows * sizes.width;
  mean = floats, floats += sizes.rows * sizes.width;
  row = floats, floats += sizes.width;
  out = floats, values = floats + call.shape.value_dim, floats += value_floats(call);
  candidates = reinterpret_cast<std::uint64_t*>(floats), floats += 2 * sizes.width;
  visible = reinterpret_cast<std::uint8_t*>(floats);
  any = visible + sizes.width;
  formulas.place(memory + plain_bytes(call), call.formulas, call.kernels, kRoom, 0);
}

std::int64_t inspection_bytes(const Call& call) {
  const std::int64_t plain = plain_bytes(call);
  return plain < 0 ? -1 : plain + TileFormulas::bytes(call.formulas, call.kernels, kRoom, 0);
}

namespace {

QueryRow query_row(const Call& call, const Sequence& sequence, std::int64_t head, std::int64_t query) {
  QueryRow row;
  row.head = head;
  row.i = query - sequence.query_begin;
  row.keys = call.visible_keys(sequence, head, row.i);
  return row;
}

/// The keys that some of the rows of `head` may see.
KeyRange reach_of(const Call& call, const Chosen& chosen, const ChosenRows& rows, std::int64_t head) {
  KeyRange reach;
  for (std::int64_t r = rows.begin; r < rows.end; ++r) {
    const std::int64_t i = chosen.query(r) - rows.sequence->query_begin;
    const KeyRange seen = call.visible_keys(*rows.sequence, head, i).range;
    if (seen.empty()) continue;
    reach = reach.empty() ? seen : KeyRange{std::min(reach.begin, seen.begin), std::max(reach.end, seen.end)};
  }
  return reach;
}

/// Raw scores of the rows against `keys`, which begin a panel: packed, and computed by panels.
void score_packed(const Call& call, const ChosenRows& rows, std::int64_t group, KeyRange keys,
                  InspectionScratch& scratch) {
  const std::int64_t depth = call.shape.head_dim, width = call.kernels.panel_width;
  call.for_each_key_run(*rows.sequence, group, keys, [&](const RowRun& run, std::int64_t first) {
    call.kernels.pack_transposed(run, depth, first, scratch.keys);
  });
  call.kernels.multiply(scratch.query, depth, scratch.keys, depth * width, depth, divide_up(keys.size(), width),
                        scratch.scores + keys.begin, scratch.sizes.width, round_up(rows.size(), call.kernels.row_step),
                        false);
}

/// The same, read where they lie.
void score_in_place(const Call& call, const ChosenRows& rows, std::int64_t group, KeyRange keys,
                    InspectionScratch& scratch) {
  const std::int64_t depth = call.shape.head_dim;
  call.for_each_key_run(*rows.sequence, group, keys, [&](const RowRun& run, std::int64_t first) {
    call.kernels.dot_rows(scratch.query, depth, rows.size(),
                          with_neighbouring_columns(call.kernels, run, depth, scratch.keys), depth,
                          scratch.scores + keys.begin + first, scratch.sizes.width);
  });
}

/// Raw scores of the rows against `keys` of their sequence. The score of key j is in column j. They have the bits that
/// attention computed with: the final sum of a row would not fit other roundings, and its probabilities would not sum
/// to 1.
void score_rows(const Call& call, const Chosen& chosen, const ChosenRows& rows, std::int64_t head, KeyRange keys,
                InspectionScratch& scratch) {
  const Sequence& sequence = *rows.sequence;
  const std::int64_t depth = call.shape.head_dim, group = head / call.group_size, width = call.kernels.panel_width;
  const auto load = [&](ConstArray queries, float* loaded) {
    for (std::int64_t r = 0; r < rows.size(); ++r)
      call.load_query(queries, sequence, head, chosen.query(rows.begin + r) - sequence.query_begin, loaded + r * depth);
  };
  load(call.inputs.query, scratch.query);
  const std::int64_t padded = round_up(rows.size(), call.kernels.row_step);
  std::fill(scratch.query + rows.size() * depth, scratch.query + padded * depth, 0.0f);
  const auto score = reads_in_place(call.group_size * sequence.num_queries) ? score_in_place : score_packed;
  for (std::int64_t j = keys.begin / width * width; j < keys.end; j += scratch.sizes.keys)
    score(call, rows, group, {j, std::min(j + scratch.sizes.keys, keys.end)}, scratch);
  const float* const mean = call.key_mean(sequence, group);
  const std::int64_t first = keys.begin / width * width;
  const auto shift = [&](const float* loaded, KeyRange shifted) {
    for (std::int64_t r = 0; r < rows.size(); ++r)
      shift_scores(shift_of(loaded + r * depth, mean, depth), shifted.size(),
                   scratch.scores + r * scratch.sizes.width + shifted.begin);
  };
  const KeyRange kept = common({first, call.kept_keys(sequence)}, {first, keys.end});
  if (!kept.empty()) {
    load(call.kept_query(), scratch.kept_query);
    call.score_kept(sequence, group, kept, scratch.kept_query, rows.size(), scratch.scores + kept.begin,
                    scratch.sizes.width);
    shift(scratch.kept_query, kept);
  }
  shift(scratch.query, {std::max(first, kept.empty() ? first : kept.end), keys.end});
}

/// Turns raw scores of one row into those of `stage`, biased or formula, and hidden ones into -inf. Returns the columns
/// that it has changed: the whole panels around what the row may see. Other columns may not have been computed. Fills
/// scratch.visible.
KeyRange hide_row(const Call& call, const Sequence& sequence, const QueryRow& row, ScoreStage stage,
                  InspectionScratch& scratch, float* scores) {
  std::fill_n(scratch.visible, scratch.sizes.width, std::uint8_t{0});
  const KeyRange reach = row.keys.range;
  if (reach.empty()) return {};
  const std::int64_t width = call.kernels.panel_width;
  const KeyRange columns{reach.begin / width * width, round_up(reach.end, width)};
  const KeyRange keys{columns.begin, std::min(columns.end, sequence.key_length)};
  scratch.formulas.set_rows(call.formulas, formula_sequence(sequence, &sequence - call.sequences, call.shape.head_dim),
                            {row.i, 1, 1, row.head, row.head / call.group_size});
  const bool bias_hides =
      apply_stages(call, sequence, row, keys, stage, scratch.formulas, scores + keys.begin, columns.size());
  const bool all_within_reach = reach.begin <= keys.begin && keys.end <= reach.end;
  if (bias_hides || !all_within_reach || call.formulas.rest() || may_hide(row, keys))
    hide_scores(call, sequence, row, keys, keys, scratch.formulas, scores + keys.begin, scratch.visible + keys.begin);
  else
    std::fill_n(scratch.visible + keys.begin, keys.size(), std::uint8_t{1});
  if (call.formulas.score()) clear_hidden_by_score(scores + keys.begin, keys.size(), scratch.visible + keys.begin);
  std::fill(scores + keys.end, scores + columns.end, -kInfinity);
  return columns;
}

/// Fills all columns of a row outside `columns`.
void fill_around(KeyRange columns, float value, const InspectionScratch& scratch, float* row) {
  std::fill(row, row + columns.begin, value);
  std::fill(row + columns.end, row + scratch.sizes.width, value);
}

/// Turns scores of one row into probabilities, by its final maximum and sum and by the empty-row policy. Returns the
/// columns around what the row sees.
KeyRange to_probabilities(const Call& call, const Sequence& sequence, const QueryRow& row,
                          const FinishedSoftmax& softmax, InspectionScratch& scratch, float* scores) {
  const KeyRange columns = hide_row(call, sequence, row, ScoreStage::formula, scratch, scores);
  if (softmax.seen) {
    call.kernels.exponentials(scores + columns.begin, columns.size(), softmax.maximum, softmax.share);
    if (std::isnan(softmax.maximum))  // without weights every visible key is NaN, also one with a score of -inf
      for (std::int64_t j = columns.begin; j < columns.end; ++j)
        if (scratch.visible[j]) scores[j] = kNan;
    fill_around(columns, 0.0f, scratch, scores);
    return columns;
  }
  std::fill_n(scores, scratch.sizes.width, 0.0f);
  if (!follows_policy(sequence, row, softmax.seen) || call.options.empty_rows == EmptyRows::zero) return {};
  if (call.options.empty_rows == EmptyRows::nan) {
    std::fill_n(scores, sequence.num_keys, kNan);
    return {};
  }
  std::fill_n(scores, sequence.key_length, 1.0f / static_cast<float>(sequence.key_length));
  std::fill_n(scratch.visible, sequence.key_length, std::uint8_t{1});  // `uniform` shows every key
  return {0, scratch.sizes.width};
}

/// scratch.out = the sum of the values by weight, in order of the keys. Values with weight 0 are not read.
void add_values(const Call& call, const Sequence& sequence, std::int64_t group, const float* weights,
                InspectionScratch& scratch) {
  const std::int64_t columns = call.shape.value_dim;
  std::fill_n(scratch.out, columns, 0.0f);
  for (std::int64_t begin = 0, end; begin < sequence.num_keys; begin = end) {
    end = begin + 1;
    if (weights[begin] == 0.0f) continue;
    while (end < sequence.num_keys && end - begin < kValueRows && weights[end] != 0.0f) ++end;
    call.for_each_value_run(sequence, group, {begin, end}, [&](const RowRun& run, std::int64_t first) {
      call.kernels.weighted_sum(weights + begin + first, 0, 1,
                                with_neighbouring_columns(call.kernels, run, columns, scratch.values), columns,
                                scratch.out, 0);
    });
  }
}

/// Writes a row of [B, heads, queries, Skv]: `values` at the keys that the sequence has, `elsewhere` at the others.
void write_row(const Call& call, const Sequence& sequence, const float* values, float elsewhere, float* out) {
  const std::int64_t end = sequence.key_begin + sequence.num_keys;
  std::fill(out, out + sequence.key_begin, elsewhere);
  std::copy_n(values, sequence.num_keys, out + sequence.key_begin);
  std::fill(out + end, out + call.key_length, elsewhere);
}

/// What can be asked for, each for a stretch of chosen rows.
class Inspection {
 public:
  Inspection(const Call& call, const PatchedProbs& patched, const FinishedSoftmax* statistics)
      : call_(call), patched_(patched), statistics_(statistics) {}

  /// The rows of the output whose weights are overwritten.
  void patched_output(const ChosenRows& rows, std::int64_t n, InspectionScratch& scratch) const {
    const Selection& selection = call_.inputs.probs.selection;
    const Chosen chosen(call_, selection);
    each_probability_row(
        selection, rows, n, scratch, [&](std::int64_t r, const float* p, const std::uint8_t*, KeyRange) {
          const Sequence& sequence = *rows.sequence;
          const QueryRow row = query_row(call_, sequence, chosen.head(n), chosen.query(rows.begin + r));
          if (!patched_.has(sequence, row)) return;
          add_values(call_, sequence, row.head / call_.group_size, p, scratch);
          write_output_row(call_, sequence, row, scratch.out);
        });
  }

  void probs(const ChosenRows& rows, std::int64_t n, InspectionScratch& scratch) const {
    const Selection& selection = call_.outputs.probs_selection;
    each_probability_row(selection, rows, n, scratch,
                         [&](std::int64_t r, const float* p, const std::uint8_t*, KeyRange) {
                           write_row(call_, *rows.sequence, p, 0.0f,
                                     call_.outputs.probs + place(selection, rows, n, r) * call_.key_length);
                         });
  }

  void top_k(const ChosenRows& rows, std::int64_t n, InspectionScratch& scratch) const {
    const Selection& selection = call_.outputs.top_k_selection;
    const std::int64_t k = call_.outputs.top_k;
    const auto select = [&](std::int64_t r, const float* p, const std::uint8_t* visible, KeyRange columns) {
      const std::int64_t at = place(selection, rows, n, r) * k;
      select_top_k(p + columns.begin, visible + columns.begin, columns.size(), rows.sequence->key_begin + columns.begin,
                   k, scratch.candidates, call_.outputs.top_k_values + at, call_.outputs.top_k_indices + at);
    };
    each_probability_row(selection, rows, n, scratch, select);
  }

  void scores(const ChosenRows& rows, std::int64_t n, InspectionScratch& scratch) const {
    const Selection& selection = call_.outputs.scores_selection;
    const ScoreStage stage = call_.outputs.scores_stage;
    const Chosen chosen(call_, selection);
    const KeyRange all{0, rows.sequence->num_keys};
    const bool hides = stage == ScoreStage::biased || stage == ScoreStage::formula;
    score_rows(call_, chosen, rows, chosen.head(n), hides ? reach_of(call_, chosen, rows, chosen.head(n)) : all,
               scratch);
    for (std::int64_t r = 0; r < rows.size(); ++r) {
      const QueryRow row = query_row(call_, *rows.sequence, chosen.head(n), chosen.query(rows.begin + r));
      float* scores = scratch.scores + r * scratch.sizes.width;
      if (hides)
        fill_around(hide_row(call_, *rows.sequence, row, stage, scratch, scores), -kInfinity, scratch, scores);
      else
        apply_stages(call_, *rows.sequence, row, all, stage, scratch.formulas, scores, scratch.sizes.width);
      write_row(call_, *rows.sequence, scores, hides ? -kInfinity : 0.0f,
                call_.outputs.scores + place(selection, rows, n, r) * call_.key_length);
    }
  }

  void entropy(const ChosenRows& rows, std::int64_t head, InspectionScratch& scratch) const {
    const Selection everything;
    const Chosen chosen(call_, everything);
    score_rows(call_, chosen, rows, head, reach_of(call_, chosen, rows, head), scratch);
    for (std::int64_t r = 0; r < rows.size(); ++r) {
      const QueryRow row = query_row(call_, *rows.sequence, head, chosen.query(rows.begin + r));
      const std::int64_t at = row_index(call_, *rows.sequence, row);
      float* scores = scratch.scores + r * scratch.sizes.width;
      if (patched_.has(*rows.sequence, row)) {
        probabilities(*rows.sequence, row, scratch, scores);
        call_.outputs.entropy[at] = entropy_of(scores, rows.sequence->num_keys);
        continue;
      }
      if (!statistics_[at].seen) {
        call_.outputs.entropy[at] = entropy_of_empty_row(call_, *rows.sequence, row, statistics_[at]);
        continue;
      }
      if (std::isnan(statistics_[at].maximum)) {
        call_.outputs.entropy[at] = kNan;
        continue;
      }
      const KeyRange columns = hide_row(call_, *rows.sequence, row, ScoreStage::formula, scratch, scores);
      scores += columns.begin;
      std::copy_n(scores, columns.size(), scratch.row);
      call_.kernels.exponentials(scratch.row, columns.size(), statistics_[at].maximum, statistics_[at].share);
      call_.outputs.entropy[at] = entropy_of(scores, scratch.row, columns.size(), statistics_[at]);
    }
  }

 private:
  /// Index of the stretch's r-th row in a [B, heads, queries] array of the selection.
  [[nodiscard]] std::int64_t place(const Selection& selection, const ChosenRows& rows, std::int64_t n,
                                   std::int64_t r) const {
    const Chosen chosen(call_, selection);
    return (rows.sequence->batch * chosen.output_heads() + n) * chosen.queries() + rows.begin + r;
  }

  /// Turns scores of one row into probabilities, which the call may overwrite. Returns the columns around what it sees.
  KeyRange probabilities(const Sequence& sequence, const QueryRow& row, InspectionScratch& scratch,
                         float* scores) const {
    const FinishedSoftmax& softmax = statistics_[row_index(call_, sequence, row)];
    const KeyRange columns = to_probabilities(call_, sequence, row, softmax, scratch, scores);
    if (softmax.seen) drop(call_, sequence, row, columns.begin, columns.size(), scores + columns.begin);
    if (!patched_.has(sequence, row)) return columns;
    patched_.overwrite(sequence, row, scratch.sizes.width, scores, scratch.visible);
    return {0, scratch.sizes.width};
  }

  /// Calls visit(r, probabilities, visible, columns) for each row: the row of chosen head n, or the mean over the
  /// chosen heads. All keys that a row sees lie within `columns`.
  template <class Visit>
  void each_probability_row(const Selection& selection, const ChosenRows& rows, std::int64_t n,
                            InspectionScratch& scratch, Visit visit) const {
    const Chosen chosen(call_, selection);
    const std::int64_t first = selection.average ? 0 : n, last = selection.average ? chosen.heads() : n + 1;
    const std::int64_t width = scratch.sizes.width;
    if (selection.average) {
      std::fill_n(scratch.mean, rows.size() * width, 0.0f);
      std::fill_n(scratch.any, rows.size() * width, std::uint8_t{0});
    }
    for (std::int64_t h = first; h < last; ++h) {
      const KeyRange reach = reach_of(call_, chosen, rows, chosen.head(h));
      score_rows(call_, chosen, rows, chosen.head(h), reach, scratch);
      for (std::int64_t r = 0; r < rows.size(); ++r) {
        const QueryRow row = query_row(call_, *rows.sequence, chosen.head(h), chosen.query(rows.begin + r));
        float* scores = scratch.scores + r * width;
        const KeyRange columns = probabilities(*rows.sequence, row, scratch, scores);
        if (!selection.average) {
          visit(r, scores, scratch.visible, columns);
          continue;
        }
        for (std::int64_t j = 0; j < rows.sequence->num_keys; ++j) scratch.mean[r * width + j] += scores[j];
        for (std::int64_t j = 0; j < rows.sequence->key_length; ++j) scratch.any[r * width + j] |= scratch.visible[j];
      }
    }
    if (!selection.average) return;
    const float share = 1.0f / static_cast<float>(chosen.heads());
    for (std::int64_t r = 0; r < rows.size(); ++r) {
      call_.kernels.scale(scratch.mean + r * width, width, share);
      visit(r, scratch.mean + r * width, scratch.any + r * width, KeyRange{0, width});
    }
  }

  const Call& call_;
  const PatchedProbs& patched_;
  const FinishedSoftmax* statistics_;
};

/// Shares out batches x heads x stretches of the chosen queries among the workers. A stretch ends where the next
/// sequence begins.
template <class Work>
void for_each_stretch(ThreadPool& pool, const Call& call, const Selection& selection, char* scratch, Work work) {
  const Chosen chosen(call, selection);
  const std::int64_t longest = inspection_sizes(call).rows, bytes = inspection_bytes(call);
  const std::int64_t stretches = (chosen.queries() + longest - 1) / longest;
  const std::int64_t heads = chosen.output_heads();
  pool.parallel_for(call.shape.batch_size * heads * stretches, [&](std::int64_t index, int worker) {
    InspectionScratch worker_scratch(call, scratch + worker * bytes);
    const std::int64_t batch = index / (heads * stretches), n = index / stretches % heads;
    const std::int64_t end = std::min((index % stretches + 1) * longest, chosen.queries());
    for (std::int64_t begin = index % stretches * longest; begin < end;) {
      const Sequence* sequence = sequence_of(call, batch, chosen.query(begin));
      std::int64_t next = begin + 1;
      while (next < end && sequence_of(call, batch, chosen.query(next)) == sequence) ++next;
      work(ChosenRows{sequence, begin, next}, n, worker_scratch);
      begin = next;
    }
  });
}

}  // namespace

void inspect(ThreadPool& pool, const Call& call, const PatchedProbs& patched, const FinishedSoftmax* statistics,
             char* scratch) {
  const Inspection inspection(call, patched, statistics);
  const AttentionOutputs& outputs = call.outputs;
  const auto run = [&](const Selection& selection, auto method) {
    for_each_stretch(pool, call, selection, scratch,
                     [&](const ChosenRows& rows, std::int64_t n, InspectionScratch& worker_scratch) {
                       (inspection.*method)(rows, n, worker_scratch);
                     });
  };
  if (outputs.output.data && call.inputs.probs.given()) run(call.inputs.probs.selection, &Inspection::patched_output);
  if (outputs.probs) run(outputs.probs_selection, &Inspection::probs);
  if (outputs.top_k_values) run(outputs.top_k_selection, &Inspection::top_k);
  if (outputs.scores) run(outputs.scores_selection, &Inspection::scores);
  if (outputs.entropy) run(Selection{}, &Inspection::entropy);
}

}  // namespace headwise
