#include "attention/inspect.h"

#include <algorithm>
#include <cmath>

#include "attention/pipeline.h"
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
constexpr FormulaRoom kRoom{1, 1, 256, 0};

// Rows of values that are widened at a time.
constexpr std::int64_t kValueRows = 16;

/// How many rows and keys are inspected at a time. Depends on the shape alone.
struct InspectionSizes {
  std::int64_t rows, width, keys;  ///< rows of a stretch, padded Skv, keys packed at a time
};

InspectionSizes inspection_sizes(const Call& call) {
  const std::int64_t panel = call.kernels.panel_width;
  const std::int64_t width = round_up(std::max<std::int64_t>(call.key_length, 1), panel);
  const std::int64_t rows = std::clamp<std::int64_t>(kMaxScoreFloats / width, 1, kMaxInspectedRows);
  const std::int64_t fitting = kMaxKeyFloats / call.shape.head_dim / panel * panel;
  const std::int64_t keys = std::clamp<std::int64_t>(fitting, panel, std::min(kMaxInspectedKeys, width));
  return {round_up(rows, call.kernels.row_step), width, keys};
}

/// One worker's scratch for a stretch of chosen rows.
struct InspectionScratch {
  InspectionSizes sizes;
  ScoreTile tile;             ///< its formulas have room for one row
  float* scores;              ///< [rows, width]
  float* mean;                ///< [rows, width]: probabilities added up over heads
  float* row;                 ///< [width]
  std::uint64_t* candidates;  ///< [width]
  std::uint8_t* visible;      ///< [width]
  std::uint8_t* any;          ///< [rows, width]: visible in some head
  float* out;                 ///< [value_dim]; so is `values`, only if weights are patched
  float* values;              ///< [kValueRows, value_dim]

  void place(Placement& place, const Call& call) {
    sizes = inspection_sizes(call);
    tile.place(place, call, sizes.rows, sizes.keys, kRoom);
    scores = place.take<float>(sizes.rows, sizes.width);
    mean = place.take<float>(sizes.rows, sizes.width);
    row = place.take<float>(sizes.width);
    candidates = place.take<std::uint64_t>(sizes.width);
    visible = place.take<std::uint8_t>(sizes.width);
    any = place.take<std::uint8_t>(sizes.rows, sizes.width);
    const bool patches = call.inputs.probs.given();
    out = place.take<float>(patches ? 1 : 0, call.shape.value_dim);
    values = place.take<float>(patches ? kValueRows : 0, call.shape.value_dim);
  }
};

/// Some of the chosen query rows, all of one sequence, and one of the chosen heads. They share one packing of the keys.
struct Stretch {
  const Chosen& chosen;
  const Sequence* sequence;
  std::int64_t n;           ///< which of the chosen heads; 0 if they are averaged
  std::int64_t begin, end;  ///< which of the chosen rows
  [[nodiscard]] std::int64_t size() const { return end - begin; }
  /// Index of its r-th row in a [B, heads, rows] array of the selection.
  [[nodiscard]] std::int64_t place(std::int64_t r) const {
    return (sequence->batch * chosen.output_heads() + n) * chosen.rows() + begin + r;
  }
};

/// Loads the rows of a head.
void load_rows(const Call& call, const Stretch& stretch, std::int64_t head, ScoreTile& tile) {
  tile.sequence = stretch.sequence;
  tile.group = head / call.group_size;
  tile.count = stretch.size();
  for (std::int64_t r = 0; r < tile.count; ++r) {
    const std::int64_t i = stretch.chosen.row(stretch.begin + r) - stretch.sequence->query_begin;
    tile.row[r] = call.query_row(*stretch.sequence, head, i);
  }
  tile.load(tile.count);  // chosen rows need not be neighbours
  tile.in_place = reads_in_place(call.group_size * stretch.sequence->num_queries);
}

/// Raw scores of the loaded rows against `keys` of their sequence. The score of key j is in column j. They have the
/// bits that attention computed with: the final sum of a row would not fit other roundings, and its probabilities would
/// not sum to 1.
void score_rows(const Call& call, KeyRange keys, InspectionScratch& scratch) {
  ScoreTile& tile = scratch.tile;
  const std::int64_t panel = call.kernels.panel_width, width = scratch.sizes.width;
  keys.begin = keys.begin / panel * panel;
  for (std::int64_t j = keys.begin; j < keys.end; j += scratch.sizes.keys) {
    tile.go_to({j, std::min(j + scratch.sizes.keys, keys.end)}, keys);
    const Strip strip{0, tile.count, low_bits(divide_up(tile.keys.size(), panel))};
    if (!tile.in_place) tile.pack_keys(strip.panels);
    tile.multiply(strip, scratch.scores + j, width);
  }
  for (std::int64_t r = 0; r < tile.count && !keys.empty(); ++r)
    tile.to_raw_scores(r, keys, scratch.scores + r * width + keys.begin);
}

/// Turns raw scores of one row into those of `stage`, biased or formula, and hidden ones into -inf. Returns the columns
/// that it has changed: the whole panels around what the row may see. Other columns may not have been computed. Fills
/// scratch.visible.
KeyRange hide_row(const Call& call, const QueryRow& row, ScoreStage stage, InspectionScratch& scratch, float* scores) {
  std::fill_n(scratch.visible, scratch.sizes.width, std::uint8_t{0});
  const KeyRange reach = row.keys.range;
  if (reach.empty()) return {};
  const std::int64_t width = call.kernels.panel_width;
  const KeyRange columns{reach.begin / width * width, round_up(reach.end, width)};
  const KeyRange keys{columns.begin, std::min(columns.end, row.sequence->key_length)};
  TileFormulas& formulas = scratch.tile.formulas;
  const KeyRange asked = formulas.visible ? keys : KeyRange{};
  formulas.set_rows({row.sequence, row.head / call.group_size, row.head, 1, row.i, row.i + 1});
  bring_to_last_stage(call,
                      {row, keys, reach, asked, scores + keys.begin, round_up(keys.size(), call.kernels.lanes),
                       scratch.visible + keys.begin, true},
                      stage, formulas);
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
KeyRange to_probabilities(const Call& call, const QueryRow& row, const FinishedSoftmax& softmax,
                          InspectionScratch& scratch, float* scores) {
  const Sequence& sequence = *row.sequence;
  const KeyRange columns = hide_row(call, row, ScoreStage::formula, scratch, scores);
  if (softmax.seen) {
    call.kernels.exponentials(scores + columns.begin, columns.size(), softmax.maximum, softmax.share);
    if (std::isnan(softmax.maximum))  // without weights every visible key is NaN, also one with a score of -inf
      for (std::int64_t j = columns.begin; j < columns.end; ++j)
        if (scratch.visible[j]) scores[j] = kNan;
    fill_around(columns, 0.0f, scratch, scores);
    return columns;
  }
  std::fill_n(scores, scratch.sizes.width, 0.0f);
  if (!follows_policy(row, softmax.seen) || call.options.empty_rows == EmptyRows::zero) return {};
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
  void patched_output(const Stretch& stretch, InspectionScratch& scratch) const {
    each_probability_row(stretch, scratch, [&](std::int64_t r, const float* p, const std::uint8_t*, KeyRange) {
      const QueryRow& row = scratch.tile.row[r];
      if (!patched_.has(row)) return;
      add_values(call_, *row.sequence, scratch.tile.group, p, scratch);
      write_output_row(call_, row, scratch.out);
    });
  }

  void probs(const Stretch& stretch, InspectionScratch& scratch) const {
    each_probability_row(stretch, scratch, [&](std::int64_t r, const float* p, const std::uint8_t*, KeyRange) {
      write_row(call_, *stretch.sequence, p, 0.0f, call_.outputs.probs + stretch.place(r) * call_.key_length);
    });
  }

  void top_k(const Stretch& stretch, InspectionScratch& scratch) const {
    const std::int64_t k = call_.outputs.top_k;
    const auto select = [&](std::int64_t r, const float* p, const std::uint8_t* visible, KeyRange columns) {
      const std::int64_t at = stretch.place(r) * k;
      select_top_k(p + columns.begin, visible + columns.begin, columns.size(),
                   stretch.sequence->key_begin + columns.begin, k, scratch.candidates, call_.outputs.top_k_values + at,
                   call_.outputs.top_k_indices + at);
    };
    each_probability_row(stretch, scratch, select);
  }

  void scores(const Stretch& stretch, InspectionScratch& scratch) const {
    const ScoreStage stage = call_.outputs.scores_stage;
    const KeyRange all{0, stretch.sequence->num_keys};
    const bool hides = stage == ScoreStage::biased || stage == ScoreStage::formula;
    load_rows(call_, stretch, stretch.chosen.head(stretch.n), scratch.tile);
    score_rows(call_, hides ? scratch.tile.seen() : all, scratch);
    for (std::int64_t r = 0; r < stretch.size(); ++r) {
      const QueryRow& row = scratch.tile.row[r];
      float* scores = scratch.scores + r * scratch.sizes.width;
      if (hides)
        fill_around(hide_row(call_, row, stage, scratch, scores), -kInfinity, scratch, scores);
      else
        apply_stages(call_, row, all, stage, scratch.tile.formulas, scores);
      write_row(call_, *stretch.sequence, scores, hides ? -kInfinity : 0.0f,
                call_.outputs.scores + stretch.place(r) * call_.key_length);
    }
  }

  void entropy(const Stretch& stretch, InspectionScratch& scratch) const {
    load_rows(call_, stretch, stretch.n, scratch.tile);
    score_rows(call_, scratch.tile.seen(), scratch);
    for (std::int64_t r = 0; r < stretch.size(); ++r) {
      const QueryRow& row = scratch.tile.row[r];
      call_.outputs.entropy[call_.row_index(row)] =
          entropy_of_row(row, scratch, scratch.scores + r * scratch.sizes.width);
    }
  }

 private:
  /// Turns scores of one row into probabilities, which the call may overwrite. Returns the columns around what it sees.
  KeyRange probabilities(const QueryRow& row, InspectionScratch& scratch, float* scores) const {
    const FinishedSoftmax& softmax = statistics_[call_.row_index(row)];
    const KeyRange columns = to_probabilities(call_, row, softmax, scratch, scores);
    if (softmax.seen) drop(call_, row, columns.begin, columns.size(), scores + columns.begin);
    if (!patched_.has(row)) return columns;
    patched_.overwrite(row, scratch.sizes.width, scores, scratch.visible);
    return {0, scratch.sizes.width};
  }

  /// The entropy of a row with these raw scores. They are overwritten.
  float entropy_of_row(const QueryRow& row, InspectionScratch& scratch, float* scores) const {
    const FinishedSoftmax& softmax = statistics_[call_.row_index(row)];
    if (patched_.has(row)) {
      probabilities(row, scratch, scores);
      return entropy_of(scores, row.sequence->num_keys);
    }
    if (!softmax.seen) return entropy_of_empty_row(call_, row, softmax);
    if (std::isnan(softmax.maximum)) return kNan;
    const KeyRange columns = hide_row(call_, row, ScoreStage::formula, scratch, scores);
    std::copy_n(scores + columns.begin, columns.size(), scratch.row);
    call_.kernels.exponentials(scratch.row, columns.size(), softmax.maximum, softmax.share);
    return entropy_of(scores + columns.begin, scratch.row, columns.size(), softmax);
  }

  /// Calls visit(r, probabilities, visible, columns) for each row: the row of the stretch's head, or the mean over the
  /// chosen heads. All keys that a row sees lie within `columns`.
  template <class Visit>
  void each_probability_row(const Stretch& stretch, InspectionScratch& scratch, Visit visit) const {
    const Chosen& chosen = stretch.chosen;
    const bool averages = chosen.selection.average;
    const Sequence& sequence = *stretch.sequence;
    const std::int64_t first = averages ? 0 : stretch.n, last = averages ? chosen.heads() : stretch.n + 1;
    const std::int64_t width = scratch.sizes.width, count = stretch.size();
    if (averages) {
      std::fill_n(scratch.mean, count * width, 0.0f);
      std::fill_n(scratch.any, count * width, std::uint8_t{0});
    }
    for (std::int64_t h = first; h < last; ++h) {
      load_rows(call_, stretch, chosen.head(h), scratch.tile);
      score_rows(call_, scratch.tile.seen(), scratch);
      for (std::int64_t r = 0; r < count; ++r) {
        float* scores = scratch.scores + r * width;
        const KeyRange columns = probabilities(scratch.tile.row[r], scratch, scores);
        if (!averages) {
          visit(r, scores, scratch.visible, columns);
          continue;
        }
        for (std::int64_t j = 0; j < sequence.num_keys; ++j) scratch.mean[r * width + j] += scores[j];
        for (std::int64_t j = 0; j < sequence.key_length; ++j) scratch.any[r * width + j] |= scratch.visible[j];
      }
    }
    if (!averages) return;
    const float share = 1.0f / static_cast<float>(chosen.heads());
    for (std::int64_t r = 0; r < count; ++r) {
      call_.kernels.scale(scratch.mean + r * width, width, share);
      visit(r, scratch.mean + r * width, scratch.any + r * width, KeyRange{0, width});
    }
  }

  const Call& call_;
  const PatchedProbs& patched_;
  const FinishedSoftmax* statistics_;
};

/// Shares out batches x heads x stretches of the chosen rows among the workers. A stretch ends where the next sequence
/// begins.
template <class Work>
void for_each_stretch(ThreadPool& pool, const Call& call, const Selection& selection, char* scratch, Work work) {
  const Chosen chosen = chosen_queries(call.shape, selection);
  const std::int64_t longest = inspection_sizes(call).rows, bytes = inspection_bytes(call);
  const std::int64_t stretches = divide_up(chosen.rows(), longest);
  const std::int64_t heads = chosen.output_heads();
  pool.parallel_for(call.shape.batch_size * heads * stretches, [&](std::int64_t index, int worker) {
    auto worker_scratch = placed_in<InspectionScratch>(scratch + worker * bytes, call);
    const std::int64_t batch = index / (heads * stretches), n = index / stretches % heads;
    const std::int64_t end = std::min((index % stretches + 1) * longest, chosen.rows());
    for (std::int64_t begin = index % stretches * longest; begin < end;) {
      const Sequence* sequence = sequence_of(call, batch, chosen.row(begin));
      std::int64_t next = begin + 1;
      while (next < end && sequence_of(call, batch, chosen.row(next)) == sequence) ++next;
      work(Stretch{chosen, sequence, n, begin, next}, worker_scratch);
      begin = next;
    }
  });
}

}  // namespace

std::int64_t inspection_bytes(const Call& call) { return bytes_of<InspectionScratch>(call); }

void inspect(ThreadPool& pool, const Call& call, const PatchedProbs& patched, const FinishedSoftmax* statistics,
             char* scratch) {
  const Inspection inspection(call, patched, statistics);
  const AttentionOutputs& outputs = call.outputs;
  const auto run = [&](const Selection& selection, auto method) {
    for_each_stretch(pool, call, selection, scratch, [&](const Stretch& stretch, InspectionScratch& worker_scratch) {
      (inspection.*method)(stretch, worker_scratch);
    });
  };
  if (outputs.output.data && call.inputs.probs.given()) run(call.inputs.probs.selection, &Inspection::patched_output);
  if (outputs.probs) run(outputs.probs_selection, &Inspection::probs);
  if (outputs.top_k_values) run(outputs.top_k_selection, &Inspection::top_k);
  if (outputs.scores) run(outputs.scores_selection, &Inspection::scores);
  if (outputs.entropy) run(Selection{}, &Inspection::entropy);
}

}  // namespace headwise
